"""`milkmem link` and `milkmem unlink`: edges between percepts (E4)."""

from __future__ import annotations

from milkmem import store
from milkmem.cli.output import print_json
from milkmem.cli.setup import Setup, edit
from milkmem.cli.targets import candidates, one_with_id
from milkmem.errors import DONE, BadUsage, Refused
from milkmem.percept import CONTRADICTS
from milkmem.remember import link as add_edge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from milkmem.cli.declare import Call
    from milkmem.memory import Memory
    from milkmem.percept import Edge


def link(call: Call) -> int:
    """Join two live percepts by an edge; one that is there already is left alone."""
    setup = Setup(call)

    def work(visit: store.Visit) -> Edge:
        edge: Edge = {
            "from": _end(visit.memory, call.given("source")),
            "to": _end(visit.memory, call.given("target")),
            "relation": call.given("relation"),
        }
        if edge["from"] == edge["to"]:
            raise BadUsage("a percept cannot be linked to itself")
        add_edge(visit.memory, edge)
        return edge

    return _edit(setup, work)


def unlink(call: Call) -> int:
    """Remove the edges from one percept to another; for contradicts the direction does not matter."""
    setup = Setup(call)
    relation = call.text("relation")

    def work(visit: store.Visit) -> Edge:
        memory = visit.memory
        source, target = (_end_of_edge(memory, call.given(end)) for end in ("source", "target"))

        def chosen(edge: Edge) -> bool:
            ends = (edge.get("from"), edge.get("to"))
            kind = edge.get("relation")
            joins = ends == (source, target) or (kind == CONTRADICTS and ends == (target, source))
            return joins and relation in (None, kind)

        removed = [edge for name in memory.live() for edge in memory.remove_edges(name, chosen)]
        if not removed:
            raise Refused("no such edge", "milkmem inspect shows a percept's edges")
        return removed[0]

    return _edit(setup, work)


def _end(memory: Memory, target: str) -> str:
    return one_with_id(target, candidates(memory, memory.live()), memory).id


def _end_of_edge(memory: Memory, target: str) -> str:
    """Return the id that a target is or begins; a whole id that only an edge still names counts too."""
    ends = {edge.get(end) for name in memory.live() for edge in memory.edges(name) for end in ("from", "to")}
    return target if target in ends else _end(memory, target)


def _edit(setup: Setup, work: Callable[[store.Visit], Edge]) -> int:
    if not setup.place.exists():
        raise Refused("no percept has this id: there is no memory yet")
    edge = edit(setup, work)
    if setup.call.flag("json"):
        print_json({"edge": edge})
    return DONE
