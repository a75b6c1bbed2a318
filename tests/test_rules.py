"""The formulas and gates of the model (sections 5 to 9), and a percept's standing made of them."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from builders import DAY, NOW, ago, archived, percept
from milkmem import knobs as knobs_module
from milkmem import rules, standing
from milkmem.knobs import KNOBS, Knobs
from milkmem.percept import (
    ARCHIVE,
    FIELDS,
    GLOBAL,
    SESSION,
    birth_weight,
    corroborate,
    evidence,
    idle_seconds,
    is_core,
    put,
    take,
    weight,
)

KNOWN = Knobs()
CLOSE = 1e-9


def close(number: float) -> Any:
    """Return what equals a number to 1e-9."""
    return pytest.approx(number, abs=CLOSE, rel=0)


# Percepts


@pytest.mark.parametrize(
    ("producer", "core", "w"),
    [
        ("primary", False, 0.7),
        ("escalation", False, 0.7),
        ("local", False, 0.7),
        ("claude", False, 0.7),
        ("someone", False, 0.7),
        ("user", False, 0.9),
        ("system", False, 0.4),
        ("user", True, 1.0),
        ("system", True, 1.0),
        ("primary", True, 1.0),
    ],
)
def test_birth_weights(producer: str, core: bool, w: float) -> None:
    """S1: core is born at 1.0, user at 0.9, system at 0.4, everything else at 0.7."""
    assert birth_weight(producer, core) == w


@pytest.mark.parametrize(("core", "exempt"), [(True, True), (False, False), (None, False)])
def test_core_field(core: bool | None, exempt: bool) -> None:
    """F3: null in `core` means absent."""
    assert is_core(percept("a", core=core)) is exempt
    assert not is_core(percept("a"))


@pytest.mark.parametrize(
    ("stored", "w"), [(-0.25, 0.0), (0, 0), (0.0, 0.0), (0.5, 0.5), (1, 1), (1.0, 1.0), (1.5, 1.0), (3, 1.0)]
)
def test_weight_is_clamped(stored: float, w: float) -> None:
    """F7: a w outside [0,1] is clamped in use."""
    assert weight(percept("a", stored)) == w


@pytest.mark.parametrize(("stored", "count"), [(None, 0), (0, 0), (1, 1), (7, 7)])
def test_evidence_field(stored: int | None, count: int) -> None:
    """F3: missing and null evidence mean 0."""
    assert evidence(percept("a", evidence=stored)) == count
    assert evidence(percept("a")) == 0


@pytest.mark.parametrize(
    ("stored", "count"), [(None, 1), (0, 1), (1, 2), (2**63 - 2, 2**63 - 1), (2**63 - 1, 2**63 - 1)]
)
def test_corroborate(stored: int | None, count: int) -> None:
    """F3, Z7: evidence grows by one, up to the largest number that milk can load."""
    made = percept("a", evidence=stored)
    corroborate(made)
    assert made["evidence"] == count
    fresh = percept("a", idle_seconds=1.0)
    corroborate(fresh)
    assert list(fresh)[-2:] == ["evidence", "idle_seconds"]


@pytest.mark.parametrize(("stored", "seconds"), [(None, 0.0), (0, 0.0), (0.5, 0.5), (90, 90.0)])
def test_idle_field(stored: float | None, seconds: float) -> None:
    """F3: missing and null idle seconds mean 0."""
    assert idle_seconds(percept("a", idle_seconds=stored)) == seconds
    assert idle_seconds(percept("a")) == 0.0


def test_put_in_place() -> None:
    """F4: a field that was missing goes to its place in the order of the table, unknown ones aside."""
    made: Any = {"id": "a", "x": 1, "content": "c", "producer": "p", "w": 0.5, "updated_at": ago(0), "y": 2}
    put(made, "consumer", "primary")
    put(made, "evidence", 1)
    put(made, "core", True)
    put(made, "created_at", ago(1))
    put(made, "last_used_at", ago(0))
    put(made, "idle_seconds", 5.0)
    assert list(made) == [
        *("id", "x", "content", "producer", "consumer", "w", "created_at", "updated_at", "y"),
        *("core", "evidence", "idle_seconds", "last_used_at"),
    ]
    assert made["evidence"] == 1


def test_put_before_unknown_fields() -> None:
    """F4: an unknown field behind the place stays behind it, in its order."""
    made: Any = percept("a", last_used_at=ago(0), x=1, archived={}, y=2)
    put(made, "evidence", 3)
    assert list(made)[5:] == ["evidence", "last_used_at", "x", "archived", "y"]


def test_put_stays() -> None:
    """F4: a field that is there keeps its place, even where milk would not have written it."""
    made: Any = {"w": 0.5, "evidence": None, "id": "a"}
    put(made, "evidence", 1)
    put(made, "w", 0.25)
    assert list(made.items()) == [("w", 0.25), ("evidence", 1), ("id", "a")]


def test_take() -> None:
    """F4: taking a field leaves the others in their order; one that is missing is no fault."""
    made: Any = percept("a", idle_seconds=1.0, last_used_at=ago(0))
    take(made, "idle_seconds")
    take(made, "idle_seconds")
    assert list(made) == ["id", "content", "producer", "w", "updated_at", "last_used_at"]


def test_fields_of_the_table() -> None:
    """F3: the order of writing is the table's."""
    assert (
        *("id", "content", "producer", "consumer", "w", "roles", "engram_id", "created_at", "updated_at"),
        *("core", "evidence", "idle_seconds", "last_used_at", "archived"),
    ) == FIELDS


# Knobs


def test_defaults() -> None:
    """Section 3: the defaults are the record's, and the constants that are no knobs too."""
    assert {name: getattr(KNOWN, name) for name in KNOBS} == {
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
    assert knobs_module.EVIDENCE_STEP == 0.05
    assert knobs_module.EVIDENCE_CAP == 4
    assert knobs_module.PROMOTION_EVIDENCE == 2
    assert knobs_module.POSITIVE_EDGE == 0.05
    assert knobs_module.CONTRADICTION == -0.10
    assert knobs_module.GATE_TOLERANCE == 1e-9
    assert knobs_module.MEASURED_ELAPSED_LIMIT == 24 * 3600
    assert knobs_module.RUN_KEPT_DAYS == 30
    assert knobs_module.CONTENT_LIMIT_BYTES == 16_384


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        *(
            (name, 0, knob.default)
            for name, knob in KNOBS.items()
            if type(knob.default) in (int, float)  # zero is the default
        ),
        ("session_half_life_days", -0.0, 3.0),
        ("session_half_life_days", 2, 2.0),
        ("session_half_life_days", 1e-6, 1e-6),
        ("percept_inject_max", 3.0, 3),
        ("percept_inject_max", -1, -1),
        ("percept_inject_max_bytes", -1, -1),
        ("percept_store_max", 7, 7),
        ("global_archive_after_days", -1, -1.0),
        ("promote_threshold", 1, 1.0),
        ("percept_relevance_gate", False, False),
        ("percept_relevance_gate", True, True),
        ("edge_cadence", "run", "run"),
        ("edge_cadence", "pass", "pass"),
    ],
)
def test_knob_takes(name: str, given: object, value: object) -> None:
    """Section 3: zero means the default, a whole number is a number, `false` is not zero."""
    taken = KNOBS[name].read(given)
    assert taken == value
    assert type(taken) is type(KNOBS[name].default)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("session_half_life_days", -1, "above 0"),
        ("session_half_life_days", "abc", "a number"),
        ("session_half_life_days", True, "a number"),
        ("session_half_life_days", None, "a number"),
        ("session_half_life_days", math.inf, "a finite number"),
        ("session_half_life_days", math.nan, "a finite number"),
        ("session_half_life_days", 10**400, "a finite number"),
        ("global_archive_after_days", -2, "above 0, or -1 for never"),
        ("reconfirm_cap", 1.0000001, "above 0, at most 1"),
        ("prune_threshold", -0.1, "above 0, at most 1"),
        ("percept_inject_max", 2.5, "a whole number"),
        ("percept_inject_max", True, "a whole number"),
        ("percept_inject_max", math.inf, "a whole number"),
        ("percept_inject_max", -2, "a whole number above 0, or -1 for no limit"),
        ("percept_inject_max_bytes", -2, "a whole number above 0, or -1 for no limit"),
        ("percept_store_max", -1, "a whole number, 0 for no cap"),
        ("percept_relevance_gate", 0, "true or false"),
        ("percept_relevance_gate", "no", "true or false"),
        ("edge_cadence", "turn", '"pass" or "run"'),
        ("edge_cadence", 0, "a text in quotes"),
    ],
)
def test_knob_refuses(name: str, given: object, words: str) -> None:
    """K1: a wrong type, a number that is not finite and a value out of bounds are refused, with the bound."""
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        KNOBS[name].read(given)


def test_knobs_by_name() -> None:
    """K1: knobs are replaced by name, each object has its own, and a name that is none is refused."""
    changed = Knobs(reconfirm_boost=0.1)
    assert (changed.reconfirm_boost, changed.reconfirm_cap, Knobs().reconfirm_boost) == (0.1, 0.9, 0.05)
    assert all(knob.name == name and knob.meaning.endswith(".") for name, knob in KNOBS.items())
    with pytest.raises(TypeError, match="decay_per_session"):
        Knobs(decay_per_session=0.1)


# Gates


@pytest.mark.parametrize(
    ("w", "passes"),
    [
        (0.8, True),
        (0.8 - 9e-10, True),
        (0.8 - 1.1e-9, False),
        (0.9, True),
        (0.7, False),
        (0.7 + 0.05 + 0.05, True),
    ],
)
def test_reaches(w: float, passes: bool) -> None:
    """W3: a gate w ≥ t holds from t − 1e-9 on."""
    assert rules.reaches(w, 0.8) is passes


@pytest.mark.parametrize(
    ("w", "passes"), [(0.2, True), (0.2 + 9e-10, True), (0.2 + 1.1e-9, False), (0.1, True), (0.3, False)]
)
def test_sinks_to(w: float, passes: bool) -> None:
    """W3: a gate w ≤ t holds up to t + 1e-9."""
    assert rules.sinks_to(w, 0.2) is passes


def test_float_noise_misses_no_gate() -> None:
    """W3: 0.7 − 5·0.1 is more than 0.2 by float noise, and passes the prune gate all the same."""
    w = 0.7
    for _ in range(5):
        w -= 0.1
    assert w != 0.2
    assert rules.sinks_to(w, 0.2)
    assert w == close(0.2)


# Rank


@pytest.mark.parametrize(
    ("days", "boost", "half_life", "r"),
    [
        (0, 0.1, 30, 0.1),
        (30, 0.1, 30, 0.05),
        (60, 0.1, 30, 0.025),
        (15, 0.1, 30, 0.070710678118654),
        (7, 2.0, 7, 1.0),
        (-30, 0.1, 30, 0.1),
        (-1e-9, 0.1, 30, 0.1),
    ],
)
def test_recency(days: float, boost: float, half_life: float, r: float) -> None:
    """W1: recency halves with each half-life of calendar age since `updated_at`; the future is age 0."""
    known = Knobs(recency_boost=boost, recency_half_life_days=float(half_life))
    assert rules.recency(ago(days), NOW, known) == close(r)


def test_recency_reads_zones() -> None:
    """W1: age counts from the instant, whatever zone it is written in."""
    known = Knobs(recency_half_life_days=1.0)
    assert rules.recency("2026-11-14T17:30:00+05:30", NOW, known) == close(0.05)


def test_recency_of_a_time_never_set() -> None:
    """W1: milk's zero time is very old, and no fault."""
    assert rules.recency("0001-01-01T00:00:00Z", NOW, KNOWN) == close(0.0)


@pytest.mark.parametrize(("count", "e"), [(0, 0.0), (1, 0.05), (2, 0.1), (4, 0.2), (5, 0.2), (10**20, 0.2)])
def test_evidence_bonus(count: int, e: float) -> None:
    """W1: the evidence term is 0.05 for each run, four at most."""
    assert rules.evidence_bonus(count) == close(e)


@pytest.mark.parametrize(
    ("w", "days", "count", "score"),
    [
        (0.85, 0, 2, 0.85 * 1.1 * 1.1),
        (0.7, 30, 0, 0.735),
        (1.0, 30, 4, 1.26),
        (0.5, 60, 9, 0.615),
        (1.5, 30, 0, 1.05),
        (-1, 0, 4, 0.0),
    ],
)
def test_rank_score(w: float, days: float, count: int, score: float) -> None:
    """W1: rank_score = w · (1 + r) · (1 + e), with w as it is used."""
    ranked = percept("a", w, evidence=count, updated_at=ago(days))
    assert rules.rank_score(ranked, NOW, KNOWN) == close(score)


def test_rank_is_not_stored() -> None:
    """W1: rank is computed and never stored."""
    ranked = percept("a", 1.5, evidence=3)
    before = dict(ranked)
    rules.rank_score(ranked, NOW, KNOWN)
    assert ranked == before


@pytest.mark.parametrize("days", [-5, 0, 1, 400])
@pytest.mark.parametrize("count", [0, 3, 4, 9])
def test_most_rank_scores(days: float, count: int) -> None:
    """W1: no percept ranks above the bound of its w and evidence, and one updated now is at it."""
    ranked = percept("a", 0.9, evidence=count, updated_at=ago(days))
    (bound,) = rules.most_rank_scores([ranked], KNOWN)
    assert bound == close(0.9 * 1.1 * (1 + 0.05 * min(count, 4)))
    assert rules.rank_score(ranked, NOW, KNOWN) <= bound
    assert (rules.rank_score(ranked, NOW, KNOWN) == bound) is (days <= 0)


# Decay


@pytest.mark.parametrize(
    ("w", "days", "after"),
    [
        (0.7, 0, 0.7),
        (0.7, 3, 0.35),
        (0.9, 6, 0.225),
        (1.0, 1.5, 0.707106781186548),
        (0.7, 1 / 24, 0.693293403227),
        (0.0, 3, 0.0),
        (0.1, 3, 0.05),
        (0.7, 1e9, 0.0),
    ],
)
def test_session_decay(w: float, days: float, after: float) -> None:
    """D1: w ← w · 2^(−Δt / session half-life), with Δt in running days."""
    assert rules.decay(w, rules.session_halving(days * DAY, KNOWN), 0.0) == close(after)


@pytest.mark.parametrize(
    ("w", "days", "after"),
    [
        (0.8, 0, 0.8),
        (0.8, 60, 0.5),
        (1.0, 120, 0.4),
        (0.6, 30, 0.482842712474619),
        (0.2, 60, 0.2),
        (0.1, 60, 0.1),
        (0.0, 60, 0.0),
        (1.0, 1e9, 0.2),
    ],
)
def test_global_decay(w: float, days: float, after: float) -> None:
    """D2: w sinks towards the floor with the global half-life, and one below it is left alone."""
    assert rules.decay(w, rules.global_halving(days * DAY, KNOWN), 0.2) == close(after)


def test_half_lives_are_knobs() -> None:
    """D1, D2: each store has its own half-life."""
    known = Knobs(session_half_life_days=1.0, global_half_life_days=2.0)
    assert rules.session_halving(DAY, known) == close(0.5)
    assert rules.global_halving(4 * DAY, known) == close(0.25)


# Edges


@pytest.mark.parametrize(
    ("positive", "contradicting", "delta"),
    [(0, 0, 0.0), (1, 0, 0.05), (0, 1, -0.1), (3, 1, 0.05), (2, 1, 0.0), (14, 7, 0.0), (0, 12, -1.2)],
)
def test_edge_delta(positive: int, contradicting: int, delta: float) -> None:
    """E1: the deltas of one percept are summed."""
    assert rules.edge_delta(positive, contradicting) == close(delta)


@pytest.mark.parametrize(("w", "held"), [(-0.1, 0.0), (0.0, 0.0), (0.4, 0.4), (1.0, 1.0), (1.05, 1.0)])
def test_clamped(w: float, held: float) -> None:
    """E1: w is held in [0,1]."""
    assert rules.clamped(w) == held


# Recording


@pytest.mark.parametrize(
    ("w", "after"), [(0.7, 0.75), (0.85, 0.9), (0.88, 0.9), (0.9, 0.9), (0.95, 0.95), (1.0, 1.0), (0.0, 0.05)]
)
def test_reinforced(w: float, after: float) -> None:
    """S3: a restatement adds reconfirm_boost up to reconfirm_cap, and never lowers."""
    assert rules.reinforced(w, KNOWN) == close(after)


def test_reinforced_by_knobs() -> None:
    """S3: boost and cap are knobs."""
    known = Knobs(reconfirm_boost=0.3, reconfirm_cap=0.6)
    assert [rules.reinforced(w, known) for w in (0.1, 0.5, 0.7)] == [close(0.4), close(0.6), close(0.7)]


@pytest.mark.parametrize(("w", "after"), [(0.1, 0.25), (0.0, 0.25), (0.25, 0.25), (0.6, 0.6), (1.0, 1.0)])
def test_restored(w: float, after: float) -> None:
    """G3: a restored w is at least prune_threshold + reconfirm_boost."""
    assert rules.restored(w, KNOWN) == close(after)


def test_restored_stays_a_weight() -> None:
    """G3, F7: knobs that add up to more than 1 make no w above 1."""
    assert rules.restored(0.1, Knobs(prune_threshold=0.7, reconfirm_boost=0.9)) == 1.0


# Promotion and archiving


@pytest.mark.parametrize(
    ("fields", "fast"),
    [
        ({}, False),
        ({"producer": "user"}, True),
        ({"producer": "User"}, False),
        ({"producer": "system"}, False),
        ({"core": True}, True),
        ({"core": None}, False),
    ],
)
def test_fast_path(fields: dict[str, Any], fast: bool) -> None:
    """P1: core and what the user said are asserted."""
    assert rules.asserted(percept("a", **fields)) is fast


@pytest.mark.parametrize(
    ("w", "strong"), [(0.8, True), (0.8 - 5e-10, True), (0.79, False), (1.4, True), (-2, False)]
)
def test_strength_gate(w: float, strong: bool) -> None:
    """P1, P2: strength is raw w, clamped; evidence and recency do not help."""
    assert rules.strong_enough(percept("a", w, evidence=4), KNOWN) is strong


@pytest.mark.parametrize(("count", "passes"), [(0, False), (1, False), (2, True), (3, True)])
def test_evidence_gate(count: int, passes: bool) -> None:
    """P2: corroborated means evidence from two runs."""
    assert rules.corroborated(percept("a", evidence=count)) is passes


@pytest.mark.parametrize(
    ("fields", "contradicted", "held"),
    [
        ({}, False, "evidence"),
        ({"evidence": 1}, False, "evidence"),
        ({"evidence": 2}, False, ""),
        ({"producer": "user"}, False, ""),
        ({"core": True}, False, ""),
        ({"evidence": 2}, True, "contradiction"),
        ({"producer": "user"}, True, "contradiction"),
        ({"core": True}, True, "contradiction"),
        ({}, True, "contradiction"),
    ],
)
def test_held_by(fields: dict[str, Any], contradicted: bool, held: str) -> None:
    """P2, P3: evidence holds what nobody asserted; a contradiction holds everything."""
    assert rules.held_by(percept("a", 0.9, **fields), contradicted) == held


@pytest.mark.parametrize(
    ("w", "core", "pruned"),
    [
        (0.2, False, True),
        (0.2 + 5e-10, False, True),
        (0.21, False, False),
        (0.0, True, False),
        (-1, False, True),
    ],
)
def test_is_pruned(w: float, core: bool, pruned: bool) -> None:
    """A3, P1: a session percept at the prune threshold goes, core never."""
    assert rules.is_pruned(percept("a", w, core=core), KNOWN) is pruned


@pytest.mark.parametrize(
    ("days", "idle", "core", "stale"),
    [
        (14.0, 14 * DAY, False, True),
        (14.0, 14 * DAY - 0.001, False, False),
        (14.0, 15 * DAY, True, False),
        (1.0, DAY, False, True),
        (-1.0, 1000 * DAY, False, False),
    ],
)
def test_is_stale(days: float, idle: float, core: bool, stale: bool) -> None:
    """A1: a global is stale from global_archive_after_days on, −1 is never, core is exempt."""
    known = Knobs(global_archive_after_days=days)
    assert rules.is_stale(percept("a", core=core, idle_seconds=idle), known) is stale


# Standing


def test_rank_terms() -> None:
    """Section 15: rank is explained by its terms, whose product it is."""
    terms = standing.rank_terms(percept("a", 0.85, evidence=2, updated_at=ago(15)), NOW, KNOWN)
    assert terms == {
        "w": 0.85,
        "recency": close(0.070710678118654),
        "evidence_bonus": close(0.1),
        "score": close(1.001114484040942),
    }
    clamped = standing.rank_terms(percept("a", 3), NOW, KNOWN)
    assert clamped["w"] == 1.0


@pytest.mark.parametrize(
    ("scope", "w", "fields", "against", "eligible", "evidence_passed"),
    [
        (SESSION, 0.85, {"evidence": 2}, [], True, True),
        (SESSION, 0.85, {"evidence": 1}, [], False, False),
        (SESSION, 0.85, {"producer": "user"}, [], True, True),
        (SESSION, 0.85, {"core": True}, [], True, True),
        (SESSION, 0.79, {"evidence": 2}, [], False, True),
        (SESSION, 0.85, {"evidence": 2}, ["9c01d2e3"], False, True),
        (SESSION, 0.85, {"producer": "user"}, ["b", "c"], False, True),
        (GLOBAL, 0.85, {"evidence": 2}, [], False, True),
        (ARCHIVE, 0.85, {"evidence": 2}, [], False, True),
    ],
)
def test_promotion_standing(
    scope: str, w: float, fields: dict[str, Any], against: list[str], eligible: bool, evidence_passed: bool
) -> None:
    """P1 to P4: standing shows each gate, and only a session percept that passes all is eligible."""
    found = standing.promotion(percept("a", w, **fields), scope, against, KNOWN)
    assert found == {
        "eligible": eligible,
        "strength": {"value": w, "threshold": 0.8, "gap": max(0.0, 0.8 - w), "passed": w >= 0.8},
        "evidence": {
            "value": fields.get("evidence", 0),
            "threshold": 2,
            "gap": max(0, 2 - fields.get("evidence", 0)),
            "passed": evidence_passed,
        },
        "asserted": "producer" in fields or "core" in fields,
        "contradicted_by": against,
    }


@pytest.mark.parametrize(
    ("scope", "w", "fields", "prune", "archive"),
    [
        (SESSION, 0.7, {}, 5.42206476617281, None),
        (SESSION, 0.85, {}, 6.262388523751, None),
        (SESSION, 0.2, {}, 0.0, None),
        (SESSION, 0.1, {}, 0.0, None),
        (SESSION, 0.7, {"core": True}, None, None),
        (GLOBAL, 0.7, {}, None, 14.0),
        (GLOBAL, 0.7, {"idle_seconds": 2.8 * DAY}, None, 11.2),
        (GLOBAL, 0.7, {"idle_seconds": 20 * DAY}, None, 0.0),
        (GLOBAL, 0.7, {"core": True, "idle_seconds": DAY}, None, None),
        (ARCHIVE, 0.7, {}, None, None),
    ],
)
def test_forecast(
    scope: str, w: float, fields: dict[str, Any], prune: float | None, archive: float | None
) -> None:
    """Section 15: a session percept fades in half-life · log2(w / threshold) days; a global idles."""
    found = standing.forecast(percept("a", w, **fields), scope, KNOWN)
    assert found == {
        "prune_in_running_days": None if prune is None else close(prune),
        "archive_in_running_days": None if archive is None else close(archive),
    }


def test_forecast_without_archiving() -> None:
    """Section 3: with −1 no global is ever archived."""
    found = standing.forecast(percept("a"), GLOBAL, Knobs(global_archive_after_days=-1.0))
    assert found == {"prune_in_running_days": None, "archive_in_running_days": None}


def test_forecast_by_knobs() -> None:
    """D1, A1: the forecast follows the knobs."""
    known = Knobs(session_half_life_days=1.0, prune_threshold=0.1, global_archive_after_days=2.0)
    assert standing.forecast(percept("a", 0.8), SESSION, known)["prune_in_running_days"] == close(3.0)
    assert standing.forecast(percept("a"), GLOBAL, known)["archive_in_running_days"] == close(2.0)


@pytest.mark.parametrize(
    ("scope", "w", "fields", "contradicted", "word"),
    [
        (ARCHIVE, 0.7, {"core": True}, True, "stale"),
        (SESSION, 0.7, {}, True, "contested"),
        (GLOBAL, 0.7, {"core": True}, True, "contested"),
        (GLOBAL, 1.0, {"core": True}, False, "core"),
        (SESSION, 1.0, {"core": True}, False, "core"),
        (GLOBAL, 0.7, {}, False, "lasting"),
        (GLOBAL, 0.7, {"idle_seconds": 7 * DAY}, False, "lasting"),
        (GLOBAL, 0.7, {"idle_seconds": 7 * DAY + 1}, False, "stale"),
        (SESSION, 0.7, {}, False, "fading"),
        (SESSION, 0.7, {"evidence": 1}, False, "rising"),
        (SESSION, 0.85, {"producer": "user"}, False, "rising"),
        (SESSION, 0.75, {"producer": "user"}, False, "fading"),
        (SESSION, 0.9, {}, False, "fading"),
    ],
)
def test_word(scope: str, w: float, fields: dict[str, Any], contradicted: bool, word: str) -> None:
    """Section 15: one word says where a percept stands."""
    made = archived("a", w, **fields) if scope == ARCHIVE else percept("a", w, **fields)
    assert standing.word(made, scope, contradicted, KNOWN) == word


def test_word_without_archiving() -> None:
    """Section 3: where nothing is ever archived, nothing global is stale."""
    known = Knobs(global_archive_after_days=-1.0)
    assert standing.word(percept("a", idle_seconds=900 * DAY), GLOBAL, False, known) == "lasting"
