"""`milkmem record` and `milkmem learn`: take facts in (section 11)."""

from __future__ import annotations

import sys

from milkmem import store
from milkmem.chance import new_id
from milkmem.cli.output import count, percept_json, print_json
from milkmem.cli.plain import line
from milkmem.cli.setup import STANDARD_INPUT, Setup, at_terminal, edit, hint, say, standard_input
from milkmem.cli.targets import candidates, one_with_id, printed_ids
from milkmem.errors import DONE, BadUsage
from milkmem.percept import CONTRADICTS, RELATIONS, USER
from milkmem.remember import IGNORED, Fact, Outcome, Recorder, stored_content
from milkmem.rules import rank_score

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from milkmem.cli.declare import Call
    from milkmem.memory import Memory

PROGRESS_FROM = 1000
PROGRESS_EVERY = 100


def run(call: Call) -> int:
    """Record one fact, or one a line of standard input; return the exit code."""
    setup = Setup(call)
    edges = [(relation, target) for relation in RELATIONS for target in call.texts(relation)]
    contents = _contents(call.given("text"))
    facts = [
        Fact(
            content,
            call.given("producer"),
            consumer=call.text("audience"),
            theme=_theme(call.text("theme")),
            edges=edges,
        )
        for content in contents
    ]
    return _record(setup, facts)


def learn(call: Call) -> int:
    """Record a core fact of the user; return the exit code (S5)."""
    setup = Setup(call)
    return _record(setup, [Fact(content, USER, core=True) for content in _contents(call.given("text"))])


def _theme(text: str | None) -> str | None:
    if text is None or text.strip() == "":
        return None
    return stored_content(text)


def _contents(text: str) -> list[str]:
    """Return the facts that the argument stands for; raises BadUsage for one that cannot be stored (S7)."""
    if text != STANDARD_INPUT:
        return [_checked(text, "a fact")]
    lines = enumerate(standard_input().split("\n"), start=1)
    return [_checked(line, f"line {number}: a fact") for number, line in lines if line.strip() != ""]


def _checked(text: str, what: str) -> str:
    try:
        return stored_content(text)
    except ValueError as error:
        raise BadUsage(f"{what} {error}") from error


def _record(setup: Setup, facts: list[Fact]) -> int:
    if not facts:
        _print(setup, None, [])
        return DONE
    given = [fact.edges for fact in facts]

    def work(visit: store.Visit) -> tuple[Memory, list[Outcome]]:
        memory = visit.memory
        for fact, edges in zip(facts, given, strict=True):
            fact.edges = _resolved(memory, edges)
        recorder = Recorder(memory, setup.knobs, visit.run, now=visit.now.at, new_id=new_id, facts=len(facts))
        return memory, [recorder.record(fact) for fact in _with_progress(facts)]

    memory, outcomes = edit(setup, work, setup.run_choice())
    _print(setup, memory, outcomes)
    return DONE


def _resolved(memory: Memory, edges: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the edges with the whole ids that their targets mean (X7)."""
    return [
        (relation, one_with_id(target, candidates(memory, memory.live()), memory).id)
        for relation, target in edges
    ]


def _with_progress(facts: list[Fact]) -> Iterable[Fact]:
    """Yield the facts, telling a person at a terminal how far a long list has come."""
    shown = len(facts) >= PROGRESS_FROM and at_terminal(sys.stderr)
    for number, fact in enumerate(facts):
        if shown and number % PROGRESS_EVERY == 0:
            print(f"\rrecording {number}/{len(facts)}", end="", file=sys.stderr, flush=True)
        yield fact
    if shown:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _print(setup: Setup, memory: Memory | None, outcomes: list[Outcome]) -> None:
    ignored = sum(outcome.action == IGNORED for outcome in outcomes)
    told = [outcome for outcome in outcomes if outcome.percept is not None]
    if setup.call.flag("json"):
        results = [_json(setup, memory, outcome) for outcome in told]
        print_json({"results": results, "ignored": ignored})
        return
    now, knobs = setup.now.at, setup.knobs
    terminal = at_terminal(sys.stdout)
    needed = terminal or any(outcome.conflicts for outcome in told)
    ids = printed_ids(memory) if memory is not None and needed else {}
    for outcome in told:
        assert outcome.percept is not None
        assert memory is not None
        scope = memory.scope(outcome.store)
        if terminal:
            print(_sentence(outcome, ids[outcome.percept["id"]], scope))
        else:
            print(line(outcome.percept, scope, rank_score(outcome.percept, now, knobs)))
        _say_conflicts(outcome, ids)
    if ignored:
        say(f"{count(ignored, 'line')} only repeated what was injected; ignored")


def _sentence(outcome: Outcome, printed: str, scope: str) -> str:
    assert outcome.percept is not None
    words = f"{outcome.action} {printed} ({scope}) w {outcome.percept['w']:.2f}"
    return f"{words}, evidence {outcome.percept.get('evidence')}" if outcome.evidence_awarded else words


def _say_conflicts(outcome: Outcome, ids: dict[str, str]) -> None:
    """Name the percepts that a new one may contradict, and the command that would wire each (S4)."""
    if not outcome.conflicts:
        return
    from shlex import quote

    assert outcome.percept is not None
    new = ids[outcome.percept["id"]]
    for conflict in outcome.conflicts:
        other = ids[conflict.percept["id"]]
        say(f"{new} may contradict {other}: they differ in {conflict.reason}")
        hint(f"milkmem link {quote(new)} {CONTRADICTS} {quote(other)}")


def _json(setup: Setup, memory: Memory | None, outcome: Outcome) -> dict[str, Any]:
    assert outcome.percept is not None
    assert memory is not None
    return {
        "action": outcome.action,
        "percept": percept_json(outcome.percept, memory.scope(outcome.store), setup.now.at, setup.knobs),
        "similarity": outcome.similarity,
        "evidence_awarded": outcome.evidence_awarded,
        "possible_conflicts": [
            {"id": conflict.percept["id"], "content": conflict.percept["content"], "reason": conflict.reason}
            for conflict in outcome.conflicts
        ],
    }
