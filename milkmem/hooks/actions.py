"""What milkmem does at each event of an agent: inject, or record the tags and consolidate.

Each event costs one edit of the files at most, so that it waits for the lock once.
"""

from __future__ import annotations

from milkmem import store
from milkmem.errors import MilkmemError
from milkmem.hooks import TAG
from milkmem.hooks.events import PROMPT, START
from milkmem.hooks.log import NOTE
from milkmem.percept import PRIMARY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.hooks.events import Event
    from milkmem.knobs import Knobs
    from milkmem.recall import Injection
    from milkmem.runs import Moment
    from milkmem.store import Place, RunChoice

LOCK_WAIT = 0.5
CONTEXT_LETTERS = 9_000
CONTENT_BYTES = 6_000
NONCES_KEPT = 64


class Hook:
    """What one call of a hook works with.

    `at` is the stated instant in nanoseconds since the epoch, None for the clock's; `now` the moment of the
    call; `instructions` says whether the agent is told how to remember.
    """

    __slots__ = ("at", "choice", "instructions", "knobs", "now", "place")

    def __init__(
        self,
        place: Place,
        choice: RunChoice,
        knobs: Knobs,
        *,
        at: int | None,
        now: Moment,
        instructions: bool,
    ) -> None:
        self.place = place
        self.choice = choice
        self.knobs = knobs
        self.at = at
        self.now = now
        self.instructions = instructions

    @property
    def wait(self) -> float:
        """How many seconds to wait for the lock."""
        return min(LOCK_WAIT, self.place.lock_timeout)


class Told:
    """What comes of an event: a context for the agent, lines for the log, and what failed, "" if nothing."""

    __slots__ = ("context", "failure", "lines")

    def __init__(self) -> None:
        self.context = ""
        self.failure = ""
        self.lines: list[str] = []


def carry_out(hook: Hook, event: Event) -> Told:
    """Do what an event asks for; raises the errors of reading and writing the files."""
    if event.kind == START:
        return _give(hook, event, None)
    if event.kind == PROMPT:
        return Told() if event.prompt == "" else _give(hook, event, event.prompt)
    return _consolidate(hook, event)


def _give(hook: Hook, event: Event, prompt: str | None) -> Told:
    """Return the facts to put before the agent, at a session's start with how to remember (I1 to I4).

    Recall comes first: where its use and the nonce cannot be noted, the facts are given all the same (Q3).
    """
    from milkmem import recall, remember
    from milkmem.chance import new_nonce
    from milkmem.hooks.tags import instructions

    told = Told()
    nonce = new_nonce() if prompt is None and hook.instructions else ""
    ending = instructions(nonce) if nonce else ""
    view = store.look(hook.place)
    injection = _fitting(hook, view, prompt, CONTEXT_LETTERS - len(ending))
    ids = {percept["id"] for percept, _ in injection.percepts}
    marks = {remember.echo_mark(percept["content"]) for percept, _ in injection.percepts}

    def work(visit: store.Visit) -> None:
        if ids:
            recall.mark_used(visit.memory, ids, visit.now.at)
            visit.run.injected.update(marks)
        if nonce:
            nonces = visit.run.nonces
            nonces.pop(event.session_key, None)
            nonces[event.session_key] = nonce
            for old in list(nonces)[:-NONCES_KEPT]:
                del nonces[old]

    if ids or nonce:
        try:
            _, told.lines = store.edit(
                hook.place, work, at=hook.at, run=hook.choice, wait=hook.wait, seen=view, lenient=True
            )
        except MilkmemError as error:
            told.failure = f"use was not noted: {error.message}"
            ending = ""
    told.context = "\n\n".join(part for part in (injection.block, ending) if part)
    return told


def _fitting(hook: Hook, view: store.View, prompt: str | None, room: int) -> Injection:
    """Return what is injected, as many whole facts as the agent takes; `room` is in UTF-16 code units."""
    from milkmem import recall
    from milkmem.knobs import NEVER

    most_bytes = hook.knobs.percept_inject_max_bytes
    injection = recall.inject(
        view.memory,
        hook.knobs,
        prompt,
        now=hook.now.at,
        audience=PRIMARY,
        most=hook.knobs.percept_inject_max,
        most_bytes=CONTENT_BYTES if most_bytes == NEVER else min(most_bytes, CONTENT_BYTES),
    )
    given = injection.percepts
    left = room - _letters(f"{recall.HEADING}\n{recall.CAUTION}\n\n")
    for at, (percept, _) in enumerate(given):
        left -= _letters(f"\n{recall.FACT_MARK}{recall.one_line(percept['content'])}")
        if left <= 0:
            del given[at:]
            break
    return injection


def _letters(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _consolidate(hook: Hook, event: Event) -> Told:
    """Record what the agent tagged, then do a pass, both in one edit (section 10)."""
    from milkmem.consolidate import consolidate_run

    told = Told()
    stated = None if hook.at is None else 0.0  # R4: a stated instant is no running time
    if not hook.place.exists():
        return told

    def work(visit: store.Visit) -> list[str]:
        lines = _record(hook, event, visit) if TAG in event.message else []
        store.remove_unused_runs(visit)
        outcome = consolidate_run(
            visit.memory, hook.knobs, visit.book, visit.run, now=visit.now, stated=stated
        )
        return lines + [f"the running time of {where} was cut to a day" for where in outcome.cut]

    lines, warnings = store.edit(hook.place, work, at=hook.at, run=hook.choice, wait=hook.wait)
    told.lines = lines + warnings
    return told


def _record(hook: Hook, event: Event, visit: store.Visit) -> list[str]:
    """Record the facts that an agent tagged, and return lines for the log, ids in place of texts (S4, S6)."""
    from milkmem.chance import new_id
    from milkmem.hooks import tags
    from milkmem.remember import IGNORED, Recorder

    found = tags.find(event.message, _nonces(event, visit))
    lines = [f"{NOTE}skipped tags: {number} {reason}" for reason, number in found.skipped.items()]
    recorder = Recorder(
        visit.memory, hook.knobs, visit.run, now=visit.now.at, new_id=new_id, facts=len(found.facts)
    )
    echoes = 0
    for outcome in map(recorder.record, found.facts):
        echoes += outcome.action == IGNORED
        for conflict in outcome.conflicts:
            assert outcome.percept is not None
            one, other = outcome.percept["id"], conflict.percept["id"]
            lines.append(
                f"a new fact may contradict another, they differ in {conflict.reason};"
                f" to say so: milkmem link {one} contradicts {other}"
            )
    if echoes:
        lines.append(f"{NOTE}skipped tags: {echoes} that only repeated what was injected")
    return lines


def _nonces(event: Event, visit: store.Visit) -> set[str]:
    """Return the nonces that count in an event: its session's, all of the run's where it names none."""
    nonces = visit.run.nonces
    key = event.session_key
    if key == "":
        return set(nonces.values())
    return {nonces[name] for name in (key, "") if name in nonces}
