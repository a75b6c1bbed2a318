"""The files of one data directory: read, decided on, compared, replaced in order, healed (sections 2, 17).

`look` reads without a lock. `edit` is the one way to write: lock, clean, read, decide, compare, replace
destination before source, and heal what a crash left. The rules themselves are elsewhere.

Layout of a data directory:

    global.json, <session>.json, archive.json    memory, in milk's form (F2, F5)
    .milkmem/lock                                the kernel lock, never deleted (Z1)
    .milkmem/runs.json                           the clocks, the sitting, what the last command left (R3)
    .milkmem/runs/<id>.json                      runs that callers named (R2)
"""

from __future__ import annotations

import fcntl
import json
import os
import time

from milkmem import clock, codec
from milkmem.errors import BadData, Busy
from milkmem.files import (
    TEMPORARY_PREFIX,
    TEMPORARY_SUFFIX,
    Replacement,
    cannot_write,
    fingerprint_of,
    make_private_directory,
    open_private,
    read_regular,
    remove_temporaries,
)
from milkmem.memory import Memory, empty
from milkmem.percept import ARCHIVE, GLOBAL, Malformed
from milkmem.places import is_name
from milkmem.runs import Book, Run, is_forgotten, is_over, sitting_at, touch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TypeVar

    from milkmem.files import Fingerprint
    from milkmem.percept import Document
    from milkmem.runs import Moment

    T = TypeVar("T")

MEMORY_SUFFIX = ".json"
STATE_DIRECTORY = ".milkmem"
LOCK = "lock"
BOOK = "runs.json"
NAMED_RUNS = "runs"
ATTEMPTS = 5
SITTING_PREFIX = "sitting-"


_FIRST_WAIT = 0.001
_LONGEST_WAIT = 0.05
# The remainder of a path by it tells paths apart as well as a checksum, and imports nothing.
_PRIME = 2**32 - 5


# What was read of large files is left to the end of the process: measured, taking it apart piece by piece
# takes as long as putting it into words again.
_kept: list[Document] = []


class Place:
    """One data directory, the session in use in it, and how long to wait for its lock (F1, F2, Z1)."""

    __slots__ = ("directory", "lock_timeout", "session")

    def __init__(self, directory: str, session: str, lock_timeout: float) -> None:
        self.directory = directory
        self.session = session
        self.lock_timeout = lock_timeout

    def file(self, store: str) -> str:
        """Return the path of a memory file."""
        return os.path.join(self.directory, store + MEMORY_SUFFIX)

    def state(self, *names: str) -> str:
        """Return a path in the directory for what is not memory (F6)."""
        return os.path.join(self.directory, STATE_DIRECTORY, *names)

    def exists(self) -> bool:
        """Return whether the data directory is there; raises BadData if something else is."""
        if os.path.isdir(self.directory):
            return True
        if os.path.lexists(self.directory):
            raise BadData(f"{self.directory}: is not a directory")
        return False

    def stores(self) -> list[str]:
        """Return the names of all memory files: sessions, then global, then archive (Z1)."""
        try:
            names = os.listdir(self.directory)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadData(f"{self.directory}: cannot be read: {error.strerror}") from error
        stems = [name.removesuffix(MEMORY_SUFFIX) for name in names if name.endswith(MEMORY_SUFFIX)]
        sessions = sorted(stem for stem in stems if is_name(stem))
        return sessions + [store for store in (GLOBAL, ARCHIVE) if store in stems]


class RunChoice:
    """Which run a command belongs to: a named one or the sitting, and the gap that ends it (R1, R2)."""

    __slots__ = ("gap_minutes", "named")

    def __init__(self, named: str | None, gap_minutes: float) -> None:
        self.named = named
        self.gap_minutes = gap_minutes


class Reader:
    """Memory files as they were read, each with its fingerprint.

    A lenient reader lists what it cannot read in `unreadable`, and goes on as if it were not there. The form
    of a file that still stands as the last command `left` it was checked then, and is not checked again.
    """

    __slots__ = ("_left", "fingerprints", "lenient", "place", "unreadable")

    def __init__(
        self, place: Place, lenient: bool = False, left: Mapping[str, Fingerprint | None] | None = None
    ) -> None:
        self.place = place
        self.fingerprints: dict[str, Fingerprint | None] = {}
        self.unreadable: list[BadData] = []
        self.lenient = lenient
        self._left = {} if left is None else left

    def read(self, store: str) -> Document | None:
        """Return the decoded file of a store, None where there is none; raises BadData (F7)."""
        if store not in (GLOBAL, ARCHIVE) and not is_name(store):
            return None
        try:
            return self._read(store)
        except BadData as fault:
            if not self.lenient:
                raise
            self.unreadable.append(fault)
            self.fingerprints[store] = fingerprint_of(self.place.file(store))
            return None

    def _read(self, store: str) -> Document | None:
        path = self.place.file(store)
        found = read_regular(path)
        if found is None:
            self.fingerprints[store] = None
            return None
        raw, self.fingerprints[store] = found
        stands = self._stands(store)
        try:
            document = codec.decode(raw, sound=stands)
            if len(raw) >= codec.LARGE_FILE:
                _kept.append(document)
            if not stands:
                from milkmem.check import check

                check(document, archive=store == ARCHIVE)
        except Malformed as fault:
            raise BadData(
                f"{path}: {fault.where}: {fault.what}", "nothing was written; mend the file or move it away"
            ) from fault
        return document

    def _stands(self, store: str) -> bool:
        """Return whether a file was read as the last command left it."""
        return store in self._left and self._left[store] == self.fingerprints[store]

    def all_stand(self) -> bool:
        """Return whether every file was read as the last command left it, so that none needs healing."""
        return all(map(self._stands, self.fingerprints))

    def unchanged(self) -> bool:
        """Return whether every file is still as it was read (Z4)."""
        return all(
            fingerprint_of(self.place.file(store)) == seen for store, seen in self.fingerprints.items()
        )


class View:
    """Memory as it was read without a lock, healed in memory only."""

    __slots__ = ("memory", "reader")

    def __init__(self, memory: Memory, reader: Reader) -> None:
        self.memory = memory
        self.reader = reader


class Visit:
    """What a writing command works on while it holds the lock.

    `left_alone` are the files that another program changed too late for the work to be done again (Z4).
    """

    __slots__ = ("_run", "book", "left_alone", "memory", "now", "place", "reader", "run_ended", "warnings")

    def __init__(self, reader: Reader, memory: Memory, book: Book, run: Run | None, now: Moment) -> None:
        self.place = reader.place
        self.reader = reader
        self.memory = memory
        self.book = book
        self.now = now
        self.warnings: list[str] = []
        self.left_alone: list[str] = []
        self.run_ended = False
        self._run = run

    @property
    def run(self) -> Run:
        """The run this command belongs to."""
        if self._run is None:
            raise LookupError("this command belongs to no run")
        return self._run


def look(place: Place, *, archive: bool = False, sessions: Iterable[str] = (), lenient: bool = False) -> View:
    """Read without a lock: sessions before the global store before the archive (Z1).

    In that order a promotion or archiving under way shows a percept twice, never not at all, and healing
    keeps one. Where the directory does not exist, nothing is found and nothing created (F1).
    """
    there = place.exists()
    reader = Reader(place, lenient, _left(place) if there else {})
    stores = dict.fromkeys([place.session, *sessions, GLOBAL, *([ARCHIVE] if archive else [])])
    memory = Memory(
        {store: reader.read(store) if there else None for store in stores}, place.session, reader.read
    )
    if archive:
        memory.heal()
    elif not reader.all_stand():
        memory.heal_live()
    return View(memory, reader)


def _left(place: Place) -> Mapping[str, Fingerprint | None]:
    """Return how the last command left the files, as far as it is known: reading goes on without (Q3)."""
    try:
        return _read_book(place).files
    except BadData:
        return {}


def _read_book(place: Place) -> Book:
    return _decoded(place.state(BOOK), _read_state(place.state(BOOK)), Book.from_json) or Book()


def look_at_runs(place: Place, choice: RunChoice, at: int | None) -> tuple[Book, Run | None, Moment]:
    """Read the clocks, the run that a command would belong to and the moment, without lock or trace (R2)."""
    book = _read_book(place)
    named_raw = None if choice.named is None else _read_state(_named_run(place, choice.named))
    now = clock.read(at)
    return book, _run_at(place, book, choice, named_raw, now), now


def edit(
    place: Place,
    work: Callable[[Visit], T],
    *,
    at: int | None = None,
    run: RunChoice | None = None,
    wait: float | None = None,
    seen: View | None = None,
    sessions: Iterable[str] = (),
    lenient: bool = False,
) -> tuple[T, list[str]]:
    """Do one read-modify-write and return what `work` returned, and warnings (Z1 to Z4).

    `work` changes the memory of the visit it is given, and may be called again on a fresh one when another
    program changed a file meanwhile. The clock is read under the lock, so that a command that waited does not
    set it back; `at`, nanoseconds since the epoch, replaces the instant that is stored. `run` says which run
    the command belongs to, None for none; `seen` is an earlier look, used again where its files are
    unchanged; `lenient` goes on without files that cannot be read. Raises Busy, CannotWrite, BadData;
    whatever is raised before the first file is replaced leaves every file as it was.
    """
    make_private_directory(place.state())
    lock = _lock(place, place.lock_timeout if wait is None else wait)
    try:
        now = clock.read(at)
        mark = _mark(place)
        _clean(place, mark)
        book_raw = _read_state(place.state(BOOK))
        named_raw = None
        if run is not None and run.named is not None:
            named_raw = _read_state(_named_run(place, run.named))
        for _ in range(ATTEMPTS):
            book = _decoded(place.state(BOOK), book_raw, Book.from_json) or Book()
            chosen = None if run is None else _begin_run(place, book, run, named_raw, now)
            reader, files = _read_again(place, sessions, seen, lenient, book)
            seen = None
            memory = Memory(files, place.session, reader.read)
            if not _settled(book, reader) and not reader.unreadable:
                memory.heal()
            visit = Visit(reader, memory, book, chosen, now)
            result = work(visit)
            if memory.clamped:
                visit.warnings.append(f"w was outside [0,1] and is now clamped: {', '.join(memory.clamped)}")
            if _write(visit, mark):
                return result, visit.warnings
        _put_back(place.state(BOOK), book_raw, mark)
        if run is not None and run.named is not None:
            _put_back(_named_run(place, run.named), named_raw, mark)
        raise keeps_changing(place)
    finally:
        os.close(lock)


def keeps_changing(place: Place) -> Busy:
    """Return the error for files that another program writes again and again (Z4)."""
    return Busy(f"{place.directory}: its files keep changing under us", "try again when milk is quiet")


def files_holding(place: Place, texts: Iterable[str]) -> list[str]:
    """Return the files in the data directory, memory files aside, that hold one of the texts (G1)."""
    spelled: set[bytes] = set()
    for text in texts:
        spelled.add(text.encode("utf-8", "surrogatepass"))
        spelled.add(codec.encode_text(text)[1:-1])
    ours = {store + MEMORY_SUFFIX for store in place.stores()}
    found = []
    for directory, _, names in os.walk(place.directory):
        for name in names:
            path = os.path.join(directory, name)
            if directory == place.directory and name in ours:
                continue
            try:
                read = read_regular(path)
            except BadData:
                continue
            if read is not None and any(text in read[0] for text in spelled):
                found.append(path)
    return sorted(found)


def named_runs(place: Place) -> tuple[list[Run], list[BadData]]:
    """Return the runs that callers named, without a lock, and what could not be read of them (R2)."""
    found, unreadable = [], []
    try:
        names = sorted(os.listdir(place.state(NAMED_RUNS)))
    except OSError:
        names = []
    for name in names:
        path = place.state(NAMED_RUNS, name)
        try:
            run = _decoded(path, _read_state(path), Run.from_json) if name.endswith(MEMORY_SUFFIX) else None
        except BadData as fault:
            unreadable.append(fault)
        else:
            found += [run] if run is not None else []
    return found, unreadable


def left_over(place: Place) -> list[tuple[str, bool]]:
    """Return the temporary files there are, and whether the next writing command removes each (Z2)."""
    mark = f"{TEMPORARY_PREFIX}{_mark(place)}-"
    found = []
    for directory in _directories(place) if place.exists() else ():
        try:
            names = sorted(os.listdir(directory))
        except OSError:
            continue
        found += [
            (os.path.join(directory, name), name.startswith(mark))
            for name in names
            if name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX)
        ]
    return found


def is_locked(place: Place) -> bool:
    """Return whether another command holds the lock at this moment; nothing is created (Z1)."""
    try:
        descriptor = os.open(place.state(LOCK), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def remove_unused_runs(visit: Visit) -> None:
    """Remove the records of named runs that were unused for a long time (R5)."""
    directory = visit.place.state(NAMED_RUNS)
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        path = os.path.join(directory, name)
        run = _decoded(path, _read_state(path), Run.from_json)
        if run is not None and run.id != visit.run.id and is_forgotten(run, visit.now):
            _remove(path)


def _begin_run(place: Place, book: Book, choice: RunChoice, named_raw: bytes | None, now: Moment) -> Run:
    """Return the run a command belongs to, begun now if need be, with this command noted in it (R1, R2)."""
    run = _run_at(place, book, choice, named_raw, now)
    if run is None:
        implicit = choice.named is None
        run = Run(
            SITTING_PREFIX + os.urandom(4).hex() if choice.named is None else choice.named, implicit, now
        )
    touch(book, run, place.session, now, choice.gap_minutes)
    return run


def _run_at(place: Place, book: Book, choice: RunChoice, named_raw: bytes | None, now: Moment) -> Run | None:
    """Return the run that goes on now, None where a new one would begin (R1, R2)."""
    if choice.named is None:
        return sitting_at(book, now, choice.gap_minutes)
    run = _decoded(_named_run(place, choice.named), named_raw, Run.from_json)
    return None if run is None or is_over(run, now) else run


def _named_run(place: Place, run_id: str) -> str:
    return place.state(NAMED_RUNS, run_id + MEMORY_SUFFIX)


def _read_again(
    place: Place, sessions: Iterable[str], seen: View | None, lenient: bool, book: Book
) -> tuple[Reader, dict[str, Document | None]]:
    if seen is not None and not seen.memory.changed and seen.reader.unchanged():
        seen.reader.lenient = lenient
        return seen.reader, seen.memory.files
    reader = Reader(place, lenient, dict(book.files))
    stores = dict.fromkeys([place.session, *sessions, GLOBAL])
    return reader, {store: reader.read(store) for store in stores}


def _settled(book: Book, reader: Reader) -> bool:
    """Return whether the files stand as the last command meant to leave them, so that none needs healing."""
    place = reader.place
    return all(
        store in book.files and book.files[store] == fingerprint_of(place.file(store))
        for store in (place.session, GLOBAL, ARCHIVE)
    )


def _write(visit: Visit, mark: str) -> bool:
    """Replace what changed, destination before source; return False where it must be done again (Z3, Z4)."""
    memory, place, reader, run = visit.memory, visit.place, visit.reader, visit._run
    if not memory.changed and run is None:
        return True
    encoded = [(store, codec.encode(document)) for store, document in _in_order(memory)]
    waiting: list[Replacement] = []
    try:
        replacements = []
        for store, data in encoded:
            replacements.append((store, Replacement(place.file(store), data, mark)))
            waiting.append(replacements[-1][1])
        _note_files(visit, dict(replacements))
        records = _records(visit, mark)
        waiting += records
        if not reader.unchanged():
            return False
        for record in records:
            record.commit()
        stands = dict(reader.fingerprints)
        changed = ""
        for at, (store, replacement) in enumerate(replacements):
            path = place.file(store)
            if changed != "":  # what is left alone may be where this file's percepts were to go (Z3)
                visit.left_alone.append(path)
                visit.warnings.append(f"{path} was left alone too, since {changed} changed meanwhile")
                continue
            if fingerprint_of(path) != stands[store]:
                if at == 0:
                    return False
                changed = path
                visit.left_alone.append(path)
                visit.warnings.append(
                    f"{path} changed meanwhile and was left alone; the next pass completes the move"
                )
                continue
            replacement.commit()
            stands[store] = replacement.fingerprint
        if visit.run_ended and run is not None and not run.implicit:
            _remove(_named_run(place, run.id))
        return True
    finally:
        for replacement in waiting:
            replacement.discard()


def _in_order(memory: Memory) -> list[tuple[str, Document]]:
    """Return the changed files in the order of writing: the destination of every move before its source (Z3).

    The archive comes first, the global store before a session. What left the archive was its to keep until
    then, so in that case the archive comes last, and first as well if something else goes there.
    """
    live = [
        store for store in (GLOBAL, *sorted(memory.changed)) if store in memory.changed and store != ARCHIVE
    ]
    order = [(store, memory.files[store] or empty()) for store in dict.fromkeys(live)]
    if ARCHIVE not in memory.changed:
        return order
    archive = (ARCHIVE, memory.files[ARCHIVE] or empty())
    if not memory.returned["percepts"] and not memory.returned["edges"]:
        return [archive, *order]
    if not memory.archives:
        return [*order, archive]
    return [(ARCHIVE, memory.archive_with_returned()), *order, archive]


def _note_files(visit: Visit, replaced: dict[str, Replacement]) -> None:
    """Note how the memory files will stand and what came where, for the next command and for `doctor`."""
    visit.book.place(visit.memory.placed)
    if visit.reader.unreadable:
        visit.book.files.clear()
        return
    for store in (visit.place.session, GLOBAL, ARCHIVE, *replaced):
        if store in replaced:
            visit.book.files[store] = replaced[store].fingerprint
        elif store in visit.reader.fingerprints:  # an archive that needed no reading stands as noted before
            visit.book.files[store] = visit.reader.fingerprints[store]


def _records(visit: Visit, mark: str) -> list[Replacement]:
    """Return the run records to be written before any memory file (Z3)."""
    place, run = visit.place, visit._run
    records = []
    if run is not None and not run.implicit and not visit.run_ended:
        make_private_directory(place.state(NAMED_RUNS))
        records.append(Replacement(_named_run(place, run.id), _encoded(run.to_json()), mark))
    if visit.run_ended and run is not None and run.implicit:
        visit.book.sitting = None
    records.append(Replacement(place.state(BOOK), _encoded(visit.book.to_json()), mark))
    return records


def _put_back(path: str, raw: bytes | None, mark: str) -> None:
    """Let a run record be as it was, so that no award is used up for work that was not done (R3)."""
    if raw is None:
        _remove(path)
    elif _read_state(path) != raw:
        Replacement(path, raw, mark).commit()


def _encoded(record: dict[str, object]) -> bytes:
    return json.dumps(record, separators=(",", ":")).encode()


def _read_state(path: str) -> bytes | None:
    found = read_regular(path)
    return None if found is None else found[0]


def _decoded(path: str, raw: bytes | None, read: Callable[[object], T]) -> T | None:
    if raw is None:
        return None
    try:
        return read(json.loads(raw))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise BadData(
            f"{path}: is not a record of runs", "remove it: it holds no fact, and a new run begins"
        ) from error


def _lock(place: Place, wait: float) -> int:
    """Return a descriptor that holds the data directory's lock; raises Busy after `wait` seconds (Z1)."""
    descriptor = open_private(place.state(LOCK))
    try:
        deadline = time.monotonic() + wait
        pause = _FIRST_WAIT
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise Busy(
                        f"{place.directory}: another command holds the memory",
                        "try again, or wait longer with MILKMEM_LOCK_TIMEOUT",
                    ) from None
            except OSError as error:
                raise cannot_write(place.state(LOCK), error) from error
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)
    except BaseException:
        os.close(descriptor)
        raise


def _mark(place: Place) -> str:
    """Return what tells our temporary files of this data directory from all others (Z2)."""
    path = int.from_bytes(os.fsencode(os.path.realpath(place.directory)), "big")
    return f"{path % _PRIME:08x}"


def _clean(place: Place, mark: str) -> None:
    """Remove what a crash left (Z2)."""
    for directory in _directories(place):
        remove_temporaries(directory, mark)


def _directories(place: Place) -> list[str]:
    """Return where temporary files can be: beside the real files of symbolic links too (Z2)."""
    directories = {place.directory: None, place.state(): None, place.state(NAMED_RUNS): None}
    try:
        with os.scandir(place.directory) as entries:
            for entry in entries:
                if entry.name.endswith(MEMORY_SUFFIX) and entry.is_symlink():
                    directories[os.path.dirname(os.path.realpath(entry.path))] = None
    except OSError as error:
        raise cannot_write(place.directory, error) from error
    return list(directories)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(path, error) from error
