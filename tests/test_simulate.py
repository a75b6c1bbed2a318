"""A simulation is the program driven through the same days, and says what a way of working comes to."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from builders import edge, memory, moment, percept
from milkmem import instants, simulate
from milkmem.consolidate import ARCHIVED_EVENT, EVICTED_EVENT, PROMOTED_EVENT, PRUNED_EVENT
from milkmem.knobs import KNOBS, Knobs
from milkmem.memory import Memory
from milkmem.percept import ARCHIVE, GLOBAL, SESSION
from milkmem.remember import RECORDED, RESTORED, Fact
from milkmem.simulate import FOLLOWED, GRADUATES, NEVER, NOT_YET, POINTS, Pattern
from program import BAD_CONFIG, USAGE, Program, fact, name, one_line_error
from program import edge as stored_edge

if TYPE_CHECKING:
    from milkmem.simulate import Simulation

MOVES = (PROMOTED_EVENT, PRUNED_EVENT, ARCHIVED_EVENT, EVICTED_EVENT)
START = "2026-12-02T12:00:00Z"
SECOND = 1_000_000_000


def pattern(**options: Any) -> Pattern:
    """Return a pattern: one run a day of two hours and ten turns, each fact restated in every run."""
    usual: dict[str, Any] = {
        "runs_per_day": 1.0,
        "hours_per_run": 2.0,
        "turns_per_run": 10,
        "restated": 1,
        "used": 0,
    }
    return Pattern(**{**usual, **options})


def played(
    of: Pattern,
    days: float = 30.0,
    *,
    facts: tuple[str, ...] = FOLLOWED,
    start: Memory | None = None,
    **knobs: Any,
) -> Simulation:
    """Return what a pattern makes of one new fact of each producer, or of a memory."""
    numbers = count(1)
    return simulate.simulate(
        Memory({}, "work", lambda store: None) if start is None else start,
        Knobs(**knobs),
        of,
        facts=[Fact(producer, producer) for producer in facts] if start is None else (),
        start=moment(1_000_000.0),
        days=days,
        new_id=lambda: f"new-{next(numbers)}",
        points=POINTS,
    )


def verdicts(of: Simulation) -> dict[str, str]:
    """Return whether the fact of each producer graduates."""
    return {trace.percept["producer"]: of.graduates(trace) for trace in of.traces}


def graduation(of: Simulation, producer: str) -> int | None:
    """Return in which run the fact of a producer graduates."""
    (trace,) = [trace for trace in of.traces if trace.percept["producer"] == producer]
    event = trace.first(PROMOTED_EVENT)
    return None if event is None else event.turn.run


@pytest.mark.parametrize(("hours", "run"), [(1.0, 3), (4.0, 4), (8.0, None)])
def test_eight_hour_runs_never_graduate_a_fact(hours: float, run: int | None) -> None:
    """P2, D1: restated once a run at the defaults, a fact graduates in run 3, in run 4, and never."""
    result = played(pattern(hours_per_run=hours))
    assert graduation(result, "primary") == run
    assert verdicts(result)["primary"] == (GRADUATES if run is not None else NEVER)
    assert graduation(result, "user") == 1


def test_never_is_not_said_of_what_still_rises() -> None:
    """P2: a weak fact that each run strengthens has not graduated yet; one that none restates never will."""
    assert verdicts(played(pattern(hours_per_run=8.0)))["system"] == NOT_YET
    assert verdicts(played(pattern(restated=0)))["primary"] == NEVER
    assert verdicts(played(pattern(), days=1.0))["primary"] == NOT_YET
    linked = memory(
        None, [percept("a", core=True, w=0.1), percept("b", 0.3)], edges=[edge("a", "extends", "b")]
    )
    result = played(pattern(restated=0, turns_per_run=1, hours_per_run=24.0), days=3.0, start=linked)
    (trace,) = [trace for trace in result.traces if trace.percept["id"] == "b"]
    assert result.graduates(trace) == NOT_YET


def test_remedies_are_the_nearest_values_that_work() -> None:
    """15: each knob named lets the fact graduate, and the step before it does not."""
    long = pattern(hours_per_run=8.0)

    def graduates(knobs: Knobs) -> bool:
        values = {name: getattr(knobs, name) for name in KNOBS}
        return verdicts(played(long, facts=("primary",), **values))["primary"] == GRADUATES

    found = simulate.remedies(Knobs(), graduates)
    assert list(found) == ["session_half_life_days", "reconfirm_boost", "promote_threshold"]
    steps = {"session_half_life_days": -0.1, "reconfirm_boost": -0.01, "promote_threshold": 0.01}
    for knob, value in found.items():
        assert graduates(Knobs(**{knob: value}))
        assert not graduates(Knobs(**{knob: value + steps[knob]}))
    assert simulate.remedies(Knobs(), lambda knobs: False) == {}
    capped = simulate.remedies(Knobs(), lambda knobs: knobs.reconfirm_cap >= 0.93)
    assert capped == {"reconfirm_cap": 0.93}


def test_a_pattern_knows_when_its_turns_end() -> None:
    """15: runs are spread over the day evenly, turns over the run."""
    of = pattern(runs_per_day=2.0, hours_per_run=3.0, turns_per_run=4)
    assert of.turn_seconds == 2700.0
    assert of.begins(1) == 0
    assert of.begins(4) == 36 * 3600 * SECOND
    assert of.ends(4, 4) == 39 * 3600 * SECOND
    assert of.runs_in(1.5) == 3
    assert of.runs_in(0.1) == 1
    assert of.fits
    assert not pattern(runs_per_day=3.0, hours_per_run=8.1).fits
    assert pattern(runs_per_day=24 / 0.7, hours_per_run=0.7).fits


def test_a_fact_that_faded_is_said_anew() -> None:
    """S3: pruned before it is restated, it is recorded anew, under another id, as often as that happens."""
    result = played(pattern(restated=10, hours_per_run=24.0), days=30.0, facts=("system",))
    (trace,) = result.traces
    assert [(each.event, each.turn.run) for each in trace.events] == [
        (RECORDED, 1),
        (PRUNED_EVENT, 4),
        (RECORDED, 11),
        (PRUNED_EVENT, 13),
        (RECORDED, 21),
        (PRUNED_EVENT, 23),
    ]
    assert trace.percept["id"] == "new-3"
    assert trace.scope == ARCHIVE


def test_points_stay_few_and_right() -> None:
    """15: of very many passes some are kept, evenly, each with w after it; an event is always among them."""
    result = played(pattern(turns_per_run=100, restated=0), days=10.0, facts=("user",))
    (trace,) = result.traces
    points = trace.curve()
    assert len(points) <= 2 * POINTS + len(trace.events)
    assert (1, trace.events[1].w) in points
    assert points[-1][0] > 900
    every = played(pattern(turns_per_run=100, restated=0), days=1.0, facts=("user",)).traces[0].points
    assert dict(points)[32] == dict(every)[32]


def test_a_copy_shares_nothing_that_changes() -> None:
    """15: a simulation on a copy leaves the memory it came from as it was, and reads no other file."""
    kept = memory([percept("g", 0.5)], [percept("s", 0.5)], edges=[edge("g", "extends", "s")])
    del kept.files[ARCHIVE]
    copy = simulate.copy_of(kept)
    played(pattern(restated=1, used=1), start=copy)
    assert kept.percepts(GLOBAL) == [percept("g", 0.5)]
    assert kept.percepts("work") == [percept("s", 0.5)]
    assert ARCHIVE not in kept.files


# Against the program.


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program whose data directory does not exist yet."""
    return Program(tmp_path)


def at(run: int, turn: int, seconds: float, a_day: float) -> str:
    """Return the instant at which a turn ends, turn 0 the beginning of the run."""
    begins = round((run - 1) * 86_400 / a_day * SECOND)
    return instants.format(instants.parse(START) + begins + round(turn * seconds * SECOND))


def driven(
    program: Program, document: dict[str, Any], contents: dict[str, str]
) -> tuple[dict[str, list[tuple[str, int, float]]], dict[tuple[str, int], float]]:
    """Drive the program through a simulation's days.

    Returns, by content, what became of each fact and in which pass, and w after each pass. `contents` are the
    facts said, each with its producer.
    """
    events: dict[str, list[tuple[str, int, float]]] = {content: [] for content in contents}
    weights: dict[tuple[str, int], float] = {}
    turns, seconds = document["turns_per_run"], document["pass_seconds"]
    for run in range(1, document["passes"] // turns + 1):
        during = ("--run", f"r{run}", "--at", at(run, 0, seconds, document["runs_per_day"]))
        fresh = run == 1 and not document["from_here"]
        for again in (fresh, document["restated"] > 0 and (run - 1) % document["restated"] == 0):
            for content, producer in contents.items() if again else ():
                (result,) = program.json("record", content, "--producer", producer, *during)["results"]
                if result["action"] != "reinforced":
                    number = (run - 1) * turns
                    events[content].append((result["action"], number, result["percept"]["w"]))
        if document["used"] > 0 and (run - 1) % document["used"] == 0:
            words = " ".join(contents).split()
            program.ok("query", *words, "--limit", "99", "--min-confidence", "0", *during)
        for turn in range(1, turns + 1):
            number = (run - 1) * turns + turn
            instant = at(run, turn, seconds, document["runs_per_day"])
            report = program.json(
                "consolidate", "--elapsed", f"{seconds!r}s", "--at", instant, "--run", f"r{run}"
            )
            for change in report["changes"]:
                if change["event"] in MOVES:
                    events[change["content"]].append((change["event"], number, change["w_after"]))
            for store in (GLOBAL, SESSION):
                for each in program.facts(store).values():
                    weights[each["content"], number] = each["w"]
    return events, weights


def compare(document: dict[str, Any], program: Program, contents: dict[str, str]) -> set[str]:
    """Assert that a simulation's facts are what the program makes of them; return the kinds of events met."""
    events, weights = driven(program, document, contents)
    (setting,) = document["settings"]
    met = set()
    for each in setting["facts"]:
        moves = [
            (event["event"], event["pass"], pytest.approx(event["w"], abs=1e-9))
            for event in each["events"]
            if event["event"] in (*MOVES, RECORDED, RESTORED)
        ]
        assert moves == events[each["content"]]
        met |= {event["event"] for event in each["events"]}
        at_events = {event["pass"] for event in each["events"]}
        checked = [point for point in each["points"] if (each["content"], point["pass"]) in weights]
        assert len(checked) > 3
        for point in checked:
            if point["pass"] not in at_events:
                assert point["w"] == pytest.approx(weights[each["content"], point["pass"]], abs=1e-9)
        live = {
            percept["content"]: percept
            for store in (GLOBAL, SESSION)
            for percept in program.facts(store).values()
        }
        if each["scope"] != ARCHIVE:
            assert live[each["content"]].get("evidence", 0) == each["evidence"]
            assert live[each["content"]]["w"] == pytest.approx(each["w"], abs=1e-9)
        else:
            assert each["content"] not in live
    return met


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ("--hours-per-run 8 --turns-per-run 3 --days 6", ""),
        ("--hours-per-run 1 --turns-per-run 2 --days 5 --runs-per-day 2", ""),
        ("--hours-per-run 2 --turns-per-run 7 --days 3 --restated 2 --used 1", "percept_store_max = 1"),
        (
            "--hours-per-run 6 --turns-per-run 3 --days 9 --restated 3 --runs-per-day 2 --used 4",
            "session_half_life_days = 0.6\nglobal_archive_after_days = 0.5\nglobal_half_life_days = 1",
        ),
    ],
)
def test_a_simulation_is_the_program_driven_through_its_days(
    program: Program, options: str, config: str
) -> None:
    """15, S3, D1 to D4, A1 to A3, P1, P2: events to the pass and w to 1e-9, with --at and --elapsed."""
    program.config(f"[memory]\n{config}\n")
    document = program.json("simulate", *options.split(), "--at", START)
    assert not program.data.exists()
    met = compare(document, program, {producer: producer for producer in FOLLOWED})
    assert met >= {RECORDED, PROMOTED_EVENT}
    if "0.5" in config:
        assert met >= {PRUNED_EVENT, ARCHIVED_EVENT, RESTORED}


@pytest.mark.parametrize("restated", ["0", "2"])
def test_a_simulation_from_here_is_the_program_too(program: Program, restated: str) -> None:
    """15: on a copy of the memory, edges and all, and what it comes from is never written."""
    program.write(GLOBAL, fact(1, "birch", 0.5, idle_seconds=1_200_000), fact(2, "core fact", 1.0, core=True))
    program.write(
        SESSION,
        fact(3, "lifted", 0.6, evidence=1),
        fact(4, "contested", 0.7),
        fact(5, "other", 0.65),
        fact(6, "東京の事実", 0.3),
        edges=[stored_edge(2, "extends", 3), stored_edge(4, "contradicts", 5)],
    )
    before = program.memory_files()
    options = ("--hours-per-run", "4", "--turns-per-run", "2", "--days", "5", "--used", "3")
    document = program.json("simulate", "--from-here", *options, "--restated", restated, "--at", START)
    assert program.memory_files() == before
    contents = {each["content"]: each["producer"] for each in document["settings"][0]["facts"]}
    assert len(contents) == 6
    met = compare(document, program, contents)
    assert met >= {PROMOTED_EVENT, PRUNED_EVENT, "boosted", "penalized"}


# The command.


def test_settings_stand_side_by_side(program: Program) -> None:
    """15: the knobs in force come first, then each --set; commas join what changes together."""
    program.config("[memory]\nreconfirm_boost = 0.055\n")
    changes = ("--set", "session_half_life_days=7", "--set", "reconfirm_boost=0.1,edge_cadence=run")
    document = program.json("simulate", "--hours-per-run", "8", *changes)
    assert [setting["set"] for setting in document["settings"]] == [
        {},
        {"session_half_life_days": 7.0},
        {"reconfirm_boost": 0.1, "edge_cadence": "run"},
    ]
    graduates = [setting["facts"][1]["graduates"] for setting in document["settings"]]
    assert graduates == [NEVER, GRADUATES, GRADUATES]
    assert {each["knob"] for each in document["remedies"] if each["producer"] == "primary"} == {
        "session_half_life_days",
        "reconfirm_boost",
        "promote_threshold",
    }
    rows = program.ok("simulate", "--hours-per-run", "8", *changes).rows
    assert len(rows) == 3 * len(FOLLOWED)
    assert rows[5][:3] + rows[5][6:] == [
        "session_half_life_days=7",
        "simulated-2",
        "primary",
        GRADUATES,
        "3",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("session_half_life_days", "KNOB=VALUE"),
        ("sesion_half_life_days=3", "KNOB=VALUE"),
        ("session_half_life_days=x", "a number"),
        ("session_half_life_days=nan", "a finite number"),
        ("reconfirm_boost=2", "at most 1"),
        ("percept_store_max=1.5", "a whole number"),
        ("edge_cadence=turn", '"pass" or "run"'),
        ("percept_relevance_gate=1", "true or false"),
        ("prune_threshold=0.9", "below promote_threshold"),
        ("", "KNOB=VALUE"),
    ],
)
def test_a_wrong_setting_is_a_usage_error(program: Program, change: str, says: str) -> None:
    """X2: a knob that is none, a value that it does not take."""
    one_line_error(program.run("simulate", "--set", change), USAGE, says)


def test_runs_must_fit_the_day(program: Program) -> None:
    """X2: more hours of running than a day has are a usage error; a broken configuration is no better."""
    one_line_error(program.run("simulate", "--runs-per-day", "4", "--hours-per-run", "8"), USAGE, "day")
    program.config("[memory]\nnope = 1\n")
    one_line_error(program.run("simulate"), BAD_CONFIG, "nope")


def test_zero_sets_the_default(program: Program) -> None:
    """K1: 0 stands for the default in --set as in a file."""
    document = program.json(
        "simulate", "--days", "1", "--set", "session_half_life_days=0,percept_relevance_gate=false"
    )
    assert document["settings"][1]["set"] == {"session_half_life_days": 3.0, "percept_relevance_gate": False}
    rows = program.ok("simulate", "--days", "1", "--set", "percept_relevance_gate=false").rows
    assert rows[-1][0] == "percept_relevance_gate=false"


def test_from_here_needs_no_memory(program: Program) -> None:
    """15: no memory, an empty one, a fact that is the heading of the injected block: an answer each time."""
    assert program.json("simulate", "--from-here")["settings"][0]["facts"] == []
    assert program.ok("simulate", "--from-here").out == ""
    assert not program.data.exists()
    program.write(SESSION, fact(1, "[Remembered facts]", 0.9))
    (each,) = program.json("simulate", "--from-here", "--restated", "1")["settings"][0]["facts"]
    assert (each["id"], each["evidence"]) == (name(1), 0)
