"""The forecast is what passes then do: against every pass played in full, and against the program itself."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from builders import DAY, copied, edge, memory, moment, percept
from builders import run as new_run
from memories import random_case
from milkmem import instants, simulate
from milkmem.consolidate import (
    ARCHIVED_EVENT,
    BOOSTED_EVENT,
    DEFERRED_EVENT,
    EVICTED_EVENT,
    PENALIZED_EVENT,
    PROMOTED_EVENT,
    PRUNED_EVENT,
)
from milkmem.forecast import back_to_back, forecast
from milkmem.knobs import Knobs
from milkmem.memory import Memory
from milkmem.percept import GLOBAL
from milkmem.runs import Book
from program import Program, fact, name, one_line_error
from program import edge as stored_edge

if TYPE_CHECKING:
    from milkmem.forecast import Forecast
    from milkmem.runs import Run
    from milkmem.simulate import Pattern

LEAVING = (PRUNED_EVENT, ARCHIVED_EVENT, EVICTED_EVENT)
START = moment(1_000_000.0)


def foretold(of: Memory, *, days: float = 20.0, hours: float = 6.0, turns: int = 2, **knobs: Any) -> Forecast:
    """Return the forecast of a memory, with the w of all its percepts."""
    return forecast(
        of,
        Knobs(**knobs),
        back_to_back(hours, turns),
        start=START,
        book=Book(),
        run=None,
        days=days,
        points=64,
    )


def told(of: Forecast, percept_id: str) -> list[tuple[str, int]]:
    """Return the events of a percept, each with its pass."""
    return [(event.event, event.turn.number) for event in of.traces[percept_id].events]


def played(
    of: Memory, knobs: Knobs, pattern: Pattern, passes: int, book: Book, run: Run | None
) -> tuple[dict[str, list[tuple[str, str, int]]], list[dict[str, float]]]:
    """Do every pass on the whole memory; return each percept's events, and w of all after each pass."""
    full = copied(of)
    traces = {trace.percept["id"]: trace for trace in simulate.traces_of(full, 0)}
    weights = [{percept_id: w_of(trace) for percept_id, trace in traces.items()}]
    for turn in simulate.play(full, knobs, pattern, start=START, book=book, run=run, passes=passes):
        simulate.follow(turn, traces)
        weights.append({percept_id: w_of(trace) for percept_id, trace in traces.items()})
    events = {
        percept_id: [(event.event, event.reason, event.turn.number) for event in trace.events]
        for percept_id, trace in traces.items()
    }
    return events, weights


def w_of(trace: simulate.Trace) -> float:
    """Return w in [0,1]."""
    return min(1.0, max(0.0, float(trace.percept["w"])))


def clocks(run: Run | None, since: int) -> Book:
    """Return a book in which the last global pass was at an instant."""
    book = Book()
    if run is not None:
        book.clocks[GLOBAL] = moment(999_000.0, at=since)
        run.named["work"] = run.started
    return book


@pytest.mark.parametrize("seed", range(150))
def test_a_forecast_is_every_pass_played(seed: int) -> None:
    """D3, E1, A1 to A3, P1 to P3: events to the pass and w to 1e-9, whatever interacts with whatever."""
    rng = random.Random(seed)
    case = random_case(rng, 12)
    files = {"work" if store == "session" else store: each for store, each in case.stores.items()}
    kept = Memory(files, "work", lambda store: None)  # type: ignore[arg-type]  # percepts by any key
    kept.heal()
    knobs = Knobs(**case.knobs)
    pattern = back_to_back(rng.choice((0.7, 2.0, 6.0, 24.0)), rng.choice((1, 2, 7)))
    passes = 60
    days = passes * pattern.turn_seconds / DAY

    def going_on() -> Run | None:
        if seed % 3 == 0:
            return None
        begun = new_run(seconds=900_000.0)
        begun.awarded, begun.applied = set(case.run["awarded"]), set(case.run["applied"])
        return begun

    run, other = going_on(), going_on()
    before = copied(kept).files
    result = forecast(
        kept, knobs, pattern, start=START, book=clocks(run, case.since), run=run, days=days, points=20
    )
    assert kept.files == before
    assert result.passes == passes
    events, weights = played(kept, knobs, pattern, passes, clocks(other, case.since), other)
    for percept_id, trace in result.traces.items():
        assert [(each.event, each.reason, each.turn.number) for each in trace.events] == events[percept_id]
        for number, w in trace.curve():
            assert w == pytest.approx(weights[number][percept_id], abs=1e-9)
        for each in trace.events:
            assert each.w == pytest.approx(weights[each.turn.number][percept_id], abs=1e-9)


@pytest.mark.parametrize("turns", [1, 3, 7, 10])
def test_staleness_comes_to_the_pass_whatever_the_sum_of_turns_rounds_to(turns: int) -> None:
    """A1: idle time has no tolerance, so the pass is that of the sum which passes make, bit for bit."""
    kept = memory([percept(f"g{at}", idle_seconds=at * 2 * 3600 / turns) for at in range(40)])
    pattern = back_to_back(2.0, turns)
    result = foretold(kept, hours=2.0, turns=turns)
    passes = result.passes
    events, _ = played(kept, Knobs(), pattern, passes, Book(), None)
    for percept_id, trace in result.traces.items():
        assert [(each.event, each.reason, each.turn.number) for each in trace.events] == events[percept_id]
        assert trace.gone


def test_what_comes_next() -> None:
    """P1, P2, A1, A3: each kind of percept meets its own end, at the pass that its numbers say."""
    kept = memory(
        [percept("old", 0.5, idle_seconds=13.5 * DAY), percept("core", 1.0, core=True)],
        [
            percept("fades", 0.4),
            percept("user", 0.9, producer="user"),
            percept("strong", 0.9, evidence=1),
            percept("lasts", 0.9, evidence=2),
        ],
    )
    result = foretold(kept, hours=24.0, turns=2)
    assert told(result, "old") == [(ARCHIVED_EVENT, 1)]
    assert told(result, "core") == []
    assert told(result, "fades") == [(PRUNED_EVENT, 6)]
    assert told(result, "user") == [(PROMOTED_EVENT, 1), (ARCHIVED_EVENT, 29)]
    assert told(result, "strong") == [(DEFERRED_EVENT, 1), (PRUNED_EVENT, 14)]
    assert told(result, "lasts") == [(PROMOTED_EVENT, 1), (ARCHIVED_EVENT, 29)]
    assert result.running_days(6) == 3.0


def test_nothing_comes_after_the_days_looked_at() -> None:
    """A3: what comes later than asked is not told."""
    kept = memory(None, [percept("fades", 0.4)])
    assert told(foretold(kept, days=2.9, hours=24.0, turns=2), "fades") == []
    assert told(foretold(kept, days=3.0, hours=24.0, turns=2), "fades") == [(PRUNED_EVENT, 6)]


def test_penalties_follow_the_cadence() -> None:
    """E1, E3: literally applied, a contradiction takes both ends of 0.7 in five passes; once a run, later."""
    kept = memory(None, [percept("a"), percept("b")], edges=[edge("a", "contradicts", "b")])
    every = foretold(kept, hours=1e-6, turns=10, days=1e-6)
    assert told(every, "a") == [(PENALIZED_EVENT, 1), (PRUNED_EVENT, 5)]
    once = foretold(kept, hours=1e-6, turns=10, days=1e-6, edge_cadence="run")
    assert told(once, "a") == [(PENALIZED_EVENT, 1), (PRUNED_EVENT, 41)]


def test_an_edge_earns_evidence_in_each_run() -> None:
    """E2, P2: boosted in two runs, a percept graduates in the second; what this run awarded counts."""
    kept = memory(None, [percept("a"), percept("b", 0.79)], edges=[edge("a", "extends", "b")])
    result = foretold(kept, hours=1.0, turns=10, days=2.0)
    assert told(result, "b") == [
        (BOOSTED_EVENT, 1),
        (DEFERRED_EVENT, 1),
        (BOOSTED_EVENT, 2),
        (PROMOTED_EVENT, 11),
    ]
    begun = new_run(seconds=900_000.0)
    begun.award("b")
    begun.named["work"] = begun.started
    late = forecast(kept, Knobs(), back_to_back(1.0, 10), start=START, book=Book(), run=begun, days=2.0)
    assert (PROMOTED_EVENT, 21) in told(late, "b")


def test_a_size_cap_is_met_when_an_edge_promotes() -> None:
    """A2: what an edge lifts into a full store evicts the lowest in rank at that pass."""
    kept = memory(
        [percept("low", 0.3), percept("high", 0.9)],
        [percept("a"), percept("b", 0.79)],
        edges=[edge("a", "extends", "b")],
    )
    result = foretold(kept, hours=1.0, turns=10, days=2.0, percept_store_max=2)
    assert told(result, "low") == [(EVICTED_EVENT, 11)]


def test_one_is_foretold_without_the_rest() -> None:
    """15: what is wanted comes out as among all, by way of what acts on it, near or far."""
    kept = memory(
        [percept("far", 0.9, idle_seconds=13.9 * DAY), percept("alone", 0.5)],
        [percept("b", 0.6), percept("c", 0.7), percept("d", 0.7)],
        edges=[edge("far", "extends", "c"), edge("b", "contradicts", "c"), edge("d", "extends", "alone")],
    )
    for cap in (0, 4):
        options: dict[str, Any] = {"start": START, "run": None, "days": 20.0, "points": 20}
        knobs, pattern = Knobs(percept_store_max=cap), back_to_back(3.0, 3)
        every = forecast(kept, knobs, pattern, book=Book(), **options)
        one = forecast(kept, knobs, pattern, book=Book(), wanted={"b"}, **options)
        assert told(one, "b") == told(every, "b") != []
        assert one.traces["b"].curve() == every.traces["b"].curve()
        assert set(one.traces) == ({"b", "c", "far"} if cap == 0 else set(every.traces))


def test_progress_is_told_and_ends() -> None:
    """The longest part, passes over percepts at edges, says how far it is."""
    shares: list[float] = []
    kept = memory([percept("a", core=True), percept("b")], edges=[edge("a", "extends", "b")])
    forecast(
        kept,
        Knobs(global_archive_after_days=-1.0),
        back_to_back(24.0, 2),
        start=START,
        book=Book(),
        run=None,
        days=5.0,
        progress=shares.append,
    )
    assert shares == [at / 10 for at in range(1, 11)]


# Against the program.


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program whose data directory does not exist yet."""
    return Program(tmp_path)


def kept_in(program: Program) -> None:
    """Write a memory in which everything that can happen does."""
    program.write(
        GLOBAL,
        fact(1, "idle for long", 0.5, idle_seconds=13.9 * DAY),
        fact(2, "never fades", 1.0, core=True),
        fact(3, "contested in global", 0.8),
        fact(4, "used a moment ago", 0.6, idle_seconds=13.9 * DAY, last_used_at="2026-12-02T12:00:30Z"),
        edges=[stored_edge(2, "extends", 1)],
    )
    program.write(
        "session",
        fact(11, "fades", 0.25),
        fact(12, "said by the user", 0.9, producer="user"),
        fact(13, "corroborated once", 0.85, evidence=1),
        fact(14, "corroborated twice", 0.85, evidence=2),
        fact(15, "lifted by an edge", 0.78),
        fact(16, "contested", 0.7),
        fact(17, "[bold]東京\x1b[31m", 0.5),
        edges=[stored_edge(14, "extends", 15), stored_edge(16, "contradicts", 3)],
    )


@pytest.mark.parametrize("cadence", ["pass", "run"])
@pytest.mark.parametrize("going_on", [False, True])
def test_the_program_does_what_it_foretold(program: Program, cadence: str, going_on: bool) -> None:
    """15, D1 to D4, E1 to E3: passes driven with --elapsed meet each event at its pass and w to 1e-9."""
    kept_in(program)
    program.config(f'[memory]\nedge_cadence = "{cadence}"\npercept_store_max = 6\n')
    start = instants.parse("2026-12-02T12:00:00Z")
    if going_on:
        program.ok("consolidate", "--run", "r1", "--elapsed", "1m", "--at", instants.format(start))
    options = ("--days", "0.7", "--hours-per-run", "2", "--turns-per-run", "4")
    document = program.json("forecast", *options, "--run", "r1", "--at", instants.format(start))
    assert document["pass_seconds"] == 1800.0
    assert document["run"] == ("r1" if going_on else None)
    files = program.memory_files()
    expected = {}
    for each in document["percepts"]:
        for event in each["events"]:
            if event["event"] in (*LEAVING, PROMOTED_EVENT):
                expected[event["pass"], each["id"]] = expected.get((event["pass"], each["id"]), [])
                expected[event["pass"], each["id"]].append((event["event"], event["w"]))
    points = {
        (point["pass"], each["id"]): point["w"] for each in document["percepts"] for point in each["points"]
    }
    assert program.memory_files() == files
    seen: dict[tuple[int, str], Any] = {}
    compared = 0
    for number in range(1, 34):
        at = instants.format(start + number * 1800 * 1_000_000_000)
        run = f"r{(number - 1) // 4 + 1}"
        report = program.json("consolidate", "--elapsed", "1800s", "--at", at, "--run", run)
        for change in report["changes"]:
            if change["event"] in (*LEAVING, PROMOTED_EVENT):
                key = (number, change["id"])
                seen.setdefault(key, []).append((change["event"], pytest.approx(change["w_after"], abs=1e-9)))
        weights = {
            id: percept["w"] for store in (GLOBAL, "session") for id, percept in program.facts(store).items()
        }
        for id, w in weights.items():
            if (number, id) in points:
                compared += 1
                assert points[number, id] == pytest.approx(w, abs=1e-9)
    assert expected == seen
    assert {event for changes in seen.values() for event, _ in changes} >= {PRUNED_EVENT, PROMOTED_EVENT}
    assert compared > 50


def test_the_smallest_memories(program: Program) -> None:
    """15: no memory, an empty one, one fact: an answer each time, and nothing is created."""
    assert program.ok("forecast").out == ""
    assert program.json("forecast")["percepts"] == []
    assert not program.data.exists()
    program.write(GLOBAL)
    assert program.json("forecast")["percepts"] == []
    program.write("session", fact(1, "東京\tone", 0.4))
    (row,) = program.ok("forecast").rows
    assert row == [name(1), "session", "0.4", "pruned", "3.0", "360", "東京\\tone"]
    program.write(GLOBAL, fact(2, "one and only", 1.0, core=True))
    assert program.ok("forecast").rows[-1] == [name(2), "global", "1.0", "", "", "", "one and only"]
    one_line_error(program.run("forecast", "one"), 1, "2 percepts match")
    assert program.run("forecast", "nowhere").code == 1
