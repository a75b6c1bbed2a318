"""When the numbers apply: the pass, its steps in the record's order (section 10).

`consolidate` is one function over the stores, the knobs, the run, the instant and Δt. It decides; reading
and writing files is the business of `store`.
"""

from __future__ import annotations

from milkmem import instants, rules, runs
from milkmem.knobs import PER_RUN
from milkmem.memory import contradictions, live_edges
from milkmem.percept import (
    CONTRADICTS,
    EVICTED,
    GLOBAL,
    PRUNED,
    STALE,
    corroborate,
    idle_seconds,
    is_core,
    put,
    weight,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypedDict

    from milkmem.knobs import Knobs
    from milkmem.memory import Memory
    from milkmem.percept import Percept
    from milkmem.runs import Book, Moment, Run

    class Change(TypedDict):
        """What a pass did to one percept, as it is reported (section 16)."""

        id: str
        content: str
        event: str
        scope: str
        reason: str
        w_before: float
        w_after: float


COUNTS = ("decayed", "global_decayed", "pruned", "archived", "promoted", "promotion_deferred", "evicted")
METRICS_PREFIX = "milk.memory.consolidation."

PRUNED_EVENT = "pruned"
ARCHIVED_EVENT = "archived"
PROMOTED_EVENT = "promoted"
DEFERRED_EVENT = "deferred"
EVICTED_EVENT = "evicted"
BOOSTED_EVENT = "boosted"
PENALIZED_EVENT = "penalized"


class Elapsed:
    """Δt of one pass in running seconds, for the global store and for the session (R4)."""

    __slots__ = ("global_store", "session")

    def __init__(self, global_store: float, session: float) -> None:
        self.global_store = global_store
        self.session = session


class Report:
    """What a pass did: the counters of step 7, and the changes worth telling."""

    __slots__ = ("changes", "counts")

    def __init__(self) -> None:
        self.counts = dict.fromkeys(COUNTS, 0)
        self.changes: list[Change] = []

    def note(self, percept: Percept, event: str, scope: str, reason: str, w_before: float) -> None:
        """Add one change; `w_before` is w before the step that made it."""
        self.changes.append(
            {
                "id": percept["id"],
                "content": percept["content"],
                "event": event,
                "scope": scope,
                "reason": reason,
                "w_before": w_before,
                "w_after": weight(percept),
            }
        )


class Outcome:
    """One pass of a run: its report, the Δt it took, and the stores whose measured Δt was cut (R4)."""

    __slots__ = ("cut", "elapsed", "report")

    def __init__(self, report: Report, elapsed: Elapsed, cut: list[str]) -> None:
        self.report = report
        self.elapsed = elapsed
        self.cut = cut


def consolidate_run(
    memory: Memory, knobs: Knobs, book: Book, run: Run, *, now: Moment, stated: float | None
) -> Outcome:
    """Do one pass of a run and set its clocks (R4).

    `stated` is Δt for both stores in seconds, None to measure it. The run must have named the session.
    """
    since = runs.last_global_pass(book, run)
    cut = []
    if stated is None:
        global_store, global_cut = runs.elapsed(book, run, GLOBAL, now)
        session, session_cut = runs.elapsed(book, run, memory.session, now)
        cut = [store for store, was in ((GLOBAL, global_cut), (memory.session, session_cut)) if was]
        elapsed = Elapsed(global_store, session)
    else:
        elapsed = Elapsed(stated, stated)
    report = consolidate(memory, knobs, run, now=now.at, global_since=since, elapsed=elapsed)
    runs.passed(book, memory.session, now)
    return Outcome(report, elapsed, cut)


def consolidate(
    memory: Memory, knobs: Knobs, run: Run, *, now: int, global_since: int, elapsed: Elapsed
) -> Report:
    """Do one pass and report it; `memory` and `run` are changed in place (section 10).

    `now` is the instant of the pass and `global_since` that of the global pass before, both in nanoseconds
    since the epoch.
    """
    report = Report()
    _decay(memory, knobs, report, now, global_since, elapsed)
    _propagate_edges(memory, knobs, run, report)
    _prune(memory, knobs, report, now)
    _archive_stale(memory, knobs, report, now)
    _promote(memory, knobs, report)
    _evict(memory, knobs, report, now)
    return report


def _decay(
    memory: Memory, knobs: Knobs, report: Report, now: int, global_since: int, elapsed: Elapsed
) -> None:
    """Step 1: w of both stores decays with Δt; unused globals grow idle (D1 to D4)."""
    session = memory.session
    left = rules.session_halving(elapsed.session, knobs)
    report.counts["decayed"] = _decay_store(memory, session, left, 0.0, report)
    left = rules.global_halving(elapsed.global_store, knobs)
    report.counts["global_decayed"] = _decay_store(memory, GLOBAL, left, knobs.prune_threshold, report)
    if elapsed.global_store > 0:
        for percept in memory.percepts(GLOBAL):
            if not is_core(percept) and not _used_since(percept, global_since, now):
                memory.mend(percept)
                put(percept, "idle_seconds", idle_seconds(percept) + elapsed.global_store)
                memory.changed.add(GLOBAL)


def _decay_store(memory: Memory, store: str, left: float, floor: float, report: Report) -> int:
    if left == 1.0:
        return 0
    count = 0
    for percept in memory.percepts(store):
        if percept.get("core") is True:
            continue
        w = weight(percept)
        decayed = rules.decay(w, left, floor)
        if decayed != w:
            memory.mend(percept)
            percept["w"] = decayed
            count += 1
    if count:
        memory.changed.add(store)
    return count


def _used_since(percept: Percept, since: int, now: int) -> bool:
    last_used_at = percept.get("last_used_at")
    return last_used_at is not None and min(instants.parse(last_used_at), now) > since


def _propagate_edges(memory: Memory, knobs: Knobs, run: Run, report: Report) -> None:
    """Step 2: live edges act on their ends, and positive ones award evidence (E1 to E3).

    Edges are counted, not added up one by one, so that their order cannot show in the last bit of w.
    """
    positive: dict[str, int] = {}
    contradicting: dict[str, int] = {}
    for key in live_edges(memory):
        if knobs.edge_cadence == PER_RUN:
            if key in run.applied:
                continue
            run.applied.add(key)
        relation, source, target = key
        if relation == CONTRADICTS:
            contradicting[source] = contradicting.get(source, 0) + 1
            contradicting[target] = contradicting.get(target, 0) + 1
        else:
            positive[target] = positive.get(target, 0) + 1
    acted_on = positive.keys() | contradicting.keys()
    for store in memory.live() if acted_on else ():
        for percept in memory.percepts(store):
            percept_id = percept["id"]
            if percept_id in acted_on and not is_core(percept):
                delta = rules.edge_delta(positive.get(percept_id, 0), contradicting.get(percept_id, 0))
                gained = percept_id in positive and run.award(percept_id)
                if _act(memory, store, percept, delta, gained, report):
                    memory.changed.add(store)


def _act(memory: Memory, store: str, percept: Percept, delta: float, gained: bool, report: Report) -> bool:
    """Apply the summed delta of a percept's edges and an award of evidence; return whether it changed."""
    before, scope = weight(percept), memory.scope(store)
    after = rules.clamped(before + delta)
    if not gained and after == before:
        return False
    memory.mend(percept)
    percept["w"] = after
    if gained:
        corroborate(percept)
    if gained or after > before:
        report.note(percept, BOOSTED_EVENT, scope, "evidence" if gained else "edge", before)
    if after < before:
        report.note(percept, PENALIZED_EVENT, scope, CONTRADICTS, before)
    return True


def _prune(memory: Memory, knobs: Knobs, report: Report, now: int) -> None:
    """Step 3: session percepts that faded to the prune threshold leave recall (A3)."""
    faded = {percept["id"] for percept in memory.percepts(memory.session) if rules.is_pruned(percept, knobs)}
    _leave(memory, memory.session, faded, PRUNED, PRUNED_EVENT, report, now)


def _archive_stale(memory: Memory, knobs: Knobs, report: Report, now: int) -> None:
    """Step 4: global percepts unused for too long are archived (A1)."""
    stale = {percept["id"] for percept in memory.percepts(GLOBAL) if rules.is_stale(percept, knobs)}
    _leave(memory, GLOBAL, stale, STALE, ARCHIVED_EVENT, report, now)


def _promote(memory: Memory, knobs: Knobs, report: Report) -> None:
    """Step 5: strong session percepts become global, if asserted or corroborated and not contradicted
    (P1 to P5).
    """
    strong = [percept for percept in memory.percepts(memory.session) if rules.strong_enough(percept, knobs)]
    if not strong:
        return
    contradicted = contradictions(memory)
    rising = set()
    for percept in strong:
        held = rules.held_by(percept, percept["id"] in contradicted)
        w = weight(percept)
        if held:
            report.counts["promotion_deferred"] += 1
            report.note(percept, DEFERRED_EVENT, memory.scope(memory.session), held, w)
        else:
            rising.add(percept["id"])
            reason = rules.BY_ASSERTION if rules.asserted(percept) else rules.BY_EVIDENCE
            report.note(percept, PROMOTED_EVENT, memory.scope(memory.session), reason, w)
    report.counts["promoted"] = len(rising)
    memory.promote(rising)


def _evict(memory: Memory, knobs: Knobs, report: Report, now: int) -> None:
    """Step 6: while the global store is over its cap, the lowest in rank leave it; core never (A2)."""
    percepts = memory.percepts(GLOBAL)
    excess = len(percepts) - knobs.percept_store_max if knobs.percept_store_max else 0
    if excess <= 0:
        return
    ranked = sorted(
        (percept for percept in percepts if not is_core(percept)),
        key=lambda percept: (-rules.rank_score(percept, now, knobs), percept["id"]),
    )
    lowest = {percept["id"] for percept in ranked[-excess:]}
    _leave(memory, GLOBAL, lowest, EVICTED, EVICTED_EVENT, report, now)


def _leave(
    memory: Memory, store: str, leaving: set[str], reason: str, event: str, report: Report, now: int
) -> None:
    """Move percepts to the archive and report each."""
    for percept in memory.archive(store, leaving, reason, now):
        report.counts[event] += 1
        report.note(percept, event, memory.scope(store), reason, weight(percept))
