"""What the numbers are: the formulas and gates of the model, one function each (sections 5 to 9).

When they apply is the business of `consolidate`. Nothing here reads a clock, a file or the environment;
times are nanoseconds since the epoch, running time is in seconds, weights are in [0,1].
"""

from __future__ import annotations

import math

from milkmem import instants
from milkmem.instants import NANOSECONDS, SECONDS_PER_DAY
from milkmem.knobs import (
    CONTRADICTION,
    EVIDENCE_CAP,
    EVIDENCE_STEP,
    GATE_TOLERANCE,
    NEVER,
    POSITIVE_EDGE,
    PROMOTION_EVIDENCE,
)
from milkmem.percept import USER, evidence, idle_seconds, is_core, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from milkmem.knobs import Knobs
    from milkmem.percept import Percept


# Gates


def reaches(w: float, threshold: float) -> bool:
    """Return whether w ≥ threshold, float noise aside (W3)."""
    return w >= threshold - GATE_TOLERANCE


def sinks_to(w: float, threshold: float) -> bool:
    """Return whether w ≤ threshold, float noise aside (W3)."""
    return w <= threshold + GATE_TOLERANCE


# Rank


def recency(updated_at: str, now: int, knobs: Knobs) -> float:
    """Return the recency term r of rank: its boost, halved once per half-life of calendar age (W1)."""
    age = max(0, now - instants.parse(updated_at)) / NANOSECONDS
    days: float = age / SECONDS_PER_DAY
    return knobs.recency_boost * halving(days, knobs.recency_half_life_days)


def evidence_bonus(count: int) -> float:
    """Return the evidence term e of rank (W1)."""
    return EVIDENCE_STEP * min(count, EVIDENCE_CAP)


def rank_score(percept: Percept, now: int, knobs: Knobs) -> float:
    """Return w · (1 + r) · (1 + e), the one order of recall, eviction and injection (W1, W2)."""
    r = recency(percept["updated_at"], now, knobs)
    return weight(percept) * (1 + r) * (1 + evidence_bonus(evidence(percept)))


def most_rank_scores(percepts: Iterable[Percept], knobs: Knobs) -> list[float]:
    """Return for each percept a bound that its rank_score never exceeds, whatever its age (W1)."""
    newest = 1 + knobs.recency_boost
    proved = [1 + evidence_bonus(count) for count in range(EVIDENCE_CAP + 1)]
    return [weight(each) * newest * proved[min(evidence(each), EVIDENCE_CAP)] for each in percepts]


# Decay


def halving(passed: float, half_life: float) -> float:
    """Return 2^(−passed / half_life), the part that is left; both in the same unit."""
    return math.exp2(-passed / half_life)


def session_halving(elapsed: float, knobs: Knobs) -> float:
    """Return what `elapsed` running seconds leave of a session percept's w (D1)."""
    return halving(elapsed / SECONDS_PER_DAY, knobs.session_half_life_days)


def global_halving(elapsed: float, knobs: Knobs) -> float:
    """Return what `elapsed` running seconds leave of a global percept's w above the floor (D2)."""
    return halving(elapsed / SECONDS_PER_DAY, knobs.global_half_life_days)


def decay(w: float, left: float, floor: float) -> float:
    """Return w with its part above the floor scaled by `left`; never raised (D1 with floor 0, D2)."""
    return floor + (w - floor) * left if w > floor else w


# Edges


def edge_delta(positive: int, contradicting: int) -> float:
    """Return what so many live edges of either kind add to one percept's w, summed (E1)."""
    return positive * POSITIVE_EDGE + contradicting * CONTRADICTION


def clamped(w: float) -> float:
    """Return w held in [0,1]."""
    return min(1.0, max(0.0, w))


# Recording


def reinforced(w: float, knobs: Knobs) -> float:
    """Return w after a restatement: raised by the boost up to the cap, never lowered (S3)."""
    return max(w, min(w + knobs.reconfirm_boost, knobs.reconfirm_cap))


def restored(w: float, knobs: Knobs) -> float:
    """Return w after a restore: just above the prune threshold at least (G3)."""
    return max(w, clamped(knobs.prune_threshold + knobs.reconfirm_boost))


# Promotion and archiving

BY_ASSERTION = "assertion"
BY_EVIDENCE = "evidence"
HELD_BY_EVIDENCE = "evidence"
HELD_BY_CONTRADICTION = "contradiction"


def asserted(percept: Percept) -> bool:
    """Return whether the fast path is open: core, or said by the user (P1)."""
    return is_core(percept) or percept["producer"] == USER


def strong_enough(percept: Percept, knobs: Knobs) -> bool:
    """Return whether w passes the strength gate of promotion (P1, P2)."""
    return reaches(weight(percept), knobs.promote_threshold)


def corroborated(percept: Percept) -> bool:
    """Return whether the evidence gate of promotion is passed (P2)."""
    return evidence(percept) >= PROMOTION_EVIDENCE


def held_by(percept: Percept, contradicted: bool) -> str:
    """Return what holds back a percept that is strong enough, or "" (P2, P3)."""
    if contradicted:
        return HELD_BY_CONTRADICTION
    return "" if asserted(percept) or corroborated(percept) else HELD_BY_EVIDENCE


def is_pruned(percept: Percept, knobs: Knobs) -> bool:
    """Return whether a session percept has faded out of recall (A3)."""
    return not is_core(percept) and sinks_to(weight(percept), knobs.prune_threshold)


def is_stale(percept: Percept, knobs: Knobs) -> bool:
    """Return whether a global percept went unused for too much running time (A1)."""
    limit = knobs.global_archive_after_days
    return limit != NEVER and not is_core(percept) and idle_seconds(percept) >= limit * SECONDS_PER_DAY


# What comes next


def running_days_to_prune(percept: Percept, knobs: Knobs) -> float:
    """Return the running days until decay alone takes a session percept to the prune threshold (D1)."""
    w = weight(percept)
    if sinks_to(w, knobs.prune_threshold):
        return 0.0
    return knobs.session_half_life_days * math.log2(w / knobs.prune_threshold)


def running_days_to_archive(percept: Percept, knobs: Knobs) -> float:
    """Return the running days until a global percept is archived unless used (A1)."""
    return max(0.0, knobs.global_archive_after_days - idle_seconds(percept) / SECONDS_PER_DAY)
