"""`milkmem inspect`: list percepts, or show one in full with its standing (section 15)."""

from __future__ import annotations

import sys
from shlex import quote

from milkmem import instants, rules, standing, store
from milkmem.cli.output import percept_json, print_json, print_lines
from milkmem.cli.plain import ago, field, line
from milkmem.cli.progress import Progress
from milkmem.cli.setup import Setup, at_terminal
from milkmem.cli.targets import ambiguous, candidates, meant, printed_ids
from milkmem.errors import DONE, Refused
from milkmem.memory import contradictions, touches
from milkmem.percept import ARCHIVE, GLOBAL, SESSION, evidence, is_core, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from milkmem.cli.declare import Call
    from milkmem.cli.targets import Candidate
    from milkmem.knobs import Knobs
    from milkmem.memory import Memory
    from milkmem.percept import Edge, Percept
    from milkmem.standing import Gate


def run(call: Call) -> int:
    """Print a list, or one percept in full; return the exit code."""
    setup = Setup(call)
    with Progress("reading the memory") as progress:
        _inspect(setup, progress)
    return DONE


def _inspect(setup: Setup, progress: Progress) -> None:
    call = setup.call
    target = call.text("target")
    with_archive = call.flag("archive") or call.text("scope") == ARCHIVE or target is not None
    sessions = [name for name in setup.place.stores() if name not in (GLOBAL, ARCHIVE)]
    memory = store.look(
        setup.place, archive=with_archive, sessions=sessions if call.flag("sessions") else ()
    ).memory
    among = candidates(memory, list(dict.fromkeys([*memory.live(), *memory.files])))
    if target is None:
        _print_list(setup, memory, _listed(setup, among), progress)
        return
    found = meant(target, among)
    if not found:
        raise Refused("no percept has this id or text", "milkmem inspect")
    if len(found) > 1:
        raise ambiguous(found, memory)
    progress.end()
    _print_one(setup, memory, found[0])


def _listed(setup: Setup, among: Iterable[Candidate]) -> list[Candidate]:
    """Return the percepts that the options let through, in the order they ask for."""
    call, now, knobs = setup.call, setup.now.at, setup.knobs
    scope, producer, least = call.text("scope"), call.text("producer"), call.number("min_w")
    rows = [
        each
        for each in among
        if (scope is None or each.scope == scope)
        and (producer is None or each.percept["producer"] == producer)
        and (least is None or rules.reaches(weight(each.percept), least))
    ]
    key = _ORDERS[call.given("sort")]
    return sorted(rows, key=lambda each: (key(each.percept, now, knobs), each.id))


_ORDERS: dict[str, Callable[[Percept, int, Knobs], float]] = {
    "rank": lambda percept, now, knobs: -rules.rank_score(percept, now, knobs),
    "w": lambda percept, now, knobs: -weight(percept),
    "age": lambda percept, now, knobs: -instants.parse(percept["updated_at"]),
    "evidence": lambda percept, now, knobs: -evidence(percept),
}


def _print_list(setup: Setup, memory: Memory, rows: list[Candidate], progress: Progress) -> None:
    pairs = [(each.percept, each.scope) for each in rows]
    if setup.call.flag("json"):
        contested = contradictions(memory)
        print_json(
            {
                "percepts": [_explained(setup, each, contested.get(each.id, [])) for each in rows],
                "edges": _edges(memory),
                "totals": _totals(memory),
            }
        )
    elif at_terminal(sys.stdout):
        from milkmem.cli.tables import print_conflicts, print_table

        print_table(setup, memory, pairs, progress.before(sys.stdout))
        progress.end()
        print_conflicts(setup, memory)
    else:
        print_lines(pairs, setup.now.at, setup.knobs)


def _print_one(setup: Setup, memory: Memory, chosen: Candidate) -> None:
    against = contradictions(memory).get(chosen.id, [])
    ids = printed_ids(memory)
    edges = [edge for edge in _edges(memory) if touches(edge, (chosen.id,))]
    if setup.call.flag("json"):
        print_json(
            {"percepts": [_explained(setup, chosen, against)], "edges": edges, "totals": _totals(memory)}
        )
    elif at_terminal(sys.stdout):
        from milkmem.cli.tables import print_percept

        print_percept(setup, memory, chosen, _standing(setup, chosen, against, ids), edges)
    else:
        print(line(chosen.percept, chosen.scope, rules.rank_score(chosen.percept, setup.now.at, setup.knobs)))
        for label, text in _standing(setup, chosen, against, ids):
            print(f"{label}\t{text}")
        for edge in edges:
            parts = (edge.get("from"), edge.get("relation"), edge.get("to"))
            print("\t".join(("edge", *(field(part or "") for part in parts))))


def _standing(
    setup: Setup, chosen: Candidate, against: list[str], ids: dict[str, str]
) -> list[tuple[str, str]]:
    """Return the standing of a percept, a label and a text a line (section 15)."""
    percept, now, knobs = chosen.percept, setup.now.at, setup.knobs
    terms = standing.rank_terms(percept, now, knobs)
    lines = [
        (
            f"rank {terms['score']:.3f}",
            f"= w {terms['w']:.3f} × (1 + recency {terms['recency']:.3f})"
            f" × (1 + evidence {terms['evidence_bonus']:.3f})",
        )
    ]
    if chosen.scope == ARCHIVE:
        archived = percept["archived"]
        when = ago(instants.parse(archived["at"]), now)
        lines.append(("archived", f"{when} from {archived['from']}: {archived['reason']}"))
        lines.append(("restore", f"milkmem restore {quote(ids[chosen.id])}"))
        return lines
    if chosen.scope == SESSION:
        lines.append(("promotion", _gates(setup, chosen, against, ids)))
    elif against:
        lines.append(("contested", "contradicted by " + _names(against, ids)))
    left = standing.forecast(percept, chosen.scope, knobs)
    if is_core(percept):
        lines.append(("core", "never decays, is never pruned, archived or evicted"))
    if left["prune_in_running_days"] is not None:
        lines.append(
            (
                "fades",
                f"to {knobs.prune_threshold:.2f} in {left['prune_in_running_days']:.1f} running days"
                " unless restated",
            )
        )
    if left["archive_in_running_days"] is not None:
        lines.append(("archive", f"in {left['archive_in_running_days']:.1f} running days unless used"))
    return lines


def _gates(setup: Setup, chosen: Candidate, against: list[str], ids: dict[str, str]) -> str:
    """Return the gates of promotion in words, each with its value, threshold and verdict."""
    verdict = standing.promotion(chosen.percept, chosen.scope, against, setup.knobs)
    strength, corroboration = verdict["strength"], verdict["evidence"]
    gates = [_gate("w", strength, ".2f")]
    if verdict["asserted"]:
        gates.append("asserted by the user: no evidence needed")
    else:
        gates.append(_gate("evidence", corroboration, "d"))
    gates.append(f"contradicted by {_names(against, ids)}: no" if against else "not contradicted: yes")
    return " · ".join(gates)


def _gate(name: str, gate: Gate, form: str) -> str:
    """Return a gate in words: value, threshold, verdict, and what is missing."""
    words = f"{name} {gate['value']:{form}} ≥ {gate['threshold']:{form}}"
    return f"{words} yes" if gate["passed"] else f"{words} no, {gate['gap']:{form}} short"


def _names(against: Iterable[str], ids: dict[str, str]) -> str:
    return ", ".join(ids[each] for each in against)


def _explained(setup: Setup, each: Candidate, against: list[str]) -> dict[str, Any]:
    """Return a percept with the terms of its rank, its gates and what comes next (section 16)."""
    percept, scope, now, knobs = each.percept, each.scope, setup.now.at, setup.knobs
    return {
        **percept_json(percept, scope, now, knobs),
        "rank": standing.rank_terms(percept, now, knobs),
        "promotion": standing.promotion(percept, scope, against, knobs),
        "forecast": standing.forecast(percept, scope, knobs),
    }


def _edges(memory: Memory) -> list[Edge]:
    return [edge for name in memory.files for edge in memory.edges(name)]


def _totals(memory: Memory) -> dict[str, int]:
    """Return how many percepts each scope at hand holds."""
    totals: dict[str, int] = {}
    for name in memory.files:
        scope = memory.scope(name)
        totals[scope] = totals.get(scope, 0) + len(memory.percepts(name))
    return totals
