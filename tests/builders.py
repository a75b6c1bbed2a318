"""Short builders of percepts, memories, moments and passes for the tests of the core."""

from __future__ import annotations

import copy
from itertools import count
from typing import TYPE_CHECKING, Any

from milkmem import instants
from milkmem.consolidate import Elapsed, Report, consolidate
from milkmem.knobs import Knobs
from milkmem.memory import Memory
from milkmem.percept import ARCHIVE, GLOBAL
from milkmem.remember import Fact, Outcome, Recorder
from milkmem.runs import Moment, Run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from milkmem.percept import Document, Edge, Percept

    Files = dict[str, Document | None]

DAY = 86_400.0
HOUR = 3_600.0
SECOND = 1_000_000_000
NOW = instants.parse("2026-11-15T12:00:00Z")
WORK = "work"


def ago(days: float) -> str:
    """Return the text of the instant so many days before `NOW`; a negative number is to come."""
    return instants.format(NOW - round(days * DAY * SECOND))


def percept(name: str, w: Any = 0.7, **fields: Any) -> Percept:
    """Return a percept of `primary`, updated now, its content its name; fields in the order of F3."""
    made: dict[str, Any] = {"id": name, "content": name, "producer": "primary", "w": w, "updated_at": ago(0)}
    made.update(fields)
    return made  # type: ignore[return-value]  # a percept, by any key


def archived(name: str, w: Any = 0.2, reason: str = "stale", home: str = GLOBAL, **fields: Any) -> Percept:
    """Return a percept as it stands in the archive."""
    return percept(name, w, **fields, archived={"at": ago(1), "reason": reason, "from": home})


def edge(source: str, relation: str, target: str, **fields: Any) -> Edge:
    """Return an edge."""
    made: dict[str, Any] = {"from": source, "to": target, "relation": relation, **fields}
    return made  # type: ignore[return-value]  # an edge, by any key


def document(percepts: list[Percept] | None = None, edges: list[Edge] | None = None) -> Document:
    """Return one file as milk writes it; `engrams` is null."""
    return {"percepts": percepts, "engrams": None, "edges": edges}


def memory(
    in_global: list[Percept] | None = None,
    in_session: list[Percept] | None = None,
    in_archive: list[Percept] | None = None,
    *,
    edges: list[Edge] | None = None,
    global_edges: list[Edge] | None = None,
    archived_edges: list[Edge] | None = None,
    others: Mapping[str, Document | None] | None = None,
) -> Memory:
    """Return a memory of three files; `edges` stand in the session's. `others` are fetched when asked for."""
    files: Files = {
        GLOBAL: document(in_global, global_edges),
        WORK: document(in_session, edges),
        ARCHIVE: document(in_archive, archived_edges),
    }
    return Memory(files, WORK, (others or {}).get)


def copied(kept: Memory) -> Memory:
    """Return a memory of the same files, unchanged so far, that shares nothing with the first."""
    files = copy.deepcopy(kept.files)
    return Memory(files, kept.session, lambda store: None)


def where(of: Memory) -> dict[str, str]:
    """Return the store that each percept is in, and hold that it is in one only."""
    places: dict[str, str] = {}
    for store in of.files:
        for each in of.percepts(store):
            assert each["id"] not in places, each["id"]
            places[each["id"]] = store
    return places


def found(of: Memory, name: str) -> Percept:
    """Return the one percept of that id."""
    (match,) = [each for store in of.files for each in of.percepts(store) if each["id"] == name]
    return match


def all_edges(of: Memory) -> dict[str, list[tuple[str, str, str]]]:
    """Return the edges of each file that has any, as source, relation and target."""
    listed = {
        store: [(each["from"], each["relation"], each["to"]) for each in of.edges(store)]
        for store in of.files
    }
    return {store: edges for store, edges in listed.items() if edges}


def moment(seconds: float, *, wall: float | None = None, boot: str = "boot", at: int | None = None) -> Moment:
    """Return the moment so many seconds after the machine's start at `NOW`; `wall` may differ."""
    passed = seconds if wall is None else wall
    stored = NOW + round(passed * SECOND)
    return Moment(round(seconds * SECOND), stored, boot, stored if at is None else at)


def run(name: str = "run-1", *, seconds: float = 0.0) -> Run:
    """Return a named run that began so many seconds after the machine's start."""
    return Run(name, False, moment(seconds))


def one_pass(
    of: Memory,
    days: float = 0.0,
    *,
    during: Run | None = None,
    now: int = NOW,
    since: int = NOW - round(DAY * SECOND),
    session_days: float | None = None,
    **knobs: Any,
) -> Report:
    """Do one pass after so many running days, by default the same in both stores and of a new run."""
    elapsed = Elapsed(days * DAY, (days if session_days is None else session_days) * DAY)
    return consolidate(
        of,
        Knobs(**knobs),
        run() if during is None else during,
        now=now,
        global_since=since,
        elapsed=elapsed,
    )


def counted(report: Report) -> dict[str, int]:
    """Return the counters of a report that are not 0."""
    return {name: number for name, number in report.counts.items() if number != 0}


def events(report: Report) -> list[tuple[str, str]]:
    """Return the event and the id of each change, in the order reported."""
    return [(change["event"], change["id"]) for change in report.changes]


def recorder(
    of: Memory,
    *,
    during: Run | None = None,
    now: int = NOW,
    facts: int = 1,
    ids: str = "new",
    first: int = 1,
    **knobs: Any,
) -> Recorder:
    """Return a recorder whose new percepts are called `new-1`, `new-2`, …"""
    numbers = count(first)
    return Recorder(
        of,
        Knobs(**knobs),
        run() if during is None else during,
        now=now,
        new_id=lambda: f"{ids}-{next(numbers)}",
        facts=facts,
    )


def record(of: Memory, content: str, *, during: Run | None = None, **options: Any) -> Outcome:
    """Record one fact of `primary`."""
    return recorder(of, during=during, **options).record(Fact(content, "primary"))
