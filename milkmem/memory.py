"""The stores one command works on, and every way a percept or an edge moves between them (F5, E4, Z3).

A `Memory` holds the decoded files of one data directory that a command has read: the global store,
sessions, the archive. It changes them in place and remembers which it changed, so that a command that
changes nothing writes nothing (C2).
"""

from __future__ import annotations

from milkmem import instants
from milkmem.percept import ARCHIVE, CONTRADICTS, GLOBAL, POSITIVE_RELATIONS, take, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from milkmem.percept import Archived, Document, Edge, Percept


def empty() -> Document:
    """Return a new file's content, as milk writes an empty store (section 18)."""
    return {"percepts": None, "engrams": None, "edges": None}


class Memory:
    """The files at hand by name ("global", "archive", or a session's name) and the session in use.

    `fetch` is asked once for a file that is not at hand yet; it returns None where there is none.
    `clamped` are the ids of changed percepts whose w was outside [0,1] (F7). `returned` is what left the
    archive for a live store, as it stood there, and `archives` says that something went the other way: the
    order of writing depends on both (Z3). `placed` names, for each percept put somewhere or removed, the
    store it came to, None for none (Z4).
    """

    __slots__ = ("_fetch", "archives", "changed", "clamped", "files", "placed", "returned", "session")

    def __init__(
        self, files: dict[str, Document | None], session: str, fetch: Callable[[str], Document | None]
    ) -> None:
        self.files = files
        self.session = session
        self.changed: set[str] = set()
        self.clamped: list[str] = []
        self.archives = False
        self.placed: dict[str, str | None] = {}
        self.returned: Document = {"percepts": [], "edges": []}
        self._fetch = fetch

    def percepts(self, store: str) -> list[Percept]:
        """Return the percepts of a store, for reading."""
        document = self._file(store)
        return [] if document is None else document.get("percepts") or []

    def edges(self, store: str) -> list[Edge]:
        """Return the edges of a store, for reading."""
        document = self._file(store)
        return [] if document is None else document.get("edges") or []

    def _file(self, store: str) -> Document | None:
        if store not in self.files:
            self.files[store] = self._fetch(store)
        return self.files[store]

    def _change(self, store: str) -> Document:
        """Return the document of a store that is about to change, a new one where there is none."""
        document = self._file(store)
        if document is None:
            document = self.files[store] = empty()
        self.changed.add(store)
        return document

    def live(self) -> tuple[str, str]:
        """Return the names of the two stores whose percepts take part in a pass."""
        return (GLOBAL, self.session)

    def ids(self) -> set[str]:
        """Return the ids of all live percepts."""
        return self._ids(GLOBAL) | self._ids(self.session)

    def scope(self, store: str) -> str:
        """Return what output calls a store: "global", "archive" or "session" (section 16)."""
        return store if store in (GLOBAL, ARCHIVE) else "session"

    def mend(self, percept: Percept) -> None:
        """Write the clamped w of a percept that is about to change (F7)."""
        w = weight(percept)
        if w != percept["w"]:
            percept["w"] = w
            self.clamped.append(percept["id"])

    def append(self, store: str, percept: Percept) -> None:
        """Add a percept of a new id to the end of a store."""
        document = self._change(store)
        self.placed[percept["id"]] = store
        percepts = document.get("percepts")
        if percepts is None:
            document["percepts"] = [percept]
        else:
            percepts.append(percept)

    def add(self, store: str, percepts: list[Percept]) -> None:
        """Add percepts to the end of a store, in place of those of the same ids there."""
        arriving = {percept["id"] for percept in percepts}
        self.placed.update(dict.fromkeys(arriving, store))
        kept = [other for other in self.percepts(store) if other["id"] not in arriving]
        self._change(store)["percepts"] = kept + percepts

    def remove(self, store: str, ids: Collection[str]) -> list[Percept]:
        """Take the percepts of these ids out of a store and return them; the rest keep their order."""
        if not ids:
            return []
        percepts = self.percepts(store)
        taken = [percept for percept in percepts if percept["id"] in ids]
        if taken:
            self._change(store)["percepts"] = [percept for percept in percepts if percept["id"] not in ids]
            self.placed.update((percept["id"], None) for percept in taken)
        return taken

    def add_edges(self, store: str, edges: Iterable[Edge]) -> None:
        """Append edges to a store, leaving out those that stand there already."""
        present = self.edges(store)
        new = _new_edges(edges, present)
        if new:
            self._change(store)["edges"] = [*present, *new]

    def remove_edges(self, store: str, chosen: Callable[[Edge], bool]) -> list[Edge]:
        """Take the chosen edges out of a store and return them."""
        edges = self.edges(store)
        taken = [edge for edge in edges if chosen(edge)]
        if taken:
            self._change(store)["edges"] = [edge for edge in edges if not chosen(edge)]
        return taken

    def move_edges(self, source: str, target: str, chosen: Callable[[Edge], bool]) -> None:
        """Move the chosen edges from one store to another."""
        self.add_edges(target, self.remove_edges(source, chosen))

    def archive(self, store: str, leaving: Collection[str], reason: str, now: int) -> list[Percept]:
        """Move percepts from a live store to the archive, their edges with them (F5, E4, A3)."""
        moved = self.remove(store, leaving)
        if not moved:
            return moved
        for percept in moved:
            self.mend(percept)
            archived: Archived = {"at": instants.format(now), "reason": reason, "from": store}
            percept["archived"] = archived
        self.archives = True
        self.add(ARCHIVE, moved)
        for live in self.live():
            self.move_edges(live, ARCHIVE, lambda edge: touches(edge, leaving))
        return moved

    def restore(self, percept_id: str) -> tuple[Percept, str]:
        """Move a percept from the archive back to the store it came from, its edges with it (G3).

        Returns the percept and that store. Where the session it came from is not at hand, it comes to the one
        in use. Edges whose other end is not live stay in the archive. Raises KeyError if the id is not
        archived.
        """
        taken = self.remove(ARCHIVE, {percept_id})
        if not taken:
            raise KeyError(percept_id)
        percept = taken[0]
        self._note_return([percept.copy()], [])
        origin = percept["archived"]["from"]
        there = origin == GLOBAL or (origin != ARCHIVE and self._file(origin) is not None)
        home = origin if there else self.session
        self.mend(percept)
        take(percept, "archived")
        take(percept, "idle_seconds")
        self.add(home, [percept])
        self._bring_back({percept_id}, self.session if home == GLOBAL else home)
        return percept, home

    def promote(self, ids: Collection[str]) -> None:
        """Move percepts with all their fields from the session to the global store (P5, E4)."""
        moved = self.remove(self.session, ids)
        for percept in moved:
            self.mend(percept)
            take(percept, "idle_seconds")
        if moved:
            self.add(GLOBAL, moved)
            self._settle_edges(self.session)

    def forget(self, ids: Collection[str]) -> None:
        """Remove percepts and every edge that touches them from every file at hand (G1)."""
        for store in list(self.files):
            self.remove(store, ids)
            self.remove_edges(store, lambda edge: touches(edge, ids))

    def heal_live(self) -> None:
        """Drop the session's copy of a percept that stands in the global store too (F7, Z3)."""
        doubled = self._ids(GLOBAL) & self._ids(self.session)
        if doubled:
            self.remove(self.session, doubled)
            self._settle_edges(self.session)

    def heal(self) -> None:
        """Finish a move that a crash cut short: global wins over a session, both over the archive (Z3)."""
        self.heal_live()
        revived = self._ids(ARCHIVE) & self.ids()
        if revived:
            self.remove(ARCHIVE, revived)
            self._bring_back(revived, self.session)

    def _ids(self, store: str) -> set[str]:
        return {percept["id"] for percept in self.percepts(store)}

    def _settle_edges(self, session: str) -> None:
        """Move a session's edges whose ends are both global to the global store (E4)."""
        in_global = self._ids(GLOBAL)
        self.move_edges(session, GLOBAL, lambda edge: _joins(edge, in_global))

    def _bring_back(self, ids: Collection[str], session: str) -> None:
        """Move the archived edges of percepts that are live again back where both ends are live (E4)."""
        in_global = self._ids(GLOBAL)
        live = in_global | self._ids(session)
        returning = self.remove_edges(ARCHIVE, lambda edge: touches(edge, ids) and _joins(edge, live))
        self._note_return([], returning)
        new = _new_edges(returning, [*self.edges(GLOBAL), *self.edges(session)])
        self.add_edges(GLOBAL, [edge for edge in new if _joins(edge, in_global)])
        self.add_edges(session, [edge for edge in new if not _joins(edge, in_global)])

    def _note_return(self, percepts: list[Percept], edges: list[Edge]) -> None:
        self.returned["percepts"] = [*(self.returned["percepts"] or []), *percepts]
        self.returned["edges"] = [*(self.returned["edges"] or []), *edges]

    def archive_with_returned(self) -> Document:
        """Return the archive as it is, and with it all that is leaving it (Z3)."""
        archive = self._file(ARCHIVE) or empty()
        return {
            **archive,
            "percepts": [*self.percepts(ARCHIVE), *(self.returned["percepts"] or [])],
            "edges": [*self.edges(ARCHIVE), *(self.returned["edges"] or [])],
        }


def _joins(edge: Edge, ids: Collection[str]) -> bool:
    return edge.get("from") in ids and edge.get("to") in ids


def _new_edges(edges: Iterable[Edge], present: Iterable[Edge]) -> list[Edge]:
    """Return the edges that are not among those present, each once."""
    known: dict[tuple[str | None, ...], list[Edge]] = {}
    for edge in present:
        known.setdefault(_ends(edge), []).append(edge)
    new: list[Edge] = []
    for edge in edges:
        alike = known.setdefault(_ends(edge), [])
        if edge not in alike:
            alike.append(edge)
            new.append(edge)
    return new


def _ends(edge: Edge) -> tuple[str | None, ...]:
    return (edge.get("from"), edge.get("to"), edge.get("relation"))


def touches(edge: Edge, ids: Collection[str]) -> bool:
    """Return whether one end of the edge is among the ids."""
    return edge.get("from") in ids or edge.get("to") in ids


def edge_key(edge: Edge) -> tuple[str, str, str]:
    """Return what makes two edges duplicates: relation and ends, for `contradicts` in any order (E1)."""
    ends = (edge["from"], edge["to"])
    if edge["relation"] == CONTRADICTS:
        ends = (min(ends), max(ends))
    return (edge["relation"], *ends)


def live_edges(memory: Memory) -> dict[tuple[str, str, str], Edge]:
    """Return the edges that act, once each: known relation, two different live ends (E1)."""
    found: dict[tuple[str, str, str], Edge] = {}
    if not any(memory.edges(store) for store in memory.live()):
        return found
    ids = memory.ids()
    for store in memory.live():
        for edge in memory.edges(store):
            source, target, relation = edge.get("from"), edge.get("to"), edge.get("relation")
            acts = relation in POSITIVE_RELATIONS or relation == CONTRADICTS
            if acts and source != target and source in ids and target in ids:
                found.setdefault(edge_key(edge), edge)
    return found


def contradictions(memory: Memory) -> dict[str, list[str]]:
    """Return, for each percept at an end of a live contradiction, the ids it contradicts, sorted (P3)."""
    found: dict[str, set[str]] = {}
    for relation, one, other in live_edges(memory):
        if relation == CONTRADICTS:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {percept_id: sorted(others) for percept_id, others in found.items()}


def contradicting_pairs(memory: Memory) -> list[tuple[str, str]]:
    """Return the live contradictions as pairs of ids, each once, sorted (P3)."""
    return sorted(
        (one, other) for one, others in contradictions(memory).items() for other in others if one < other
    )
