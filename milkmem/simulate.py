"""What a pattern of use makes of a memory: the program's own rules, run by run, turn by turn (section 15).

Nothing is reckoned here: facts go in through `remember`, passes are those of `consolidate`, runs and clocks
those of `runs`. The memory that is given is changed; whoever wants to keep it gives a copy (`copy_of`).
"""

from __future__ import annotations

from bisect import bisect_left

from milkmem import recall, rules, runs
from milkmem.consolidate import (
    ARCHIVED_EVENT,
    BOOSTED_EVENT,
    EVICTED_EVENT,
    PENALIZED_EVENT,
    PROMOTED_EVENT,
    PRUNED_EVENT,
    consolidate_run,
)
from milkmem.instants import NANOSECONDS, SECONDS_PER_DAY
from milkmem.knobs import KNOBS, Knobs
from milkmem.memory import Memory
from milkmem.percept import ARCHIVE, ESCALATION, GLOBAL, PRIMARY, SESSION, SYSTEM, USER, weight
from milkmem.remember import RECORDED, REINFORCED, Fact, Recorder
from milkmem.runs import Book, Moment, Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from milkmem.consolidate import Report
    from milkmem.percept import Document, Percept

    Progress = Callable[[float], None]

# Whose facts are followed where no memory is given, in the order shown.
FOLLOWED = (USER, PRIMARY, ESCALATION, SYSTEM)
LEADS_TO = {PRUNED_EVENT: ARCHIVE, ARCHIVED_EVENT: ARCHIVE, EVICTED_EVENT: ARCHIVE, PROMOTED_EVENT: GLOBAL}
# How many points of w are kept of each percept, about.
POINTS = 32
# A sum of so many turns may miss a whole number of days by float noise.
_NOISE = 1e-9


class Pattern:
    """How an agent is used, the same every day: `restated` and `used` are every how many runs, 0 for never.

    A run's facts are said and used as it begins; each turn takes the same time and ends in a pass.
    """

    __slots__ = ("hours_per_run", "restated", "runs_per_day", "turns_per_run", "used")

    def __init__(
        self, *, runs_per_day: float, hours_per_run: float, turns_per_run: int, restated: int, used: int
    ) -> None:
        self.runs_per_day = runs_per_day
        self.hours_per_run = hours_per_run
        self.turns_per_run = turns_per_run
        self.restated = restated
        self.used = used

    @property
    def fits(self) -> bool:
        """Whether the runs of a day fit into it."""
        return self.runs_per_day * self.hours_per_run <= 24 + _NOISE

    @property
    def turn_seconds(self) -> float:
        """Δt of each pass."""
        return self.hours_per_run * 3_600 / self.turns_per_run

    def runs_in(self, days: float) -> int:
        """Return how many runs begin in so many days, one at least."""
        return max(1, int(days * self.runs_per_day + _NOISE))

    def begins(self, run: int) -> int:
        """Return when a run begins, the first being 1, in nanoseconds from the start."""
        return round((run - 1) * SECONDS_PER_DAY / self.runs_per_day * NANOSECONDS)

    def ends(self, run: int, turn: int) -> int:
        """Return when a turn of a run ends, the first being 1, in nanoseconds from the start."""
        return self.begins(run) + round(turn * self.turn_seconds * NANOSECONDS)

    def speaks_in(self, run: int) -> bool:
        """Return whether something is said or used in a run, the first being 1; in that it is at any rate."""
        return run == 1 or _is_due(self.restated, run) or _is_due(self.used, run)


class Turn:
    """One turn, and the pass that ends it: run and turn are counted from 1, `number` counts all passes.

    Turn 0 is the beginning of a run, before its first pass. `report` is there once the pass is done.
    """

    __slots__ = ("moment", "number", "report", "run", "turn")

    def __init__(self, number: int, run: int, turn: int, moment: Moment) -> None:
        self.number = number
        self.run = run
        self.turn = turn
        self.moment = moment
        self.report: Report | None = None


class Event:
    """What became of a percept in one turn: an event of section 16, `recorded` or `restored`."""

    __slots__ = ("event", "reason", "scope", "turn", "w", "w_before")

    def __init__(self, event: str, reason: str, scope: str, turn: Turn, w_before: float, w: float) -> None:
        self.event = event
        self.reason = reason
        self.scope = scope
        self.turn = turn
        self.w_before = w_before
        self.w = w


class Trace:
    """What becomes of one fact: its events, and w after some of the passes.

    `percept` is the one in the memory, which changes as the turns go by, and another one where the fact had
    to be recorded anew; `scope` is where it is. Of the events that repeat at every pass only the first of a
    kind and reason is kept, and of w about `most` points, and the `highest`. `peaks` holds w after the first
    pass of each of the last two cycles of a pattern.
    """

    __slots__ = ("_every", "_most", "_seen", "events", "highest", "peaks", "percept", "points", "scope")

    def __init__(self, percept: Percept, scope: str, most: int) -> None:
        self.percept = percept
        self.scope = scope
        self.events: list[Event] = []
        self.points: list[tuple[int, float]] = []
        self.peaks: list[float] = []
        self.highest = 0.0
        self._seen: set[tuple[str, str]] = set()
        self._every = 1
        self._most = most

    @property
    def gone(self) -> bool:
        """Whether it has left recall."""
        return self.scope == ARCHIVE

    def first(self, *events: str) -> Event | None:
        """Return the first of some kinds of events, None where there is none."""
        return next((each for each in self.events if each.event in events), None)

    def add(self, event: str, reason: str, turn: Turn, w_before: float, scope: str = "") -> None:
        """Note an event; it says where the fact is now, or `scope` does; one that repeats is noted once."""
        if scope == "" and event not in LEADS_TO:
            if (event, reason) in self._seen:
                return
            self._seen.add((event, reason))
        self.scope = scope or LEADS_TO.get(event, self.scope)
        self.events.append(Event(event, reason, self.scope, turn, w_before, weight(self.percept)))

    def point(self, number: int) -> None:
        """Note w after a pass, 0 for before the first; of very many, one to two times `most` are kept."""
        self.highest = max(self.highest, weight(self.percept))
        if self._most > 0 and number % self._every == 0:
            self.points.append((number, weight(self.percept)))
            if len(self.points) > 2 * self._most:
                self._every *= 2
                self.points = [point for point in self.points if point[0] % self._every == 0]

    def curve(self) -> list[tuple[int, float]]:
        """Return passes and w after each, those of the events among them."""
        return sorted({**dict(self.points), **{each.turn.number: each.w for each in self.events}}.items())


def copy_of(memory: Memory) -> Memory:
    """Return a memory whose percepts can change while the first stays as it is; no more files are read."""
    files: dict[str, Document | None] = {}
    for store in (*memory.live(), *((ARCHIVE,) if ARCHIVE in memory.files else ())):
        percepts: list[Percept] = [percept.copy() for percept in memory.percepts(store)]
        files[store] = {"percepts": percepts, "edges": list(memory.edges(store))}
    return Memory(files, memory.session, lambda store: None)


def traces_of(memory: Memory, points: int) -> list[Trace]:
    """Return a trace of each live percept, with w as it stands."""
    traces = [
        Trace(percept, memory.scope(store), points)
        for store in memory.live()
        for percept in memory.percepts(store)
    ]
    for trace in traces:
        trace.point(0)
    return traces


def play(
    memory: Memory,
    knobs: Knobs,
    pattern: Pattern,
    *,
    start: Moment,
    book: Book,
    run: Run | None,
    passes: int,
    speak: Callable[[Run, Turn], None] | None = None,
) -> Iterator[Turn]:
    """Do the passes of a pattern on a memory, which is changed, and yield each when it is done.

    `run` is the one that the first turns belong to, None for a new one. A run begins with its first command:
    with `speak`, which is called where something is due to be said or used, else with its first pass.
    """
    for number in range(1, passes + 1):
        turn = turn_of(pattern, number, start)
        if turn.turn == 1:
            if turn.run > 1:
                run = None
            if speak is not None and pattern.speaks_in(turn.run):
                begin = Turn(number - 1, turn.run, 0, _later(start, pattern.begins(turn.run)))
                run = _going_on(run, begin, memory, knobs, book)
                speak(run, begin)
        run = _going_on(run, turn, memory, knobs, book)
        turn.report = consolidate_run(
            memory, knobs, book, run, now=turn.moment, stated=pattern.turn_seconds
        ).report
        yield turn


def turn_of(pattern: Pattern, number: int, start: Moment) -> Turn:
    """Return the turn that a pass ends, the first being 1, without a report."""
    run, turn = divmod(number - 1, pattern.turns_per_run)
    return Turn(number, run + 1, turn + 1, _later(start, pattern.ends(run + 1, turn + 1)))


def _is_due(every: int, run: int) -> bool:
    """Return whether what happens in the first run and every so many after it happens in a run, from 1 on."""
    return every > 0 and (run - 1) % every == 0


def _later(start: Moment, passed: int) -> Moment:
    return Moment(start.monotonic + passed, start.wall + passed, start.boot, start.at + passed)


def _going_on(run: Run | None, turn: Turn, memory: Memory, knobs: Knobs, book: Book) -> Run:
    if run is None:
        run = Run(str(turn.run), False, turn.moment)
    runs.touch(book, run, memory.session, turn.moment, knobs.run_gap_minutes)
    return run


def follow(turn: Turn, traces: dict[str, Trace]) -> None:
    """Note in the traces of all percepts of the memory, by id, what a pass did."""
    assert turn.report is not None
    for change in turn.report.changes:
        traces[change["id"]].add(change["event"], change["reason"], turn, change["w_before"])


GRADUATES = "yes"
NEVER = "never"
NOT_YET = "not yet"


class Simulation:
    """What a pattern made of a memory under some knobs: a trace of each fact, and how many passes it took."""

    __slots__ = ("knobs", "passes", "traces")

    def __init__(self, knobs: Knobs, traces: list[Trace]) -> None:
        self.knobs = knobs
        self.traces = traces
        self.passes = 0

    def graduates(self, trace: Trace) -> str:
        """Return whether a session fact became global, never can under this pattern, or merely has not.

        It never can if it is too weak and one cycle of the pattern no longer strengthens it: a cycle always
        makes the same of the same w, and more of a greater one; only edges change that. (P1, P2)
        """
        if trace.first(PROMOTED_EVENT) is not None:
            return GRADUATES
        if len(trace.peaks) < 2 or trace.first(BOOSTED_EVENT, PENALIZED_EVENT) is not None:
            return NOT_YET
        before, peak = trace.peaks
        return NEVER if peak <= before and not rules.reaches(peak, self.knobs.promote_threshold) else NOT_YET


def simulate(
    memory: Memory,
    knobs: Knobs,
    pattern: Pattern,
    *,
    facts: Sequence[Fact],
    start: Moment,
    days: float,
    new_id: Callable[[], str],
    points: int = 0,
    progress: Progress | None = None,
) -> Simulation:
    """Play a pattern for so many days and return what became of the facts; `memory` is changed.

    Followed are the live percepts of the memory, and `facts`, which are recorded as the first run begins. All
    are restated and used in the first run and in every so many after it.
    """
    done = Simulation(knobs, traces_of(memory, points))
    traces = {trace.percept["id"]: trace for trace in done.traces}

    def speak(run: Run, turn: Turn) -> None:
        new = facts if turn.run == 1 else ()
        restated = _is_due(pattern.restated, turn.run)
        recorder = Recorder(
            memory, knobs, run, now=turn.moment.at, new_id=new_id, facts=len(new) + restated * len(traces)
        )
        for fact in new:
            percept = recorder.record(fact).percept
            assert percept is not None  # only an echo has none, and nothing was injected
            traces[percept["id"]] = trace = Trace(percept, SESSION, points)
            done.traces.append(trace)
            trace.add(RECORDED, "", turn, weight(percept), SESSION)
        for trace in done.traces if restated else ():
            _restate(memory, recorder, trace, turn, traces)
        if _is_due(pattern.used, turn.run):
            recall.mark_used(memory, {id for id, trace in traces.items() if not trace.gone}, turn.moment.at)

    passes = pattern.runs_in(days) * pattern.turns_per_run
    book = Book()
    for turn in play(memory, knobs, pattern, start=start, book=book, run=None, passes=passes, speak=speak):
        done.passes = turn.number
        follow(turn, traces)
        for trace in done.traces if points > 0 else ():
            if not trace.gone:
                trace.point(turn.number)
        if turn.turn == 1 and (turn.run - 1) % max(1, pattern.restated) == 0:
            for trace in done.traces:
                trace.peaks = [*trace.peaks[-1:], weight(trace.percept)]
        if progress is not None:
            progress(turn.number / passes)
    return done


def _restate(memory: Memory, recorder: Recorder, trace: Trace, turn: Turn, traces: dict[str, Trace]) -> None:
    """Say a fact again; what was pruned or evicted is recorded anew, what was stale is restored (S3)."""
    before = weight(trace.percept)
    outcome = recorder.record(Fact(trace.percept["content"], trace.percept["producer"]))
    if outcome.percept is None or outcome.action == REINFORCED:
        return
    trace.percept = outcome.percept
    traces[trace.percept["id"]] = trace
    trace.add(outcome.action, "", turn, before, memory.scope(outcome.store))


def remedies(knobs: Knobs, graduates: Callable[[Knobs], bool]) -> dict[str, float]:
    """Return the knobs that would let a fact graduate if changed alone, each with the nearest value tried.

    `graduates` says whether it does under some knobs; the further a knob is changed, the sooner it must.
    """
    found = {}
    for name, (step, end) in _steps(knobs).items():
        present = getattr(knobs, name)
        count = max(0, int((end - present) / step + _NOISE))
        values = [round(present + at * step, 6) for at in range(1, count + 1)]
        at = bisect_left(values, True, key=lambda value: graduates(_with(knobs, name, value)))
        if at < count:
            found[name] = values[at]
    return found


def _steps(knobs: Knobs) -> dict[str, tuple[float, float]]:
    """Return the knobs that could let a fact graduate, in what steps and how far each is tried."""
    return {
        "session_half_life_days": (0.1, 365.0),
        "reconfirm_boost": (0.01, 1.0),
        "reconfirm_cap": (0.01, 1.0),
        "promote_threshold": (-0.01, knobs.prune_threshold + 0.01),
    }


def _with(knobs: Knobs, name: str, value: float) -> Knobs:
    return Knobs(**{**{each: getattr(knobs, each) for each in KNOBS}, name: value})
