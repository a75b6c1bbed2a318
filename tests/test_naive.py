"""The naive model of a pass, held to hand-computed examples of the record and of the specification."""

from __future__ import annotations

import copy
import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

import memories
from naive import (
    COUNTS,
    Json,
    Result,
    comparable,
    format_instant,
    idle,
    listed,
    naive_pass,
    parse_instant,
    rank_score,
    weight,
)

DAY = 86_400.0
NOW = parse_instant("2026-11-15T12:00:00Z")
YESTERDAY = parse_instant("2026-11-14T12:00:00Z")
DEFAULTS: Json = {
    "session_half_life_days": 3.0,
    "global_half_life_days": 60.0,
    "reconfirm_boost": 0.05,
    "reconfirm_cap": 0.90,
    "promote_threshold": 0.80,
    "prune_threshold": 0.20,
    "recency_boost": 0.10,
    "recency_half_life_days": 30.0,
    "global_archive_after_days": 14.0,
    "percept_inject_max": 25,
    "percept_inject_max_bytes": 2048,
    "percept_store_max": 0,
    "percept_relevance_gate": True,
    "run_gap_minutes": 120.0,
    "edge_cadence": "pass",
    "restatement_similarity": 0.60,
}


def fact(name: str, w: Any, **fields: Any) -> Json:
    """Return a percept of `primary`, updated now."""
    made = {"id": name, "content": name, "producer": "primary", "w": w, "updated_at": "2026-11-15T12:00:00Z"}
    return {**made, **fields}


def edge(source: str, relation: str, target: str, **fields: Any) -> Json:
    """Return an edge."""
    return {"from": source, "to": target, "relation": relation, **fields}


def memory(
    globals_: list[Json] | None = None,
    session: list[Json] | None = None,
    edges: list[Json] | None = None,
    global_edges: list[Json] | None = None,
) -> dict[str, Json]:
    """Return three files; `edges` stand in the session file."""
    return {
        "global": {"percepts": globals_, "engrams": None, "edges": global_edges},
        "session": {"percepts": session, "engrams": None, "edges": edges},
        "archive": {"percepts": None, "engrams": None, "edges": None},
    }


def run_of(*awarded: str) -> dict[str, set[Any]]:
    """Return a run that has awarded evidence to these ids."""
    return {"awarded": set(awarded), "applied": set()}


def consolidate(
    stores: dict[str, Json],
    days: float = 0.0,
    run: dict[str, set[Any]] | None = None,
    **knobs: Any,
) -> Result:
    """Return a pass after so many running days in both stores, the last one having been yesterday."""
    elapsed = {"global": days * DAY, "session": days * DAY}
    known = DEFAULTS | knobs
    assert known.keys() == DEFAULTS.keys()
    return naive_pass(stores, known, run_of() if run is None else run, NOW, YESTERDAY, elapsed, "work")


def where(result: Result) -> dict[str, str]:
    """Return the file that each percept is in."""
    places: dict[str, str] = {}
    for place, doc in result.stores.items():
        for percept in listed(doc, "percepts"):
            assert percept["id"] not in places
            places[percept["id"]] = place
    return places


def found(result: Result, name: str) -> Json:
    """Return the one percept of that id."""
    matches = [
        percept
        for doc in result.stores.values()
        for percept in listed(doc, "percepts")
        if percept["id"] == name
    ]
    (percept,) = matches
    return percept


# Decay


@pytest.mark.parametrize(("days", "w"), [(3, 0.35), (1.5, 0.7 / 2**0.5), (5, 0.7 * 2 ** (-5 / 3))])
def test_session_decay(days: float, w: float) -> None:
    """D1: a session percept halves in three running days."""
    result = consolidate(memory(session=[fact("a", 0.7)]), days)
    assert found(result, "a")["w"] == pytest.approx(w, abs=1e-12)
    assert result.counts == {**dict.fromkeys(COUNTS, 0), "decayed": 1}
    assert result.changes == []


@pytest.mark.parametrize(
    ("w", "days"),
    [
        (0.7, 5.4220647661728),  # 3·log2(3.5)
        (0.85, 6.2623885237510),  # 3·log2(4.25)
        (0.9, 6.5097750043269),  # 3·log2(4.5)
    ],
)
def test_prune_moment(w: float, days: float) -> None:
    """A3, D1: the record's session fact of 0.7 leaves after 3·log2(3.5) running days, not a minute before."""
    minute = 60 / DAY
    before = consolidate(memory(session=[fact("a", w)]), days - minute)
    assert where(before) == {"a": "session"}
    after = consolidate(memory(session=[fact("a", w)]), days)
    assert where(after) == {"a": "archive"}
    assert after.changes == [("pruned", "a")]
    assert after.counts["pruned"] == after.counts["decayed"] == 1
    assert found(after, "a")["archived"] == {"at": "2026-11-15T12:00:00Z", "reason": "pruned", "from": "work"}


@pytest.mark.parametrize(
    ("w", "days", "left"),
    [(0.8, 60, 0.5), (0.8, 120, 0.35), (0.2, 60, 0.2), (0.15, 60, 0.15), (1.0, 6000, 0.2)],
)
def test_global_decay(w: float, days: float, left: float) -> None:
    """D2: what a global has above 0.20 halves in sixty running days; at or below it nothing moves."""
    result = consolidate(memory([fact("a", w)]), days, global_archive_after_days=-1.0)
    assert found(result, "a")["w"] == pytest.approx(left, abs=1e-12)
    assert result.counts["global_decayed"] == (1 if w > 0.2 else 0)
    assert where(result) == {"a": "global"}


def test_many_passes_keep_floor_and_order() -> None:
    """D2: 10,000 passes take no global below the floor and change no order."""
    stores = memory([fact("a", 0.9), fact("b", 0.5)])
    for _ in range(10_000):
        stores["global"]["percepts"] = consolidate(stores, 0.05, global_archive_after_days=-1.0).stores[
            "global"
        ]["percepts"]
    a, b = stores["global"]["percepts"]
    assert a["w"] > b["w"] > 0.2
    assert a["w"] == pytest.approx(0.2 + 0.7 * 2 ** (-500 / 60), abs=1e-9)


def test_split() -> None:
    """D3: one two-hour pass does what four of thirty minutes do."""
    stores = memory([fact("g", 0.9)], [fact("s", 0.7)])
    whole = consolidate(stores, 1 / 12)
    for _ in range(4):
        stores = consolidate(stores, 1 / 48).stores
    assert stores["global"]["percepts"][0]["w"] == pytest.approx(found(whole, "g")["w"], abs=1e-9)
    assert stores["session"]["percepts"][0]["w"] == pytest.approx(found(whole, "s")["w"], abs=1e-9)
    assert stores["global"]["percepts"][0]["idle_seconds"] == pytest.approx(7200.0)


def test_no_time() -> None:
    """D3: no running time changes nothing, not even a w that is out of range."""
    stores = memory([fact("g", 0.9), fact("h", -0.5)], [fact("s", 0.7), fact("t", 1.5)])
    result = consolidate(stores)
    assert result.stores == stores
    assert result.counts == {**dict.fromkeys(COUNTS, 0), "promotion_deferred": 1}
    assert result.changes == [("deferred", "t")]


def test_core_is_exempt() -> None:
    """D1, D2, A1, A3: a core percept neither decays nor idles nor leaves, in either store."""
    stores = memory([fact("g", 0.1, core=True, idle_seconds=99 * DAY)], [fact("s", 0.1, core=True)])
    result = consolidate(stores, 50, percept_store_max=1)
    assert result.stores == stores
    assert result.changes == []


def test_clocks_are_apart() -> None:
    """R4: each store decays by its own running time."""
    stores = memory([fact("g", 0.8)], [fact("s", 0.7)])
    for place, name in (("global", "s"), ("session", "g")):
        elapsed = {"global": 0.0, "session": 0.0, place: DAY}
        result = naive_pass(stores, DEFAULTS, run_of(), NOW, YESTERDAY, elapsed, "work")
        assert found(result, name)["w"] == {"s": 0.7, "g": 0.8}[name]
        assert result.counts["decayed"] + result.counts["global_decayed"] == 1
        assert ("idle_seconds" in found(result, "g")) == (place == "global")


@pytest.mark.parametrize(
    ("last_used_at", "idled"),
    [
        (None, True),
        ("2026-11-01T00:00:00Z", True),
        ("2026-11-14T12:00:00Z", True),
        ("2026-11-14T17:30:00+05:30", True),
        ("2026-11-14T12:00:00.000000001Z", False),
        ("2026-11-14T06:00:01-06:00", False),
        ("2027-01-01T00:00:00Z", False),
    ],
)
def test_idle(last_used_at: str | None, idled: bool) -> None:
    """D4: a global that was not used since the last global pass idles by the whole running time."""
    result = consolidate(memory([fact("a", 0.9, idle_seconds=10.0, last_used_at=last_used_at)]), 1)
    assert found(result, "a")["idle_seconds"] == (10.0 + DAY if idled else 10.0)


def test_use_to_come_counts_as_now() -> None:
    """D4: with the clock set back before the last pass, a use in the future is none since that pass."""
    stores = memory([fact("a", 0.9, last_used_at="2027-01-01T00:00:00Z")])
    later = NOW + 1
    result = naive_pass(stores, DEFAULTS, run_of(), NOW, later, {"global": 5.0, "session": 5.0}, "work")
    assert found(result, "a")["idle_seconds"] == 5.0


def test_use_does_not_strengthen() -> None:
    """Section 1: a used global decays like any other, and is not archived."""
    used = fact("a", 0.8, last_used_at="2026-11-15T11:00:00Z")
    result = consolidate(memory([used]), 60)
    assert found(result, "a")["w"] == pytest.approx(0.5)
    assert where(result) == {"a": "global"}


# Edges


@pytest.mark.parametrize("relation", ["extends", "updates", "derives"])
def test_positive_edge(relation: str) -> None:
    """E1, E2: a positive edge lifts its target by 0.05 and corroborates it; its source stays."""
    result = consolidate(memory(session=[fact("a", 0.5), fact("b", 0.5)], edges=[edge("a", relation, "b")]))
    assert found(result, "a") == fact("a", 0.5)
    assert found(result, "b") == fact("b", pytest.approx(0.55), evidence=1)
    assert result.changes == [("boosted", "b")]
    assert result.run["awarded"] == {"b"}


def test_contradiction() -> None:
    """E1: a contradiction takes 0.10 from both ends, across files, and corroborates nothing."""
    stores = memory([fact("g", 0.5)], [fact("s", 0.7)], [edge("s", "contradicts", "g")])
    result = consolidate(stores)
    assert (found(result, "g"), found(result, "s")) == (fact("g", 0.4), fact("s", pytest.approx(0.6)))
    assert result.changes == [("penalized", "g"), ("penalized", "s")]
    assert result.run["awarded"] == set()


def test_duplicates_count_once() -> None:
    """E1: the same edge in both files counts once, a contradiction in either direction too."""
    edges = [edge("a", "contradicts", "b"), edge("b", "contradicts", "a"), edge("c", "extends", "d")]
    stores = memory(
        session=[fact(name, 0.5) for name in "abcd"],
        edges=[*edges, edge("c", "extends", "d", note="other")],
        global_edges=edges,
    )
    result = consolidate(stores)
    assert [found(result, name)["w"] for name in "abcd"] == pytest.approx([0.4, 0.4, 0.5, 0.55])


def test_relations_are_apart() -> None:
    """E1: two positive edges of different relation, or of opposite direction, both count."""
    edges = [edge("a", "extends", "b"), edge("a", "derives", "b"), edge("b", "extends", "a")]
    result = consolidate(memory(session=[fact("a", 0.5), fact("b", 0.5)], edges=edges))
    assert (found(result, "a")["w"], found(result, "b")["w"]) == pytest.approx((0.55, 0.6))
    assert found(result, "b")["evidence"] == 1


@pytest.mark.parametrize(
    "dead",
    [
        edge("a", "contradicts", "a"),
        edge("a", "extends", "a"),
        edge("ghost", "extends", "a"),
        edge("a", "contradicts", "ghost"),
        edge("b", "resembles", "a"),
    ],
)
def test_dead_edges(dead: Json) -> None:
    """E1: self edges, edges with an end that is not there and unknown relations do nothing."""
    stores = memory(session=[fact("a", 0.5), fact("b", 0.5)], edges=[dead])
    result = consolidate(stores)
    assert result.stores == stores
    assert result.changes == []


def test_core_ends() -> None:
    """E1, E2: a core end is untouched; the other end of its contradiction is not."""
    stores = memory(
        [fact("core", 1.0, core=True)],
        [fact("a", 0.5), fact("b", 0.5)],
        [edge("a", "extends", "core"), edge("core", "contradicts", "b")],
    )
    result = consolidate(stores)
    assert found(result, "core") == fact("core", 1.0, core=True)
    assert found(result, "b")["w"] == pytest.approx(0.4)
    assert result.run["awarded"] == set()
    assert result.changes == [("penalized", "b")]


def test_clamped_once() -> None:
    """E1: deltas are summed before the clamp, so that their order does not matter."""
    edges = [edge(name, "extends", "z") for name in "abc"] + [edge("a", "contradicts", "z")]
    for order in (edges, edges[::-1]):
        result = consolidate(memory([fact(name, 0.5) for name in "abc"] + [fact("z", 0.98)], None, order))
        assert found(result, "z")["w"] == 1.0
    edges = [edge(name, "contradicts", "z") for name in "abc"] + [edge("a", "extends", "z")]
    result = consolidate(memory([fact(name, 0.5) for name in "abc"] + [fact("z", 0.05)], None, edges))
    assert found(result, "z")["w"] == 0.0


def test_balanced_edges() -> None:
    """E1, E2: deltas that cancel leave w as it is, to the bit; the boost still corroborates."""
    edges = [edge("a", "extends", "z"), edge("b", "extends", "z"), edge("c", "contradicts", "z")]
    stores = memory([fact(name, 0.5) for name in "abc"] + [fact("z", 0.7)], None, edges)
    result = consolidate(stores)
    assert found(result, "z") == fact("z", 0.7, evidence=1)
    assert result.changes == [("penalized", "c"), ("boosted", "z")]
    again = consolidate(stores, run=run_of("z"))
    assert found(again, "z") == fact("z", 0.7)
    assert again.changes == [("penalized", "c")]


def test_corroborated_and_weakened() -> None:
    """E2: a percept that loses more than it gains is still corroborated."""
    edges = [edge("a", "extends", "z"), edge("b", "contradicts", "z")]
    result = consolidate(memory([fact("a", 0.5), fact("b", 0.5), fact("z", 0.7)], None, edges))
    assert found(result, "z") == fact("z", pytest.approx(0.65), evidence=1)
    assert result.changes == [("penalized", "b"), ("boosted", "z"), ("penalized", "z")]


def test_award_at_full_strength() -> None:
    """E2: a w that cannot rise is no reason to withhold evidence, one award in this run is."""
    stores = memory([fact("a", 0.5), fact("z", 1.0, evidence=None)], None, [edge("a", "extends", "z")])
    first = consolidate(stores)
    assert found(first, "z") == fact("z", 1.0, evidence=1)
    assert first.changes == [("boosted", "z")]
    second = consolidate(first.stores, run=first.run)
    assert second.stores == first.stores
    assert second.changes == []


def test_five_chatty_turns() -> None:
    """E3, W3: five passes take two contradicting percepts of 0.7 to the prune threshold."""
    stores = memory(session=[fact("a", 0.7), fact("b", 0.7)], edges=[edge("a", "contradicts", "b")])
    run = run_of()
    for turn in range(1, 6):
        result = consolidate(stores, run=run)
        stores, run = result.stores, result.run
        assert where(result) == dict.fromkeys("ab", "session" if turn < 5 else "archive")
    assert result.changes == [("penalized", "a"), ("penalized", "b"), ("pruned", "a"), ("pruned", "b")]
    assert stores["archive"]["edges"] == [edge("a", "contradicts", "b")]
    assert stores["session"] == {"percepts": [], "engrams": None, "edges": []}


def test_run_cadence() -> None:
    """E3: per run, an edge acts once a run, and again in the next."""
    stores = memory(
        session=[fact("a", 0.7), fact("b", 0.7), fact("c", 0.5)],
        edges=[edge("a", "contradicts", "b"), edge("a", "extends", "c")],
    )
    run = run_of()
    for _ in range(5):
        result = consolidate(stores, run=run, edge_cadence="run")
        stores, run = result.stores, result.run
    assert [found(result, name)["w"] for name in "abc"] == pytest.approx([0.6, 0.6, 0.55])
    assert found(result, "c")["evidence"] == 1
    assert run["applied"] == {("contradicts", "a", "b"), ("extends", "a", "c")}
    result = consolidate(stores, edge_cadence="run")
    assert [found(result, name)["w"] for name in "abc"] == pytest.approx([0.5, 0.5, 0.6])
    assert found(result, "c")["evidence"] == 2


def test_run_cadence_waits_for_life() -> None:
    """E3: an edge that was not live has not acted yet; a reversed contradiction has."""
    stores = memory(
        session=[fact("a", 0.7)], edges=[edge("b", "extends", "a"), edge("a", "contradicts", "c")]
    )
    first = consolidate(stores, edge_cadence="run")
    assert first.run["applied"] == set()
    stores["session"]["percepts"] += [fact("b", 0.7), fact("c", 0.7)]
    second = consolidate(stores, run=first.run, edge_cadence="run")
    assert [found(second, name)["w"] for name in "abc"] == pytest.approx([0.65, 0.7, 0.6])
    second.stores["session"]["edges"].append(edge("c", "contradicts", "a"))
    assert consolidate(second.stores, run=second.run, edge_cadence="run").changes == []


# Promotion


@pytest.mark.parametrize(
    ("w", "fields", "outcome"),
    [
        (0.9, {"producer": "user"}, "promoted"),
        (1.0, {"core": True}, "promoted"),
        (0.8, {"evidence": 2}, "promoted"),
        (0.8 - 5e-10, {"evidence": 2}, "promoted"),
        (0.8 - 2e-9, {"evidence": 2}, None),
        (0.75, {"evidence": 4}, None),
        (0.79, {"producer": "user"}, None),
        (0.79, {"core": True}, None),
        (0.9, {"evidence": 1}, "deferred"),
        (0.9, {"evidence": None}, "deferred"),
        (0.9, {}, "deferred"),
        (0.9, {"producer": "claude"}, "deferred"),
        (0.9, {"producer": "system"}, "deferred"),
    ],
)
def test_promotion(w: float, fields: Json, outcome: str | None) -> None:
    """P1, P2, P4: strength, and a person's word, core or two runs; strength alone is deferred."""
    stores = memory(session=[fact("a", w, **fields)])
    result = consolidate(stores)
    assert result.changes == ([] if outcome is None else [(outcome, "a")])
    assert where(result) == {"a": "global" if outcome == "promoted" else "session"}
    assert found(result, "a") == stores["session"]["percepts"][0]
    assert result.counts["promotion_deferred"] == (1 if outcome == "deferred" else 0)
    assert result.counts["promoted"] == (1 if outcome == "promoted" else 0)


def test_user_fact_first_pass() -> None:
    """P1, P5: a user fact born at 0.9 graduates on its first pass, decayed once as a session percept."""
    result = consolidate(memory(session=[fact("a", 0.9, producer="user", idle_seconds=7.0)]), 1 / 24)
    assert result.stores["global"]["percepts"] == [
        fact("a", pytest.approx(0.9 * 2 ** (-1 / 72), abs=1e-12), producer="user")
    ]
    assert result.stores["session"]["percepts"] == []
    assert result.counts == {**dict.fromkeys(COUNTS, 0), "decayed": 1, "promoted": 1}


def test_user_fact_too_late() -> None:
    """P1: after 3·log2(9/8) running days the same user fact has faded below the gate."""
    stores = memory(session=[fact("a", 0.9, producer="user")])
    assert where(consolidate(stores, 0.509)) == {"a": "global"}
    assert where(consolidate(stores, 0.511)) == {"a": "session"}


def test_graduation_trajectory() -> None:
    """P2: 0.70 → 0.75 → 0.80 in one run stays on evidence 1; the next run's corroboration graduates it."""
    stores = memory([fact("g", 0.5)], [fact("a", 0.7)], [edge("g", "extends", "a")])
    run = run_of()
    seen = []
    for turn in range(5):
        result = consolidate(stores, run=run if turn < 3 else run_of())
        stores, run = result.stores, result.run
        seen.append((round(found(result, "a")["w"], 12), found(result, "a")["evidence"], where(result)["a"]))
    assert seen == [
        (0.75, 1, "session"),
        (0.8, 1, "session"),
        (0.85, 1, "session"),
        (0.9, 2, "global"),
        (0.95, 3, "global"),
    ]
    assert stores["global"]["edges"] == [edge("g", "extends", "a")]


def test_two_restatements() -> None:
    """P2: 0.7 restated in two runs is 0.80 with evidence 2, and graduates in spite of float noise."""
    result = consolidate(memory(session=[fact("a", 0.7 + 0.05 + 0.05, evidence=2)]))
    assert result.changes == [("promoted", "a")]


def test_contradiction_blocks() -> None:
    """P3, P4: a live contradiction holds both ends, user and core too, until one side is gone."""
    session = [fact("u", 1.0, producer="user"), fact("c", 1.0, core=True)]
    stores = memory(session=session, edges=[edge("u", "contradicts", "c")])
    result = consolidate(stores)
    assert result.changes == [("penalized", "u"), ("deferred", "u"), ("deferred", "c")]
    del stores["session"]["percepts"][1]
    assert consolidate(stores).changes == [("promoted", "u")]


def test_contradiction_with_global() -> None:
    """P3: a contradiction with a global percept, noted in the global file, blocks too, at either cadence."""
    stores = memory(
        [fact("g", 0.9)], [fact("u", 1.0, producer="user")], None, [edge("g", "contradicts", "u")]
    )
    run = {"awarded": set(), "applied": {("contradicts", "g", "u")}}
    result = consolidate(stores, run=run, edge_cadence="run")
    assert result.changes == [("deferred", "u")]


@pytest.mark.parametrize(
    ("other", "days"), [(fact("x", 0.3), 0.0), (fact("x", 0.9, idle_seconds=14 * DAY), 0.0)]
)
def test_liveness_is_read_late(other: Json, days: float) -> None:
    """P3: an end that this pass pruned or archived no longer blocks the other."""
    user = fact("u", 1.0, producer="user")
    stale = "idle_seconds" in other
    stores = memory(
        [other] if stale else [], [user] if stale else [user, other], [edge("u", "contradicts", "x")]
    )
    result = consolidate(stores, days)
    assert where(result) == {"u": "global", "x": "archive"}
    assert found(result, "u")["w"] == pytest.approx(0.9)


def test_self_contradiction_blocks_nothing() -> None:
    """P3, E1: a self edge never counts."""
    user = fact("u", 0.9, producer="user")
    result = consolidate(memory(session=[user], edges=[edge("u", "contradicts", "u")]))
    assert result.changes == [("promoted", "u")]


def test_edges_follow_promotion() -> None:
    """E4: an edge whose ends are now both global moves, once; others stay in the session file."""
    moving, staying = edge("u", "extends", "g", note=1), edge("s", "derives", "u")
    stores = memory(
        [fact("g", 0.5)],
        [fact("u", 0.9, producer="user"), fact("s", 0.5)],
        [moving, staying, edge("u", "updates", "ghost")],
        [copy.deepcopy(moving), edge("u", "extends", "g")],
    )
    result = consolidate(stores)
    assert result.stores["session"]["edges"] == [staying, edge("u", "updates", "ghost")]
    assert result.stores["global"]["edges"] == [moving, edge("u", "extends", "g")]


def test_no_promotion_moves_no_edge() -> None:
    """C2: an edge between two globals in the session file is no reason to write."""
    stores = memory([fact("a", 0.5), fact("b", 0.5)], [], [edge("a", "resembles", "b")])
    assert consolidate(stores).stores == stores


def test_promoted_is_not_decayed_twice() -> None:
    """P5: promotion comes after the global decay and the accrual."""
    result = consolidate(memory(session=[fact("a", 0.95, evidence=2)]), 0.5)
    assert found(result, "a")["w"] == pytest.approx(0.95 * 2 ** (-0.5 / 3), abs=1e-12)
    assert "idle_seconds" not in found(result, "a")
    assert result.counts["global_decayed"] == 0


# Archiving and the size cap


@pytest.mark.parametrize(
    ("stored", "days", "gone"),
    [
        (0, 14, True),
        (0, 13.999, False),
        (13 * DAY, 1, True),
        (14 * DAY, 0, True),
        (14 * DAY - 1e-6, 0, False),
    ],
)
def test_stale(stored: float, days: float, gone: bool) -> None:
    """A1: a global unused for fourteen running days is archived as stale, not a moment before."""
    result = consolidate(memory([fact("a", 0.9, idle_seconds=stored)]), days)
    assert result.changes == ([("archived", "a")] if gone else [])
    if gone:
        percept = result.stores["archive"]["percepts"][0]
        assert percept["archived"] == {"at": "2026-11-15T12:00:00Z", "reason": "stale", "from": "global"}
        assert percept["idle_seconds"] == stored + days * DAY


def test_never_stale() -> None:
    """Section 3: -1 is never, however long unused."""
    stores = memory([fact("a", 0.2, idle_seconds=1e9)])
    assert consolidate(stores, global_archive_after_days=-1.0).stores == stores


def test_session_is_never_stale() -> None:
    """D4, A1: only globals idle."""
    stores = memory(session=[fact("a", 0.9, idle_seconds=99 * DAY)])
    result = consolidate(stores, 0.1)
    assert found(result, "a")["idle_seconds"] == 99 * DAY
    assert where(result) == {"a": "session"}


def test_global_at_floor_is_not_pruned() -> None:
    """D2, A3: weakness alone never removes a global."""
    stores = memory([fact("a", 0.0), fact("b", 0.2)])
    assert consolidate(stores).stores == stores


def test_rank_score() -> None:
    """W1: w · (1 + recency) · (1 + evidence), with evidence capped at 4 and no negative age."""
    then = "2026-10-16T12:00:00Z"  # thirty days before
    assert rank_score(fact("a", 0.8, updated_at=then, evidence=2), DEFAULTS, NOW) == pytest.approx(
        0.8 * 1.05 * 1.1
    )
    assert rank_score(fact("a", 0.5, evidence=4), DEFAULTS, NOW) == pytest.approx(0.5 * 1.1 * 1.2)
    assert rank_score(fact("a", 0.5, evidence=9), DEFAULTS, NOW) == pytest.approx(0.5 * 1.1 * 1.2)
    future = fact("a", 0.5, updated_at="2026-12-15T12:00:00Z")
    assert rank_score(future, DEFAULTS, NOW) == pytest.approx(0.5 * 1.1)
    never = fact("a", 0.5, updated_at="0001-01-01T00:00:00Z")
    assert rank_score(never, DEFAULTS, NOW) == pytest.approx(0.5)


def test_size_cap() -> None:
    """A2, W2: the lowest rank goes first, of equal ones the later id; core never."""
    old = "2025-11-15T12:00:00Z"
    stores = memory(
        [
            fact("core", 0.01, core=True),
            fact("old", 0.50, updated_at=old),  # 0.500
            fact("new", 0.48),  # 0.528
            fact("sure", 0.46, updated_at=old, evidence=4),  # 0.552
            fact("tie2", 0.6),
            fact("tie1", 0.6),
        ]
    )
    order = ["old", "new", "sure", "tie2", "tie1"]
    for kept in range(1, 7):
        result = consolidate(stores, percept_store_max=kept)
        assert result.changes == [("evicted", name) for name in order[: 6 - kept]]
    result = consolidate(stores, percept_store_max=5)
    assert found(result, "old")["archived"] == {
        "at": "2026-11-15T12:00:00Z",
        "reason": "evicted",
        "from": "global",
    }


def test_cap_of_core() -> None:
    """A2: with only core left, the store stays too large."""
    stores = memory([fact("a", 1.0, core=True), fact("b", 1.0, core=True), fact("c", 0.9)])
    result = consolidate(stores, percept_store_max=1)
    assert where(result) == {"a": "global", "b": "global", "c": "archive"}


def test_cap_after_promotion() -> None:
    """Section 10: the cap comes after promotion, and may take what was just promoted, with its edges."""
    stores = memory([fact("g", 1.0)], [fact("u", 0.8, producer="user")], [edge("u", "extends", "g")])
    result = consolidate(stores, percept_store_max=1)
    assert result.changes == [("boosted", "g"), ("promoted", "u"), ("evicted", "u")]
    assert result.stores["archive"]["edges"] == [edge("u", "extends", "g")]
    assert listed(result.stores["global"], "edges") == listed(result.stores["session"], "edges") == []
    assert found(result, "u")["archived"]["from"] == "global"


def test_archived_edges() -> None:
    """F5: every edge of an archived percept goes with it, of either file and any kind, equal ones once."""
    session = [
        edge("x", "extends", "s"),
        edge("ghost", "resembles", "x"),
        edge("x", "extends", "x"),
        edge("s", "extends", "g"),
    ]
    stores = memory(
        [fact("g", 0.5)],
        [fact("x", 0.1), fact("s", 0.5)],
        session,
        [edge("g", "derives", "x"), edge("x", "extends", "s")],
    )
    stores["archive"] = {"percepts": [fact("x", 0.9)], "edges": [edge("x", "extends", "s")]}
    result = consolidate(stores)
    moved = [edge("g", "derives", "x"), edge("ghost", "resembles", "x"), edge("x", "extends", "x")]
    expected = {"edges": [edge("x", "extends", "s"), *moved]}
    assert comparable({"archive": {"edges": result.stores["archive"]["edges"]}}) == comparable(
        {"archive": expected}
    )
    assert result.stores["session"]["edges"] == [edge("s", "extends", "g")]
    assert result.stores["global"]["edges"] == []
    assert [percept["w"] for percept in result.stores["archive"]["percepts"]] == [pytest.approx(0.15)]


# What is written


def test_clamp() -> None:
    """F7: a w out of range counts clamped, and is written clamped when its percept changes or moves."""
    stores = memory(
        [fact("g", -0.3), fact("h", 1.5, core=True)], [fact("s", 1.4), fact("u", 3, producer="user")]
    )
    result = consolidate(stores, 1 / 24)
    assert found(result, "g") == fact("g", 0.0, idle_seconds=3600.0)
    assert found(result, "h") == fact("h", 1.5, core=True)
    assert found(result, "s")["w"] == pytest.approx(2 ** (-1 / 72))
    assert found(consolidate(stores), "u") == fact("u", 1.0, producer="user")
    assert result.counts["global_decayed"] == 0


def test_lists_stay() -> None:
    """F4, section 18: null and missing lists stay unless something is added; an emptied one is []."""
    stores: dict[str, Json] = {
        "global": {"edges": None, "x": 1},
        "session": {"percepts": [fact("u", 0.9, producer="user")], "edges": []},
        "archive": {},
    }
    result = consolidate(stores)
    assert result.stores == {
        "global": {"edges": None, "x": 1, "percepts": [fact("u", 0.9, producer="user")]},
        "session": {"percepts": [], "edges": []},
        "archive": {},
    }


def test_both_stores() -> None:
    """F7: a percept in both stores is for the loader to heal, not for the model."""
    with pytest.raises(ValueError, match="'a'"):
        consolidate(memory([fact("a", 0.5)], [fact("a", 0.5)]))


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T05:30:00.5+05:30", 500_000_000),
        ("1969-12-31T16:00:00.000000001-08:00", 1),
        ("2026-11-15T12:00:00Z", 1_794_744_000_000_000_000),
        ("0001-01-01T00:00:00Z", -62_135_596_800_000_000_000),
    ],
)
def test_instants(text: str, instant: int) -> None:
    """Section 18: times are exact to the nanosecond, in any zone."""
    assert parse_instant(text) == instant
    assert parse_instant(format_instant(instant)) == instant


@pytest.mark.parametrize("text", ["2026-11-15", "2026-11-15 12:00:00Z", "2026-11-15T12:00:00", "now"])
def test_no_instant(text: str) -> None:
    """Section 18: what is no RFC 3339 time is not guessed at."""
    with pytest.raises(ValueError, match="not a time"):
        parse_instant(text)


def test_format() -> None:
    """Section 18: up to nine fraction digits, no trailing zeros, and `Z`."""
    assert format_instant(NOW) == "2026-11-15T12:00:00Z"
    assert format_instant(NOW + 120_000_000) == "2026-11-15T12:00:00.12Z"
    assert format_instant(NOW + 1) == "2026-11-15T12:00:00.000000001Z"


# Random memories


def test_generator_reaches_everything() -> None:
    """The random memories have every oddity and provoke every event, or comparing on them proves little."""
    seen: Counter[str] = Counter()
    for seed in range(400):
        case = memories.random_case(random.Random(seed))
        result = naive_pass(**case._asdict())
        seen.update({event for event, _ in result.changes})
        seen.update(name for name, count in result.counts.items() if count > 0)
        seen["unchanged"] += result.stores == case.stores
        for place in ("global", "session"):
            doc = case.stores[place]
            seen[f"edges in {place}"] += bool(doc.get("edges"))
            for key in ("percepts", "edges"):
                seen[f"{key} missing"] += key not in doc
                seen[f"{key} null"] += doc.get(key, ()) is None
                seen[f"{key} empty"] += doc.get(key) == []
            for percept in listed(doc, "percepts"):
                seen["out of range"] += weight(percept) != percept["w"]
                seen["core"] += percept.get("core") is True
                seen["whole w"] += isinstance(percept["w"], int)
                seen["null evidence"] += percept.get("evidence", 0) is None
                seen["at prune gate"] += abs(percept["w"] - case.knobs["prune_threshold"]) < 1e-8
                seen["at promote gate"] += abs(percept["w"] - case.knobs["promote_threshold"]) < 1e-8
                seen[percept["producer"]] += 1
            for one in listed(doc, "edges"):
                seen[one["relation"]] += 1
                seen["loop"] += one["from"] == one["to"]
                seen["dangling"] += "ghost" in (one["from"], one["to"])
        gate = case.knobs["global_archive_after_days"] * DAY
        seen["at archive gate"] += any(
            idle(percept) == gate for percept in listed(result.stores["archive"], "percepts")
        )
        seen[case.knobs["edge_cadence"]] += 1
        seen["two clocks"] += case.elapsed["global"] != case.elapsed["session"]
        seen["edge already applied"] += bool(case.run["applied"])
    few = {what: count for what, count in seen.items() if count < 10}
    assert few == {}
    assert set(COUNTS) | {"boosted", "penalized", "deferred", "unchanged", "null evidence", "user"} <= set(
        seen
    )


def test_generator_is_deterministic() -> None:
    """The same seed makes the same memory, with valid knobs and each id once."""
    for seed in range(50):
        case = memories.random_case(random.Random(seed))
        assert case == memories.random_case(random.Random(seed))
        assert case.knobs.keys() == DEFAULTS.keys()
        assert 0 < case.knobs["prune_threshold"] < case.knobs["promote_threshold"] <= 1
        names = [percept["id"] for doc in case.stores.values() for percept in listed(doc, "percepts")]
        assert len(names) == len(set(names)) <= 33


@settings(deadline=None)
@given(memories.cases(clashes=True))
def test_arguments_stay(case: memories.Case) -> None:
    """Section 10: a pass is a function; it changes nothing that it is given, and says the same twice."""
    before = copy.deepcopy(case)
    assert naive_pass(**case._asdict()) == naive_pass(**case._asdict())
    assert case == before


@settings(deadline=None)
@given(memories.cases())
def test_nothing_is_lost(case: memories.Case) -> None:
    """A3: every percept is in exactly one file afterwards, and every edge in one of the three."""
    result = naive_pass(**case._asdict())
    before = [percept["id"] for doc in case.stores.values() for percept in listed(doc, "percepts")]
    assert sorted(where(result)) == sorted(before)
    kept = [one for doc in result.stores.values() for one in listed(doc, "edges")]
    for doc in case.stores.values():
        for one in listed(doc, "edges"):
            assert one in kept


@settings(deadline=None)
@given(memories.cases())
def test_core_stays(case: memories.Case) -> None:
    """Section 1: what is core keeps its fields; it can only move to the global store."""
    result = naive_pass(**case._asdict())
    for place in ("global", "session"):
        for percept in listed(case.stores[place], "percepts"):
            if percept.get("core") is True:
                after = found(result, percept["id"])
                assert weight(after) == weight(percept)
                assert after.get("evidence") == percept.get("evidence")
                assert where(result)[percept["id"]] in (place, "global")


@settings(deadline=None)
@given(memories.cases())
def test_evidence_once_a_run(case: memories.Case) -> None:
    """E2: a second pass of the same run awards nothing that the first has awarded."""
    first = naive_pass(**case._asdict())
    second = naive_pass(**case._replace(stores=first.stores, run=first.run)._asdict())
    for name in first.run["awarded"] & set(where(second)):
        assert found(second, name).get("evidence") == found(first, name).get("evidence")
