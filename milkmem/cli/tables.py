"""What commands print at a terminal: rows with shortened ids, ages in words, reasons in words (X4, X7)."""

from __future__ import annotations

from milkmem import instants, rules, standing
from milkmem.cli import render
from milkmem.cli.output import Screen
from milkmem.cli.plain import ago
from milkmem.cli.targets import printed_ids, ways_out
from milkmem.consolidate import (
    ARCHIVED_EVENT,
    BOOSTED_EVENT,
    DEFERRED_EVENT,
    PENALIZED_EVENT,
    PROMOTED_EVENT,
    PRUNED_EVENT,
)
from milkmem.knobs import PER_RUN, PROMOTION_EVIDENCE
from milkmem.memory import contradicting_pairs, contradictions
from milkmem.percept import evidence, weight
from milkmem.rules import BY_EVIDENCE, HELD_BY_CONTRADICTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from milkmem.cli.setup import Setup
    from milkmem.cli.targets import Candidate
    from milkmem.consolidate import Change, Report
    from milkmem.knobs import Knobs
    from milkmem.memory import Memory
    from milkmem.percept import Edge, Percept
    from milkmem.simulate import Event


def print_table(
    setup: Setup, memory: Memory, rows: list[tuple[Percept, str]], stream: TextIO | None = None
) -> None:
    """Print percepts, each with its scope, as a table fitted to the terminal."""
    ids = printed_ids(memory)
    contested = contradictions(memory)
    now, knobs = setup.now.at, setup.knobs
    render.percept_table(
        [
            render.Row(
                id=ids[percept["id"]],
                scope=scope,
                w=weight(percept),
                rank=rules.rank_score(percept, now, knobs),
                evidence=evidence(percept),
                age=ago(instants.parse(percept["updated_at"]), now),
                standing=standing.word(percept, scope, percept["id"] in contested, knobs),
                content=percept["content"],
            )
            for percept, scope in rows
        ],
        **Screen(setup.call, stream).layout(),
    )


def print_percept(
    setup: Setup, memory: Memory, chosen: Candidate, lines: list[tuple[str, str]], edges: list[Edge]
) -> None:
    """Print one percept in full, with the lines that explain it and its edges as a tree (section 15)."""
    ids = printed_ids(memory)
    contents = {
        percept["id"]: percept["content"] for name in memory.files for percept in memory.percepts(name)
    }
    contested = chosen.id in contradictions(memory)
    rows = []
    for edge in edges:
        outgoing = edge.get("from") == chosen.id
        other = (edge.get("to") if outgoing else edge.get("from")) or ""
        rows.append(
            render.EdgeRow(edge.get("relation") or "", outgoing, ids.get(other, other), contents.get(other))
        )
    render.percept_detail(
        {**chosen.percept},
        id=ids[chosen.id],
        scope=chosen.scope,
        standing=standing.word(chosen.percept, chosen.scope, contested, setup.knobs),
        lines=lines,
        edges=rows,
        notes=_ages(chosen.percept, setup.now.at),
        **Screen(setup.call).layout(),
    )


def _ages(percept: Percept, now: int) -> dict[str, str]:
    """Return how long ago each time of a percept was, in words."""
    times = {
        "created_at": percept.get("created_at"),
        "updated_at": percept["updated_at"],
        "last_used_at": percept.get("last_used_at"),
    }
    return {name: ago(instants.parse(time), now) for name, time in times.items() if time is not None}


def print_changes(setup: Setup, report: Report, ids: dict[str, str], changes: list[Change]) -> None:
    """Print what a pass did in sentences, and the counts of what it did not tell."""
    render.change_list(
        [
            render.Change(
                event=change["event"],
                id=ids.get(change["id"], change["id"]),
                reason=because(change, setup.knobs),
                w_before=change["w_before"],
                w_after=change["w_after"],
                content=change["content"],
            )
            for change in changes
        ],
        report.counts,
        dry_run=setup.call.flag("dry_run"),
        **Screen(setup.call).layout(),
    )


def because(change: Change, knobs: Knobs) -> str:
    """Return the reason of a change in words, with the numbers that it rests on."""
    w, event, reason = change["w_after"], change["event"], change["reason"]
    strength = f"w {w:.2f} ≥ {knobs.promote_threshold:.2f}"
    if event == PROMOTED_EVENT:
        why = f"evidence ≥ {PROMOTION_EVIDENCE}" if reason == BY_EVIDENCE else "asserted by the user"
        return f"{strength}, {why}"
    if event == DEFERRED_EVENT:
        if reason == HELD_BY_CONTRADICTION:
            return f"{strength}, but contradicted"
        return f"{strength}, but evidence < {PROMOTION_EVIDENCE}"
    if event == PRUNED_EVENT:
        return f"w {w:.2f} ≤ {knobs.prune_threshold:.2f}; milkmem restore brings it back"
    if event == ARCHIVED_EVENT:
        return f"unused for {knobs.global_archive_after_days:g} running days; milkmem restore brings it back"
    return reason


def print_conflicts(setup: Setup, memory: Memory) -> None:
    """Print live contradictions as pairs, with the ways out of each (P3)."""
    ids = printed_ids(memory)
    contents = {
        percept["id"]: percept["content"] for store in memory.live() for percept in memory.percepts(store)
    }
    render.conflict_list(
        [
            (
                render.Choice(ids[one], "", contents[one]),
                render.Choice(ids[other], "", contents[other]),
                ways_out(ids[one], ids[other]),
            )
            for one, other in contradicting_pairs(memory)
        ],
        **Screen(setup.call).layout(),
    )


def told(event: Event, percept: Percept, knobs: Knobs) -> str:
    """Return what becomes of a percept in one event of a forecast, with the numbers it rests on."""
    change: Change = {
        "id": percept["id"],
        "content": percept["content"],
        "event": event.event,
        "scope": event.scope,
        "reason": event.reason,
        "w_before": event.w_before,
        "w_after": event.w,
    }
    text = render.told(event.event, because(change, knobs), event.w_before, event.w)
    if event.event not in (BOOSTED_EVENT, PENALIZED_EVENT):
        return text
    once = knobs.edge_cadence == PER_RUN or event.reason == "evidence"
    return f"{text}; again {'in every run' if once else 'at every pass'}"
