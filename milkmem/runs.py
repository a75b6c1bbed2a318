"""One run of the agent: how long it lasts, what running time it measures, what it has awarded (section 4).

A run outlives our process, which is one turn, so its record is kept in the data directory. The clocks
belong to the data directory: one for the global store, one for each session, whatever the run (R4).
Nothing here reads a clock: the moment is an argument.
"""

from __future__ import annotations

from milkmem import instants
from milkmem.instants import NANOSECONDS, SECONDS_PER_DAY
from milkmem.knobs import MEASURED_ELAPSED_LIMIT, PLACES_KEPT, RUN_KEPT_DAYS
from milkmem.percept import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Moment:
    """One reading of the real clock, and the instant that is stored for it.

    `monotonic` and `wall` are nanoseconds; `boot` names the boot that the monotonic clock belongs to, ""
    where the system has no name for it; `at` is nanoseconds since the epoch, and differs from `wall` only
    under `--at` (R4).
    """

    __slots__ = ("at", "boot", "monotonic", "wall")

    def __init__(self, monotonic: int, wall: int, boot: str, at: int) -> None:
        self.monotonic = monotonic
        self.wall = wall
        self.boot = boot
        self.at = at

    def same_boot(self, earlier: Moment) -> bool:
        """Return whether no reboot lies between an earlier moment and this one."""
        return self.boot == earlier.boot and self.monotonic >= earlier.monotonic

    def seconds_since(self, earlier: Moment) -> float:
        """Return the running seconds since an earlier moment of the same boot, never negative (R4).

        Without a boot id a reboot can hide in the monotonic clock, so the wall clock may only shorten it.
        """
        passed = self.monotonic - earlier.monotonic
        if self.boot == "":
            passed = min(passed, self.wall - earlier.wall)
        return max(0, passed) / NANOSECONDS

    def to_json(self) -> dict[str, object]:
        """Return the moment as it is kept in a run record."""
        return {
            "monotonic": self.monotonic,
            "wall": self.wall,
            "boot": self.boot,
            "at": instants.format(self.at),
        }

    @classmethod
    def from_json(cls, record: Any) -> Moment:
        """Read a moment back; raises KeyError, TypeError or ValueError if it is none."""
        return cls(
            _typed(record["monotonic"], int),
            _typed(record["wall"], int),
            _typed(record["boot"], str),
            instants.parse(_typed(record["at"], str)),
        )


class Run:
    """One sitting, or one run that the caller named (R1 to R3).

    `nonces` holds, for each session of an agent by the digest of its id, what makes a percept tag count.
    """

    __slots__ = ("active", "applied", "awarded", "id", "implicit", "injected", "named", "nonces", "started")

    def __init__(self, run_id: str, implicit: bool, started: Moment) -> None:
        self.id = run_id
        self.implicit = implicit
        self.started = started
        self.active = started
        self.named: dict[str, Moment] = {}
        self.awarded: set[str] = set()
        self.applied: set[tuple[str, str, str]] = set()
        self.injected: set[str] = set()
        self.nonces: dict[str, str] = {}

    def award(self, percept_id: str) -> bool:
        """Take the run's one award of evidence for this percept; return whether it was still there (R3)."""
        if percept_id in self.awarded:
            return False
        self.awarded.add(percept_id)
        return True

    def to_json(self) -> dict[str, object]:
        """Return the run's record as it is kept; sets are sorted, so that equal runs have equal bytes."""
        return {
            "run": self.id,
            "implicit": self.implicit,
            "started": self.started.to_json(),
            "active": self.active.to_json(),
            "named": {session: moment.to_json() for session, moment in self.named.items()},
            "awarded": sorted(self.awarded),
            "applied": sorted(self.applied),
            "injected": sorted(self.injected),
            "nonces": self.nonces,
        }

    @classmethod
    def from_json(cls, record: Any) -> Run:
        """Read a record back; raises KeyError, TypeError or ValueError if it is none."""
        run = cls(
            _typed(record["run"], str), _typed(record["implicit"], bool), Moment.from_json(record["started"])
        )
        run.active = Moment.from_json(record["active"])
        run.named = {
            session: Moment.from_json(moment) for session, moment in _typed(record["named"], dict).items()
        }
        run.awarded = _texts(record["awarded"])
        run.applied = {(relation, one, other) for relation, one, other in _typed(record["applied"], list)}
        run.injected = _texts(record["injected"])
        run.nonces = {
            session: _typed(nonce, str) for session, nonce in _typed(record["nonces"], dict).items()
        }
        return run


class Book:
    """What the data directory keeps of runs: the clock of each store and the current sitting.

    `files` holds the fingerprint of each memory file as the last command left it, None for a file that was
    not there, so that the next one knows whether all its replacements happened and nobody else wrote.
    `placed` holds the store of each percept that commands put somewhere last, so that one that is gone
    without our doing can be named (Z4).
    """

    __slots__ = ("clocks", "files", "placed", "sitting")

    def __init__(self) -> None:
        self.clocks: dict[str, Moment] = {}
        self.sitting: Run | None = None
        self.files: dict[str, tuple[int, int, int, int] | None] = {}
        self.placed: dict[str, str] = {}

    def place(self, placed: Mapping[str, str | None]) -> None:
        """Note where percepts came to, None for those removed; no more than the last are kept."""
        for percept_id, store in placed.items():
            self.placed.pop(percept_id, None)
            if store is not None:
                self.placed[percept_id] = store
        for percept_id in list(self.placed)[:-PLACES_KEPT]:
            del self.placed[percept_id]

    def to_json(self) -> dict[str, object]:
        """Return the book as it is kept."""
        return {
            "clocks": {store: moment.to_json() for store, moment in self.clocks.items()},
            "sitting": None if self.sitting is None else self.sitting.to_json(),
            "files": self.files,
            "placed": self.placed,
        }

    @classmethod
    def from_json(cls, record: Any) -> Book:
        """Read a book back; raises KeyError, TypeError or ValueError if it is none."""
        book = cls()
        book.clocks = {
            store: Moment.from_json(moment) for store, moment in _typed(record["clocks"], dict).items()
        }
        if record["sitting"] is not None:
            book.sitting = Run.from_json(record["sitting"])
        book.files = {
            store: None if fingerprint is None else tuple(_typed(part, int) for part in fingerprint)
            for store, fingerprint in _typed(record["files"], dict).items()
        }
        # A record of before there were any lacks them.
        book.placed = {
            percept_id: _typed(store, str)
            for percept_id, store in _typed(record.get("placed", {}), dict).items()
        }
        return book


def sitting_at(book: Book, now: Moment, gap_minutes: float) -> Run | None:
    """Return the sitting that still goes on: no reboot, and no silence longer than the gap (R1)."""
    run = book.sitting
    if run is None or not now.same_boot(run.active):
        return None
    return run if now.seconds_since(run.active) <= gap_minutes * 60 else None


def is_over(run: Run, now: Moment) -> bool:
    """Return whether a reboot ended a named run (R2)."""
    return not now.same_boot(run.active)


def is_forgotten(run: Run, now: Moment) -> bool:
    """Return whether a record has been unused for so long that a pass removes it (R5)."""
    return (now.wall - run.active.wall) / NANOSECONDS > RUN_KEPT_DAYS * SECONDS_PER_DAY


def touch(book: Book, run: Run, session: str, now: Moment, gap_minutes: float) -> None:
    """Note that a command of this run named a session now; it keeps the sitting going too (R1, R4).

    A new sitting takes over the nonces: agents' sessions outlast the silence between two sittings.
    """
    run.active = now
    run.named.setdefault(session, now)
    sitting = sitting_at(book, now, gap_minutes)
    if sitting is not None:
        sitting.active = now
    if run.implicit:
        if book.sitting is not None:
            run.nonces = {**book.sitting.nonces, **run.nonces}
        book.sitting = run


def measured_from(book: Book, run: Run, store: str, now: Moment) -> Moment:
    """Return the moment that Δt of a store counts from (R4).

    That is the store's last pass in any run, or the moment this run first named the store if that is
    later; this run's start for the global store.
    """
    begun = run.started if store == GLOBAL else run.named[store]
    last = book.clocks.get(store)
    if last is not None and now.same_boot(last) and last.monotonic >= begun.monotonic:
        return last
    return begun


def last_global_pass(book: Book, run: Run) -> int:
    """Return the stored instant that uses are compared with: of the last global pass, or the run (D4)."""
    return book.clocks.get(GLOBAL, run.started).at


def elapsed(book: Book, run: Run, store: str, now: Moment) -> tuple[float, bool]:
    """Return the measured Δt of a store in seconds, and whether it was cut to the limit (R4)."""
    seconds = now.seconds_since(measured_from(book, run, store, now))
    return min(seconds, MEASURED_ELAPSED_LIMIT), seconds > MEASURED_ELAPSED_LIMIT


def passed(book: Book, session: str, now: Moment) -> None:
    """Note a pass over the global store and a session (R4)."""
    book.clocks = {store: last for store, last in book.clocks.items() if now.same_boot(last)}
    book.clocks[GLOBAL] = now
    book.clocks[session] = now


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(kind.__name__)
    return value


def _texts(value: Any) -> set[str]:
    return {_typed(item, str) for item in _typed(value, list)}
