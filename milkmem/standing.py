"""Why a percept ranks where it does and what happens to it next, as numbers with their terms (section 15)."""

from __future__ import annotations

from milkmem import rules
from milkmem.knobs import NEVER, PROMOTION_EVIDENCE
from milkmem.percept import ARCHIVE, GLOBAL, SESSION, evidence, is_core, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from milkmem.knobs import Knobs
    from milkmem.percept import Percept

    class RankTerms(TypedDict):
        """The terms of rank_score, and their product (W1)."""

        w: float
        recency: float
        evidence_bonus: float
        score: float

    class Gate(TypedDict):
        """One gate: the value, the threshold, what the one is short of the other, and whether it passes."""

        value: float
        threshold: float
        gap: float
        passed: bool

    class Promotion(TypedDict):
        """The gates of promotion; `eligible` is their verdict for a session percept (P1 to P4)."""

        eligible: bool
        strength: Gate
        evidence: Gate
        asserted: bool
        contradicted_by: list[str]

    class Forecast(TypedDict):
        """Running days to the next loss if nothing is said or used, None where it never comes."""

        prune_in_running_days: float | None
        archive_in_running_days: float | None


CORE_WORD = "core"
LASTING = "lasting"
RISING = "rising"
FADING = "fading"
CONTESTED = "contested"
STALE_WORD = "stale"


def rank_terms(percept: Percept, now: int, knobs: Knobs) -> RankTerms:
    """Return the terms of a percept's rank_score (W1)."""
    return {
        "w": weight(percept),
        "recency": rules.recency(percept["updated_at"], now, knobs),
        "evidence_bonus": rules.evidence_bonus(evidence(percept)),
        "score": rules.rank_score(percept, now, knobs),
    }


def promotion(percept: Percept, scope: str, contradicted_by: list[str], knobs: Knobs) -> Promotion:
    """Return each gate of promotion with its value and threshold (P1 to P3)."""
    strong = rules.strong_enough(percept, knobs)
    asserted = rules.asserted(percept)
    held = rules.held_by(percept, len(contradicted_by) > 0) != ""
    return {
        "eligible": scope == SESSION and strong and not held,
        "strength": {
            "value": weight(percept),
            "threshold": knobs.promote_threshold,
            "gap": max(0.0, knobs.promote_threshold - weight(percept)),
            "passed": strong,
        },
        "evidence": {
            "value": evidence(percept),
            "threshold": PROMOTION_EVIDENCE,
            "gap": max(0, PROMOTION_EVIDENCE - evidence(percept)),
            "passed": asserted or rules.corroborated(percept),
        },
        "asserted": asserted,
        "contradicted_by": contradicted_by,
    }


def forecast(percept: Percept, scope: str, knobs: Knobs) -> Forecast:
    """Return when decay alone prunes a session percept and when idling alone archives a global one."""
    prune = archive = None
    if not is_core(percept):
        if scope == SESSION:
            prune = rules.running_days_to_prune(percept, knobs)
        if scope == GLOBAL and knobs.global_archive_after_days != NEVER:
            archive = rules.running_days_to_archive(percept, knobs)
    return {"prune_in_running_days": prune, "archive_in_running_days": archive}


def word(percept: Percept, scope: str, contradicted: bool, knobs: Knobs) -> str:
    """Return the one word for where a percept stands.

    stale: in the archive, or global and unused for more than half of the time to archiving; contested: at an
    end of a live contradiction; lasting: global; rising: of the session, and corroborated or ready to be
    promoted; fading: of the session otherwise.
    """
    if scope == ARCHIVE:
        return STALE_WORD
    if contradicted:
        return CONTESTED
    if is_core(percept):
        return CORE_WORD
    if scope == GLOBAL:
        left = forecast(percept, scope, knobs)["archive_in_running_days"]
        return STALE_WORD if left is not None and left < knobs.global_archive_after_days / 2 else LASTING
    ready = rules.strong_enough(percept, knobs) and rules.asserted(percept)
    return RISING if ready or evidence(percept) > 0 else FADING
