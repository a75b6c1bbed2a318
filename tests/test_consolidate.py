"""The pass: golden trajectories, the order of its steps, and what it reports (section 10).

A trajectory is a file in `data/trajectories`: percepts, edges, and steps with what must be true after each.
Steps are `pass` (after so many days, hours, minutes), `run` (a new one begins), `wait` (calendar time only),
`restate`, `use`, `forget`, `restore` and `unlink`; `times` repeats one. `counts` are counters that are not 0,
`after` says where a percept is and what its fields are, `gone` which are in no file, `unchanged` that no file
would be written.
"""

from __future__ import annotations

import tomllib
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from builders import (
    DAY,
    HOUR,
    NOW,
    SECOND,
    WORK,
    ago,
    all_edges,
    archived,
    copied,
    counted,
    edge,
    events,
    found,
    memory,
    moment,
    one_pass,
    percept,
    recorder,
    run,
    where,
)
from milkmem import instants, recall, rules
from milkmem.consolidate import COUNTS, METRICS_PREFIX, Outcome, consolidate_run
from milkmem.knobs import Knobs
from milkmem.memory import Memory, touches
from milkmem.percept import ARCHIVE, GLOBAL, evidence, idle_seconds, weight
from milkmem.remember import Fact
from milkmem.runs import Book, Run, touch

TRAJECTORIES = sorted((Path(__file__).parent / "data" / "trajectories").glob("*.toml"))
SECONDS = {"days": DAY, "hours": HOUR, "minutes": 60.0}


def close(number: float) -> Any:
    """Return what equals a number to 1e-9."""
    return pytest.approx(number, abs=1e-9, rel=0)


# Trajectories


class Trajectory:
    """A memory that lives through the steps of one file."""

    def __init__(self, written: dict[str, Any]) -> None:
        placed: dict[str, list[Any]] = {GLOBAL: [], WORK: []}
        for fields in written["percepts"]:
            store = GLOBAL if fields.pop("in", "session") == "global" else WORK
            placed[store].append(percept(content=f"{fields['id']} stands", name=fields["id"], **fields))
        self.memory = memory(placed[GLOBAL], placed[WORK], edges=written.get("edges"))
        self.settings = written.get("knobs", {})
        self.knobs = Knobs(**self.settings)
        self.book = Book()
        self.running = self.waited = 0.0
        self.runs = 0
        self.run = self.begin()
        self.counts: dict[str, int] = {}

    def now(self) -> Any:
        """Return the moment it is: running time on one clock, all time on the other."""
        return moment(self.running, wall=self.running + self.waited)

    def begin(self) -> Run:
        """Return a new run."""
        self.runs += 1
        begun = Run(f"run-{self.runs}", False, self.now())
        touch(self.book, begun, WORK, self.now(), 120.0)
        return begun

    def do(self, step: dict[str, Any]) -> None:
        """Do one step once."""
        at = self.now().at
        match step["do"]:
            case "pass":
                seconds = sum(step.get(unit, 0) * size for unit, size in SECONDS.items())
                self.running += seconds
                outcome = consolidate_run(
                    self.memory, self.knobs, self.book, self.run, now=self.now(), stated=seconds
                )
                self.counts = counted(outcome.report)
            case "run":
                self.run = self.begin()
            case "wait":
                self.waited += step["days"] * DAY
            case "restate":
                said = found(self.memory, step["id"])["content"]
                told = recorder(self.memory, during=self.run, now=at, **self.settings)
                assert told.record(Fact(said, "primary")).percept is not None
            case "use":
                recall.mark_used(self.memory, {step["id"]}, at)
            case "forget":
                self.memory.forget({step["id"]})
            case "restore":
                restored, _ = self.memory.restore(step["id"])
                restored["w"] = rules.restored(weight(restored), self.knobs)
            case "unlink":
                ends = {step["from"], step["to"]}
                for store in self.memory.live():
                    self.memory.remove_edges(store, lambda edge: {edge["from"], edge["to"]} == ends)
            case other:
                raise ValueError(other)

    def hold(self, step: dict[str, Any]) -> None:
        """Hold what is written to be true after a step."""
        places = where(self.memory)
        if "counts" in step:
            assert self.counts == step["counts"]
        if "unchanged" in step:
            assert (self.memory.changed == set()) is step["unchanged"]
        for name in step.get("gone", ()):
            assert name not in places
        for name, fields in step.get("after", {}).items():
            kept = found(self.memory, name)
            assert self.memory.scope(places[name]) == fields.pop("in")
            for field, value in fields.items():
                assert self.field(kept, field) == value, (name, field)

    def field(self, kept: Any, field: str) -> Any:
        """Return one field as it counts."""
        match field:
            case "evidence":
                return evidence(kept)
            case "idle_seconds":
                return close(idle_seconds(kept))
            case "w":
                return close(kept["w"])
            case "reason":
                return kept["archived"]["reason"]
        raise ValueError(field)


@pytest.mark.parametrize("path", TRAJECTORIES, ids=[path.stem for path in TRAJECTORIES])
def test_trajectory(path: Path) -> None:
    """Each file in data/trajectories states its own rule."""
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    life = Trajectory(written)
    assert written["rule"]
    for number, step in enumerate(written["steps"], start=1):
        life.memory.changed.clear()
        for _ in range(step.get("times", 1)):
            life.do(step)
        try:
            life.hold(step)
        except AssertionError as error:
            raise AssertionError(f"{path.name}, step {number}: {written['rule']}") from error


# The order of the steps


def test_decay_before_edges() -> None:
    """Section 10: an edge adds to what decay has left, and is not decayed with it."""
    kept = memory(None, [percept("a", 0.4), percept("b", 0.9)], edges=[edge("b", "extends", "a")])
    one_pass(kept, 3)
    assert found(kept, "a")["w"] == close(0.25)


def test_decay_before_prune() -> None:
    """Section 10: what this pass's decay takes to the threshold is pruned by this pass."""
    kept = memory(None, [percept("a", 0.39)])
    assert events(one_pass(kept, 3)) == [("pruned", "a")]


def test_idling_before_archiving() -> None:
    """Section 10: what this pass's idling takes to the limit is archived by this pass."""
    kept = memory([percept("a", idle_seconds=13 * DAY)])
    assert events(one_pass(kept, 1)) == [("archived", "a")]


def test_edges_before_prune() -> None:
    """Section 10: a positive edge saves what decay took below the threshold."""
    kept = memory(None, [percept("a", 0.38), percept("b", 0.9)], edges=[edge("b", "updates", "a")])
    report = one_pass(kept, 3)
    assert found(kept, "a")["w"] == close(0.24)
    assert counted(report) == {"decayed": 2}


def test_pruned_by_contradiction() -> None:
    """Section 10: a contradiction prunes within the pass."""
    kept = memory(None, [percept("a", 0.3), percept("b", 0.9)], edges=[edge("b", "contradicts", "a")])
    assert events(one_pass(kept)) == [
        ("penalized", "a"),
        ("penalized", "b"),
        ("pruned", "a"),
        ("deferred", "b"),
    ]


def test_pruned_source_still_acts() -> None:
    """Section 10: edges act before pruning, so one whose source is pruned in this pass acts in it."""
    kept = memory([percept("g", 0.5)], [percept("a", 0.1)], edges=[edge("a", "derives", "g")])
    report = one_pass(kept)
    assert events(report) == [("boosted", "g"), ("pruned", "a")]
    assert found(kept, "g")["w"] == close(0.55)


def test_pruned_end_blocks_no_more() -> None:
    """P3: an end that this pass pruned no longer holds the other back."""
    kept = memory(
        None,
        [percept("weak", 0.25), percept("wish", 0.95, producer="user")],
        edges=[edge("weak", "contradicts", "wish")],
    )
    report = one_pass(kept)
    assert events(report)[2:] == [("pruned", "weak"), ("promoted", "wish")]
    assert all_edges(kept) == {ARCHIVE: [("weak", "contradicts", "wish")]}


def test_archived_end_blocks_no_more() -> None:
    """P3: an end that this pass archived no longer holds the other back."""
    kept = memory(
        [percept("stale", idle_seconds=14 * DAY)],
        [percept("wish", 0.95, producer="user")],
        global_edges=[edge("stale", "contradicts", "wish")],
    )
    assert events(one_pass(kept))[2:] == [("archived", "stale"), ("promoted", "wish")]


def test_core_end_blocks() -> None:
    """P3: a contradiction with a core global holds a user's fact, though core itself is untouched."""
    kept = memory(
        [percept("law", 1.0, core=True)],
        [percept("wish", 0.95, producer="user")],
        edges=[edge("wish", "contradicts", "law")],
    )
    assert events(one_pass(kept)) == [("penalized", "wish"), ("deferred", "wish")]


def test_contradiction_with_the_archive_blocks_nothing() -> None:
    """P3, section 1: an edge with an end in the archive, or in no file, is not live."""
    kept = memory(
        None,
        [percept("wish", 0.95, producer="user")],
        [archived("gone", 0.9)],
        edges=[edge("wish", "contradicts", "gone"), edge("ghost", "contradicts", "wish")],
    )
    assert events(one_pass(kept)) == [("promoted", "wish")]


def test_stale_makes_room() -> None:
    """Section 10: archiving comes before the cap, which then has nothing to evict."""
    kept = memory([percept("a", 0.9, idle_seconds=14 * DAY), percept("b", 0.3)])
    assert events(one_pass(kept, percept_store_max=1)) == [("archived", "a")]


def test_cap_after_promotion() -> None:
    """Section 10: what was promoted counts, and may be the lowest in rank."""
    kept = memory([percept("g", 1.0)], [percept("u", 0.8, producer="user")])
    report = one_pass(kept, percept_store_max=1)
    assert events(report) == [("promoted", "u"), ("evicted", "u")]
    assert found(kept, "u")["archived"] == {"at": ago(0), "reason": "evicted", "from": GLOBAL}


def test_promotion_after_global_decay() -> None:
    """P5: a fresh global is decayed once, as a session percept, and has not idled."""
    kept = memory([percept("g", 0.9)], [percept("u", 1.0, producer="user", idle_seconds=99.0)])
    report = one_pass(kept, 0.5)
    assert found(kept, "u")["w"] == close(2 ** (-0.5 / 3))
    assert "idle_seconds" not in found(kept, "u")
    assert counted(report) == {"decayed": 1, "global_decayed": 1, "promoted": 1}


def test_order_of_report() -> None:
    """Section 10: changes are told in the order of the steps."""
    kept = memory(
        [percept("old", 0.9, idle_seconds=14 * DAY), percept("low", 0.3)],
        [
            percept("weak", 0.1),
            percept("said", 0.95, producer="user"),
            percept("echo", 0.9),
            percept("more", 0.5),
        ],
        edges=[edge("more", "extends", "echo"), edge("weak", "contradicts", "more")],
    )
    report = one_pass(kept, percept_store_max=1)
    assert [event for event, _ in events(report)] == [
        *("penalized", "boosted", "penalized"),
        *("pruned", "archived", "promoted", "deferred", "evicted"),
    ]


# Decay and idling


def test_clocks_are_apart() -> None:
    """R4: each store decays by its own Δt, and only the global one idles."""
    kept = memory([percept("g", 0.8)], [percept("s", 0.7)])
    report = one_pass(kept, 60, session_days=0)
    assert (found(kept, "g")["w"], found(kept, "s")["w"]) == (close(0.5), 0.7)
    assert found(kept, "g")["idle_seconds"] == 60 * DAY
    assert "idle_seconds" not in found(kept, "s")
    assert counted(report) == {"global_decayed": 1, "archived": 1}
    kept = memory([percept("g", 0.8)], [percept("s", 0.7)])
    report = one_pass(kept, 0, session_days=3)
    assert found(kept, "g") == percept("g", 0.8)
    assert counted(report) == {"decayed": 1}
    assert kept.changed == {WORK}


@pytest.mark.parametrize(
    ("last_used_at", "idles"),
    [
        (None, True),
        ("0001-01-01T00:00:00Z", True),
        (ago(2), True),
        (ago(1), True),
        ("2026-11-14T12:00:00.000000001Z", False),
        ("2026-11-14T17:30:00.000000001+05:30", False),
        (ago(0), False),
        (ago(-30), False),
    ],
)
def test_used_since(last_used_at: str | None, idles: bool) -> None:
    """D4: a use later than the last pass keeps a global from idling in this one."""
    kept = memory([percept("g", 0.2, last_used_at=last_used_at, idle_seconds=5)])
    one_pass(kept, 1)
    assert found(kept, "g")["idle_seconds"] == (5 + DAY if idles else 5)
    assert kept.changed == ({GLOBAL} if idles else set())


def test_use_to_come_is_now() -> None:
    """D4, case 13: with the clock set back before the last pass, a use to come is none since that pass."""
    kept = memory([percept("g", 0.2, last_used_at=ago(-30))])
    one_pass(kept, 1, since=NOW + SECOND)
    assert found(kept, "g")["idle_seconds"] == DAY


def test_decay_of_a_fresh_percept() -> None:
    """D4: a percept recorded just before the pass decays by the whole Δt."""
    kept = memory(None, [percept("s", 0.7, created_at=ago(0))])
    one_pass(kept, 3)
    assert found(kept, "s")["w"] == close(0.35)


def test_decayed_counts() -> None:
    """C1: counted is what decay changed: no core, no w at 0, no global at or below the floor."""
    kept = memory(
        [percept("g1", 0.5), percept("g2", 0.2), percept("g3", 0.1), percept("g4", 0.9, core=True)],
        [
            percept("s1", 0.5),
            percept("s2", 0.0, producer="user"),
            percept("s3", 0.9, core=True),
            percept("s4"),
        ],
    )
    report = one_pass(kept, 0.01)
    assert counted(report) == {"decayed": 2, "global_decayed": 1, "pruned": 1, "promoted": 1}


# Edges


@pytest.mark.parametrize("relation", ["extends", "updates", "derives"])
@pytest.mark.parametrize("places", [(GLOBAL, GLOBAL), (GLOBAL, WORK), (WORK, GLOBAL), (WORK, WORK)])
def test_positive_edges(relation: str, places: tuple[str, str]) -> None:
    """E1, E2: a positive edge adds 0.05 to its target, across the files, and corroborates it."""
    stores: dict[str, list[Any]] = {GLOBAL: [], WORK: []}
    stores[places[0]].append(percept("source", 0.5))
    stores[places[1]].append(percept("target", 0.5))
    kept = memory(stores[GLOBAL], stores[WORK], edges=[edge("source", relation, "target")])
    report = one_pass(kept)
    assert found(kept, "source") == percept("source", 0.5)
    assert found(kept, "target") == percept("target", close(0.55), evidence=1)
    (change,) = report.changes
    assert change == {
        "id": "target",
        "content": "target",
        "event": "boosted",
        "scope": kept.scope(places[1]),
        "reason": "evidence",
        "w_before": 0.5,
        "w_after": close(0.55),
    }
    assert kept.changed == {places[1]}


def test_second_boost_of_a_run() -> None:
    """E2: a second pass of the same run boosts again and awards nothing."""
    kept = memory(None, [percept("a", 0.5), percept("b", 0.5)], edges=[edge("a", "extends", "b")])
    during = run()
    one_pass(kept, during=during)
    report = one_pass(kept, during=during)
    assert found(kept, "b") == percept("b", close(0.6), evidence=1)
    assert [change["reason"] for change in report.changes] == ["edge"]
    one_pass(kept, during=run())
    assert found(kept, "b") == percept("b", close(0.65), evidence=2)


def test_contradiction() -> None:
    """E1: a contradiction takes 0.10 from both ends and corroborates nothing."""
    kept = memory([percept("g", 0.5)], [percept("s", 0.6)], edges=[edge("g", "contradicts", "s")])
    report = one_pass(kept)
    assert found(kept, "g") == percept("g", close(0.4))
    assert found(kept, "s") == percept("s", close(0.5))
    assert [(change["event"], change["scope"], change["reason"]) for change in report.changes] == [
        ("penalized", "global", "contradicts"),
        ("penalized", "session", "contradicts"),
    ]


def test_duplicates_count_once() -> None:
    """E1: duplicate edges count once, in whatever file, for `contradicts` in either direction."""
    kept = memory(
        [percept("a", 0.7)],
        [percept("b", 0.7)],
        edges=[edge("a", "extends", "b"), edge("a", "extends", "b", x=1), edge("a", "contradicts", "b")],
        global_edges=[edge("a", "extends", "b"), edge("b", "contradicts", "a")],
    )
    one_pass(kept)
    assert (found(kept, "a")["w"], found(kept, "b")["w"]) == (close(0.6), close(0.65))


def test_reversed_positive_edges() -> None:
    """E1: a positive edge in the other direction, or of another relation, is another edge."""
    kept = memory(
        None,
        [percept("a", 0.5), percept("b", 0.5)],
        edges=[edge("a", "extends", "b"), edge("b", "extends", "a"), edge("a", "updates", "b")],
    )
    one_pass(kept)
    assert (found(kept, "a")["w"], found(kept, "b")["w"]) == (close(0.55), close(0.6))


@pytest.mark.parametrize(
    "dead",
    [
        edge("a", "extends", "a"),
        edge("a", "contradicts", "a"),
        edge("ghost", "extends", "a"),
        edge("a", "contradicts", "ghost"),
        edge("b", "resembles", "a"),
        edge("b", "Extends", "a"),
        edge("kept", "extends", "a"),
    ],
)
def test_dead_edges(dead: Any) -> None:
    """E1: self edges, unknown relations, and edges without two live ends do nothing and write nothing."""
    kept = memory(None, [percept("a", 0.5), percept("b", 0.5)], [archived("kept", 0.9)], edges=[dead])
    assert events(one_pass(kept)) == []
    assert kept.changed == set()


def test_clamped_once() -> None:
    """E1: deltas are summed before w is clamped, at either end of the scale."""
    kept = memory(
        None,
        [percept("a", 0.98), percept("b", 0.9), percept("c", 0.9), percept("d", 0.9)],
        edges=[
            edge("b", "extends", "a"),
            edge("c", "extends", "a"),
            edge("d", "extends", "a"),
            edge("b", "contradicts", "a"),
        ],
    )
    one_pass(kept)
    assert found(kept, "a")["w"] == 1.0
    kept = memory(
        [percept("a", 0.05), percept("b", 0.9), percept("c", 0.9)],
        global_edges=[edge("b", "contradicts", "a"), edge("c", "extends", "a")],
    )
    one_pass(kept)
    assert found(kept, "a")["w"] == 0.0


def test_order_of_edges() -> None:
    """E1: the order of edges changes nothing, not even the last bit of w."""
    edges = [
        edge("b", "extends", "a"),
        edge("c", "updates", "a"),
        edge("b", "contradicts", "a"),
        edge("c", "derives", "a"),
    ]
    weights = set()
    for order in permutations(edges):
        kept = memory(None, [percept("a", 0.7), percept("b", 0.9), percept("c", 0.9)], edges=list(order))
        one_pass(kept)
        weights.add(found(kept, "a")["w"])
    assert weights == {0.7 + (3 * 0.05 - 0.1)}


def test_balanced_edges() -> None:
    """E1, E2: deltas that cancel leave w as it is; the boost still corroborates, once, and is told."""
    kept = memory(
        [percept("a", 0.3), percept("b", 0.9), percept("c", 0.9)],
        global_edges=[edge("b", "extends", "a"), edge("c", "extends", "a"), edge("b", "contradicts", "a")],
    )
    during = run()
    assert events(one_pass(kept, during=during)) == [("boosted", "a"), ("penalized", "b")]
    assert found(kept, "a") == percept("a", 0.3, evidence=1)
    assert events(one_pass(kept, during=during)) == [("penalized", "b")]


def test_corroborated_and_weakened() -> None:
    """E2: a percept that loses more than it gains is corroborated all the same."""
    kept = memory(
        [percept("a", 0.5), percept("b", 0.9)],
        global_edges=[edge("b", "extends", "a"), edge("b", "contradicts", "a")],
    )
    report = one_pass(kept)
    assert events(report) == [("boosted", "a"), ("penalized", "a"), ("penalized", "b")]
    assert found(kept, "a") == percept("a", close(0.45), evidence=1)


def test_award_at_full_strength() -> None:
    """E2: a boost corroborates whether or not w could still rise; with nothing to give, nothing is told."""
    kept = memory([percept("a", 1.0), percept("b", 0.9)], global_edges=[edge("b", "extends", "a")])
    during = run()
    assert events(one_pass(kept, during=during)) == [("boosted", "a")]
    assert found(kept, "a") == percept("a", 1.0, evidence=1)
    kept.changed.clear()
    assert events(one_pass(kept, during=during)) == []
    assert kept.changed == set()


def test_award_shared_with_restatement() -> None:
    """R3: restatements and edges draw on the one award of a run."""
    kept = memory([percept("a", 0.5), percept("b", 0.9)], global_edges=[edge("b", "extends", "a")])
    during = run()
    during.award("a")
    one_pass(kept, during=during)
    assert found(kept, "a") == percept("a", close(0.55))


def test_core_ends() -> None:
    """E1, E2: core ends are untouched and take no award; the other end is not exempt."""
    kept = memory(
        [percept("law", 0.5, core=True), percept("g", 0.5)],
        global_edges=[edge("g", "extends", "law"), edge("law", "contradicts", "g")],
    )
    during = run()
    assert events(one_pass(kept, during=during)) == [("penalized", "g")]
    assert found(kept, "law") == percept("law", 0.5, core=True)
    assert during.awarded == set()


def test_edges_per_run() -> None:
    """E3: once a run an edge acts at the first pass it is live in, a reversed contradiction not again."""
    edges = [edge("a", "extends", "b"), edge("b", "contradicts", "c")]
    kept = memory([percept("a", 0.5), percept("b", 0.5)], edges=edges)
    during = run()
    one_pass(kept, during=during, edge_cadence="run")
    assert found(kept, "b")["w"] == close(0.55)
    kept.append(GLOBAL, percept("c", 0.5))
    one_pass(kept, during=during, edge_cadence="run")
    assert (found(kept, "b")["w"], found(kept, "c")["w"]) == (close(0.45), close(0.4))
    kept.add_edges(WORK, [edge("c", "contradicts", "b")])
    one_pass(kept, during=during, edge_cadence="run")
    assert (found(kept, "b")["w"], found(kept, "c")["w"]) == (close(0.45), close(0.4))
    assert during.applied == {("extends", "a", "b"), ("contradicts", "b", "c")}


def test_edges_per_pass_leave_no_trace() -> None:
    """E3: at the cadence of passes nothing is noted as applied, so that the knob can change in a run."""
    kept = memory([percept("a", 0.5), percept("b", 0.5)], global_edges=[edge("a", "extends", "b")])
    during = run()
    one_pass(kept, during=during)
    assert during.applied == set()
    one_pass(kept, during=during, edge_cadence="run")
    assert found(kept, "b")["w"] == close(0.6)


def test_evidence_in_its_place() -> None:
    """F4: awarded evidence goes to its place, before unknown fields that stand behind it."""
    kept = memory(
        [percept("a", 0.5, last_used_at=ago(5), x=1), percept("b")], global_edges=[edge("b", "extends", "a")]
    )
    one_pass(kept)
    assert list(found(kept, "a"))[-3:] == ["evidence", "last_used_at", "x"]


# Promotion and the archive


def test_promotion_moves_all_fields() -> None:
    """P5: promotion moves the percept with all its fields, `idle_seconds` aside."""
    fields = {"consumer": "primary", "roles": {"theme": "x"}, "core": None, "evidence": 2, "x": [1]}
    kept = memory(None, [percept("a", 0.9, **fields, idle_seconds=None)])
    report = one_pass(kept)
    assert kept.files[GLOBAL] == {"percepts": [percept("a", 0.9, **fields)], "engrams": None, "edges": None}
    assert kept.files[WORK] == {"percepts": [], "engrams": None, "edges": None}
    assert [(change["scope"], change["reason"]) for change in report.changes] == [("session", "evidence")]


def test_reasons_of_promotion() -> None:
    """P1, P2: the report says whether assertion or evidence promoted, and what held back."""
    kept = memory(
        None,
        [
            percept("said", 0.9, producer="user", evidence=3),
            percept("law", 0.9, core=True),
            percept("proved", 0.9, evidence=2),
            percept("loud", 0.9),
            percept("doubted", 1.0, producer="user"),
            percept("doubt", 0.5),
        ],
        edges=[edge("doubt", "contradicts", "doubted")],
    )
    told = {change["id"]: (change["event"], change["reason"]) for change in one_pass(kept).changes[2:]}
    assert told == {
        "said": ("promoted", "assertion"),
        "law": ("promoted", "assertion"),
        "proved": ("promoted", "evidence"),
        "loud": ("deferred", "evidence"),
        "doubted": ("deferred", "contradiction"),
    }


def test_edges_follow_promotion() -> None:
    """E4: an edge whose ends are now both global moves to the global file; others stay."""
    kept = memory(
        [percept("g")],
        [percept("u", 0.9, producer="user"), percept("s", 0.5)],
        edges=[edge("u", "extends", "g"), edge("s", "extends", "u"), edge("u", "extends", "ghost")],
    )
    one_pass(kept)
    assert all_edges(kept) == {
        GLOBAL: [("u", "extends", "g")],
        WORK: [("s", "extends", "u"), ("u", "extends", "ghost")],
    }


def test_archived_in_full() -> None:
    """F5, A3: what leaves recall is kept whole, with when, why, from where, and its edges."""
    kept = memory(
        [percept("g", 0.5, idle_seconds=14 * DAY, x=1)],
        [percept("s", 0.2, roles={"theme": "t"}), percept("t", 0.5)],
        edges=[edge("s", "extends", "t"), edge("t", "extends", "ghost")],
        global_edges=[edge("ghost", "resembles", "g")],
    )
    report = one_pass(kept)
    assert kept.percepts(ARCHIVE) == [
        percept("s", 0.2, roles={"theme": "t"}, archived={"at": ago(0), "reason": "pruned", "from": WORK}),
        percept(
            "g", 0.5, idle_seconds=14 * DAY, x=1, archived={"at": ago(0), "reason": "stale", "from": GLOBAL}
        ),
    ]
    assert all_edges(kept) == {
        ARCHIVE: [("s", "extends", "t"), ("ghost", "resembles", "g")],
        WORK: [("t", "extends", "ghost")],
    }
    assert [(change["scope"], change["reason"]) for change in report.changes[1:]] == [
        ("session", "pruned"),
        ("global", "stale"),
    ]


@pytest.mark.parametrize(
    ("most", "left"), [(0, "abcd"), (5, "abcd"), (4, "abcd"), (3, "abc"), (2, "ab"), (1, "a")]
)
def test_ties_of_eviction(most: int, left: str) -> None:
    """A2, W2: of equal ranks the later id goes first; a cap of 0 is none."""
    kept = memory([percept(name, 0.5) for name in "dbca"])
    report = one_pass(kept, percept_store_max=most)
    assert sorted(each["id"] for each in kept.percepts(GLOBAL)) == list(left)
    assert report.counts["evicted"] == 4 - len(left)


def test_cap_of_core() -> None:
    """A2: where only core is left, the store stays over its cap."""
    kept = memory([percept("a", 0.1, core=True), percept("b", core=True), percept("c", 0.9)])
    one_pass(kept, percept_store_max=1)
    assert where(kept) == {"a": GLOBAL, "b": GLOBAL, "c": ARCHIVE}


def test_never_archived() -> None:
    """Section 3: global_archive_after_days = −1 archives nothing."""
    kept = memory([percept("a", 0.1, idle_seconds=900 * DAY)])
    one_pass(kept, 900, global_archive_after_days=-1.0)
    assert where(kept) == {"a": GLOBAL}


def test_globals_are_not_pruned() -> None:
    """D2: weakness alone removes no global, nor does a contradiction that takes it to 0."""
    kept = memory([percept("a", 0.05), percept("b", 0.05)], global_edges=[edge("a", "contradicts", "b")])
    assert counted(one_pass(kept, 1)) == {}
    assert [each["w"] for each in kept.percepts(GLOBAL)] == [0.0, 0.0]


# What is written and reported


def test_nothing_to_do() -> None:
    """C2, case 17: a pass that changes nothing marks no file as changed."""
    kept = memory(
        [percept("g", 1.7), percept("law", 0.1, core=True)],
        [percept("s", 0.7), percept("strong", 0.9)],
        [archived("old")],
        edges=[edge("s", "extends", "old"), edge("g", "resembles", "s")],
        global_edges=[edge("law", "extends", "law")],
    )
    before = copied(kept)
    report = one_pass(kept, percept_store_max=2)
    assert kept.changed == set()
    assert kept.files == before.files
    assert counted(report) == {"promotion_deferred": 1}


def test_nothing_at_all() -> None:
    """F1, C2: a pass over files that are not there makes none."""
    kept = Memory({}, WORK, lambda store: None)
    assert counted(one_pass(kept, 5)) == {}
    assert kept.changed == set()
    assert set(kept.files.values()) == {None}


def test_only_the_changed_file() -> None:
    """C2: a file is marked only if something in it changed."""
    kept = memory([percept("g", 0.1)], [percept("s", 0.7)], [archived("old")])
    one_pass(kept, 0, session_days=1)
    assert kept.changed == {WORK}


def test_clamped_is_told_once() -> None:
    """F7: a w that the pass wrote clamped is told once, however often it changed, and not if it did not."""
    kept = memory(
        [percept("g", 1.5, idle_seconds=14 * DAY), percept("h", -1.0), percept("law", 9, core=True)],
        [percept("u", 2, producer="user"), percept("k", 3), percept("fine", 0.5)],
        edges=[edge("u", "extends", "g")],
    )
    one_pass(kept)
    assert sorted(kept.clamped) == ["g", "u"]
    assert (found(kept, "g")["w"], found(kept, "u")["w"], found(kept, "k")["w"]) == (1.0, 1.0, 3)
    one_pass(kept, 1)
    assert sorted(kept.clamped) == ["g", "h", "k", "u"]
    assert found(kept, "h") == percept("h", 0.0, idle_seconds=DAY)


def test_clamped_w_in_report() -> None:
    """F7: the report speaks of w as it is used."""
    kept = memory(None, [percept("u", 4, producer="user"), percept("s", -4)])
    told = {change["id"]: (change["w_before"], change["w_after"]) for change in one_pass(kept).changes}
    assert told == {"u": (1.0, 1.0), "s": (0.0, 0.0)}


def test_names_of_counts() -> None:
    """Section 10: the counters are the record's, in its order, under milk's own prefix."""
    assert (
        *("decayed", "global_decayed", "pruned", "archived", "promoted", "promotion_deferred", "evicted"),
    ) == COUNTS
    assert METRICS_PREFIX == "milk.memory.consolidation."
    assert list(one_pass(memory()).counts) == list(COUNTS)


# The pass of a run


def run_pass(kept: Memory, book: Book, of: Run, seconds: float, stated: float | None = None) -> Outcome:
    """Do one pass of a run at a moment."""
    now = moment(seconds)
    touch(book, of, WORK, now, 120.0)
    return consolidate_run(kept, Knobs(), book, of, now=now, stated=stated)


def begun(book: Book, seconds: float, name: str = "run-1") -> Run:
    """Return a named run that begins at a moment."""
    made = run(name, seconds=seconds)
    touch(book, made, WORK, moment(seconds), 120.0)
    return made


def test_measured_pass() -> None:
    """R4: a pass measures Δt for each store, sets the clocks, and the next one counts from there."""
    kept, book = memory([percept("g", 0.8)], [percept("s", 0.8)]), Book()
    one = begun(book, 0)
    outcome = run_pass(kept, book, one, HOUR)
    assert (outcome.elapsed.global_store, outcome.elapsed.session, outcome.cut) == (HOUR, HOUR, [])
    assert found(kept, "s")["w"] == close(0.8 * 2 ** (-1 / 72))
    assert found(kept, "g")["idle_seconds"] == HOUR
    outcome = run_pass(kept, book, one, HOUR + 60)
    assert (outcome.elapsed.global_store, outcome.elapsed.session) == (60.0, 60.0)


def test_stated_pass() -> None:
    """R4: a stated Δt holds for both stores, is never cut, and sets the clocks too."""
    kept, book = memory([percept("g", 0.8)], [percept("s", 0.8)]), Book()
    one = begun(book, 0)
    outcome = run_pass(kept, book, one, 60, stated=3 * DAY)
    assert (outcome.elapsed.global_store, outcome.elapsed.session, outcome.cut) == (3 * DAY, 3 * DAY, [])
    assert found(kept, "s")["w"] == close(0.4)
    assert run_pass(kept, book, one, 90).elapsed.session == 30.0


def test_stated_zero() -> None:
    """R4: a stated Δt of 0 is 0, not a reason to measure."""
    book = Book()
    outcome = run_pass(memory(), book, begun(book, 0), HOUR, stated=0.0)
    assert (outcome.elapsed.global_store, outcome.elapsed.session) == (0.0, 0.0)


def test_cut_pass() -> None:
    """R4: the report names each store whose measured Δt was cut."""
    kept, book = memory(None, [percept("s", 0.8)]), Book()
    one = begun(book, 0)
    outcome = run_pass(kept, book, one, 3 * DAY)
    assert (outcome.elapsed.global_store, outcome.elapsed.session) == (DAY, DAY)
    assert outcome.cut == [GLOBAL, WORK]
    assert found(kept, "s")["w"] == close(0.8 * 2 ** (-1 / 3))
    book.clocks[GLOBAL] = moment(3 * DAY + 5)
    assert run_pass(kept, book, one, 5 * DAY).cut == [GLOBAL, WORK]
    book.clocks[GLOBAL] = moment(6 * DAY)
    assert run_pass(kept, book, one, 6.5 * DAY).cut == [WORK]


def test_used_since_the_last_pass_of_the_run() -> None:
    """D4: a use counts from the last pass's stored time, before the first pass from the run's start."""
    kept, book = memory([percept("g", 0.2, last_used_at=instants.format(NOW + 10 * SECOND))]), Book()
    one = begun(book, 5)
    run_pass(kept, book, one, 20)
    assert "idle_seconds" not in found(kept, "g")
    run_pass(kept, book, one, 50)
    assert found(kept, "g")["idle_seconds"] == 30.0


def test_used_before_the_run() -> None:
    """D4: before any pass, a use earlier than the run's start does not keep a global from idling."""
    kept, book = memory([percept("g", 0.2, last_used_at=instants.format(NOW + 3 * SECOND))]), Book()
    run_pass(kept, book, begun(book, 5), 20)
    assert found(kept, "g")["idle_seconds"] == 15.0


def test_used_between_the_last_pass_and_the_run() -> None:
    """D4: a global used since the last global pass does not idle, though a later run began meanwhile."""
    kept, book = memory([percept("g", 0.2)]), Book()
    run_pass(kept, book, begun(book, 0), 10)
    recall.mark_used(kept, {"g"}, NOW + 20 * SECOND)
    run_pass(kept, book, begun(book, 30, "run-2"), 40)
    assert "idle_seconds" not in found(kept, "g")


def test_used_since_the_last_pass_before_a_reboot() -> None:
    """D4: the last global pass is the last one after a reboot too, though it measures no time any more."""
    kept, book = memory([percept("g", 0.2), percept("h", 0.2)]), Book()
    run_pass(kept, book, begun(book, 0), 10)
    recall.mark_used(kept, {"g"}, NOW + 20 * SECOND)
    after = Run("run-2", False, moment(5, wall=30, boot="other"))
    now = moment(15, wall=40, boot="other")
    touch(book, after, WORK, after.started, 120.0)
    outcome = consolidate_run(kept, Knobs(), book, after, now=now, stated=None)
    assert outcome.elapsed.global_store == 10.0
    assert "idle_seconds" not in found(kept, "g")
    assert found(kept, "h")["idle_seconds"] == 20.0
    recall.mark_used(kept, {"h"}, NOW + 39 * SECOND)
    run_pass_at = moment(25, wall=50, boot="other")
    consolidate_run(kept, Knobs(), book, after, now=run_pass_at, stated=None)
    assert found(kept, "g")["idle_seconds"] == 10.0
    assert found(kept, "h")["idle_seconds"] == 10.0


def test_pass_at_a_stated_instant() -> None:
    """R4: with `--at` the stated instant is the one stored and the one uses are compared with."""
    kept, book = memory([percept("g", 0.2)], [percept("s", 0.1)]), Book()
    early = NOW - round(900 * DAY) * SECOND
    one = Run("run-1", False, moment(0, at=early))
    touch(book, one, WORK, one.started, 120.0)
    recall.mark_used(kept, {"g"}, early + SECOND)
    consolidate_run(kept, Knobs(), book, one, now=moment(60, at=early + 2 * SECOND), stated=5.0)
    assert "idle_seconds" not in found(kept, "g")
    assert found(kept, "s")["archived"]["at"] == instants.format(early + 2 * SECOND)
    assert book.clocks[GLOBAL].at == early + 2 * SECOND
    consolidate_run(kept, Knobs(), book, one, now=moment(70, at=early + 3 * SECOND), stated=5.0)
    assert found(kept, "g")["idle_seconds"] == 5.0


def test_edges_of_the_archived_are_kept() -> None:
    """E4: no edge is lost when both of its ends leave in one pass."""
    kept = memory(None, [percept("a", 0.1), percept("b", 0.1)], edges=[edge("a", "derives", "b")])
    one_pass(kept)
    assert [touches(each, {"a"}) for each in kept.edges(ARCHIVE)] == [True]
    assert where(kept) == {"a": ARCHIVE, "b": ARCHIVE}
