"""What holds when others write too, when the program is killed, and when a disk or stream fails (section
17).
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from milkmem import check as checking
from program import (
    AT,
    BAD_CONFIG,
    BAD_DATA,
    BUSY,
    CANNOT_WRITE,
    CHANGING,
    COMMAND,
    INTERRUPTED,
    PATIENCE,
    USAGE,
    Killed,
    Program,
    archived,
    edge,
    fact,
    failing_at,
    in_milks_form,
    killed_at,
    name,
    one_line_error,
    stopped,
    tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SECRET = "SECRETFACT"


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program whose data directory does not exist yet."""
    return Program(tmp_path)


def temporaries(program: Program) -> list[str]:
    """Return the names of our temporary files in and below the data directory."""
    return [path.name for path in program.data.rglob(".milkmem-*")]


# A memory on which one pass promotes, prunes, archives, evicts and moves edges.


def full(program: Program) -> None:
    """Fill all three files so that a pass changes each."""
    program.config("[memory]\npercept_store_max = 4\n")
    program.write(
        "global",
        fact(1, f"{SECRET} core", 1, "user", core=True),
        fact(2, f"{SECRET} stale one", 0.5, idle_seconds=14 * 86400 - 1),
        fact(3, f"{SECRET} of low rank", 0.21),
        fact(4, f"{SECRET} staying", 0.9),
        edges=[edge(2, "extends", 1), edge(4, "extends", 1)],
    )
    program.write(
        "session",
        fact(5, f"{SECRET} of the user", 0.9, "user"),
        fact(6, f"{SECRET} corroborated", 0.9, evidence=2),
        fact(7, f"{SECRET} faded", 0.2001),
        fact(8, f"{SECRET} young and ordinary", 0.7),
        edges=[edge(5, "derives", 6), edge(8, "extends", 7)],
    )
    program.write("archive", archived(fact(9, f"{SECRET} archived before", 0.3), home="session"))


ALL = Counter(name(number) for number in range(1, 10))
PASS = ("consolidate", "--elapsed", "2h", "--at", AT)

WRITING: dict[str, tuple[str, ...]] = {
    "consolidate": PASS,
    "restore": ("restore", name(9)),
    "record a restatement": ("record", f"{SECRET} young and ordinary", "--at", AT),
    "record a stale one": ("record", f"{SECRET} archived before", "--at", AT, "--extends", name(1)),
    "record a new one": ("record", "Something quite different here", "--at", AT, "--extends", name(4)),
    "learn": ("learn", f"{SECRET} young and ordinary", "--at", AT),
    "link": ("link", name(8), "extends", name(4)),
    "unlink": ("unlink", name(4), name(1)),
    "query": ("query", "young", "--at", AT),
    "forget": ("forget", name(4), "--yes"),
}


def everywhere(program: Program) -> Counter[str]:
    """Return how often each id stands in the memory files."""
    return Counter(
        percept["id"]
        for path in program.data.glob("*.json")
        for percept in json.loads(path.read_bytes())["percepts"] or []
    )


def counted_urandom() -> Callable[[int], bytes]:
    """Return a source of bytes that are new each time and the same in each test."""
    numbers = itertools.count(1)
    return lambda size: next(numbers).to_bytes(size, "big")


def before_and_after(
    program: Program, argv: tuple[str, ...]
) -> tuple[dict[str, bytes | None], dict[str, bytes | None]]:
    """Return the memory files before a command and after it, and put the first back."""
    full(program)
    if argv[1] == f"{SECRET} archived before":
        program.write("archive", archived(fact(9, f"{SECRET} archived before", 0.3)))
    before = tree(program.data)
    with mock.patch.object(os, "urandom", counted_urandom()):
        program.ok(*argv)
    after = {path: raw for path, raw in tree(program.data).items() if not path.startswith(".milkmem")}
    reset(program, before)
    return before, after


def reset(program: Program, files: dict[str, bytes | None]) -> None:
    """Put a data directory of plain files back as it was."""
    shutil.rmtree(program.data)
    program.data.mkdir()
    for path, raw in files.items():
        if raw is not None:
            (program.data / path).write_bytes(raw)


def assert_before_or_after(
    program: Program, before: dict[str, bytes | None], after: dict[str, bytes | None], told: object
) -> None:
    """Z5: every memory file is as it was before or as it is after."""
    for path in {*before, *after}:
        found = (program.data / path).read_bytes() if (program.data / path).exists() else None
        assert found in (before.get(path), after.get(path)), (path, told)


EDGES = [(2, 1), (4, 1), (5, 6), (8, 7)]


def assert_whole_again(program: Program, argv: tuple[str, ...], told: object) -> None:
    """Z5: no percept or edge is lost, readers see each once, the next writing command leaves each once and
    no waste.
    """
    forgotten = argv[0] == "forget"
    seen = Counter(row[0] for row in program.ok("inspect", "--archive").rows)
    assert set(seen.values()) == {1}, told
    assert seen.keys() >= ALL.keys() - ({name(4)} if forgotten else set()), told
    program.ok("link", name(8), "derives", name(1))
    whole = everywhere(program)
    assert set(whole.values()) == {1}, told
    assert whole.keys() == seen.keys(), told
    ends = {
        (each["from"], each["to"])
        for path in program.data.glob("*.json")
        for each in program.edges(path.stem)
    }
    kept = [
        (name(one), name(other)) for one, other in EDGES if one != 4 or argv[0] not in ("forget", "unlink")
    ]
    assert ends >= set(kept), told
    assert temporaries(program) == [], told


@pytest.mark.parametrize("command", WRITING)
def test_killed_at_any_step_no_percept_is_lost(program: Program, command: str) -> None:
    """Z3, Z5, case 21: killed before any one step, each file is old or new, nothing is lost, the next
    command heals.
    """
    argv = WRITING[command]
    before, after = before_and_after(program, argv)
    for step in itertools.count():
        reset(program, before)
        done = True
        with mock.patch.object(os, "urandom", counted_urandom()), killed_at(step) as taken:
            try:
                program.run(*argv)
            except Killed:
                done = False
        if done:
            break
        told = (step, taken[-1])
        assert_before_or_after(program, before, after, told)
        assert_whole_again(program, argv, told)
    assert step > 8
    assert taken.count("rename") >= 2


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("consolidate", errno.ENOSPC),
        ("consolidate", errno.EROFS),
        ("restore", errno.ENOSPC),
        ("record a stale one", errno.ENOSPC),
        ("forget", errno.EIO),
        ("query", errno.EIO),
    ],
)
def test_an_error_at_any_step_ends_in_one_line(program: Program, command: str, code: int) -> None:
    """Z5, X2: a disk that fails at one step is exit 73 in one line, each file old or new, no fact in the
    message.
    """
    argv = WRITING[command]
    before, after = before_and_after(program, argv)
    for step in itertools.count():
        reset(program, before)
        with (
            mock.patch.object(os, "urandom", counted_urandom()),
            failing_at(step, lambda: OSError(code, os.strerror(code))) as taken,
        ):
            result = program.run(*argv)
        if len(taken) <= step:
            break
        told = (step, taken[step], result)
        assert "Traceback" not in result.err, told
        assert SECRET not in result.err, told
        assert len(result.err.splitlines()) <= 2, told
        if result.code != 0:
            one_line_error(result, CANNOT_WRITE)
        if command == "query":
            assert (result.code, SECRET in result.out) == (0, True), told
        assert_before_or_after(program, before, after, told)
        assert_whole_again(program, argv, told)
    assert step > 8


@pytest.mark.parametrize("command", ["consolidate", "record a restatement", "forget"])
def test_interrupted_at_any_step(program: Program, command: str) -> None:
    """Z5, X2: Ctrl-C before any one step is exit 130 without a traceback, each file old or new."""
    argv = WRITING[command]
    before, after = before_and_after(program, argv)
    for step in itertools.count():
        reset(program, before)
        with (
            mock.patch.object(os, "urandom", counted_urandom()),
            failing_at(step, KeyboardInterrupt) as taken,
        ):
            result = program.run(*argv)
        if len(taken) <= step:
            break
        assert (result.code, result.err) == (INTERRUPTED, ""), (step, result)
        assert_before_or_after(program, before, after, step)
        assert temporaries(program) == []
        assert_whole_again(program, argv, step)


def test_killed_processes_lose_nothing(program: Program) -> None:
    """Z5, case 21: real processes killed at random moments lose nothing; the next command works."""
    full(program)
    before = tree(program.data)
    begun = time.monotonic()
    program.call(*PASS)
    lasts = time.monotonic() - begun
    chance = random.Random(20261202)
    for number in range(12):
        reset(program, before)
        process = program.start(*PASS)
        time.sleep(chance.uniform(0.3, 1.1) * lasts)
        process.kill()
        process.communicate(timeout=PATIENCE)
        assert_whole_again(program, PASS, number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_waiting_ends_at_once(program: Program, number: signal.Signals) -> None:
    """Z5, X2: Ctrl-C and termination while waiting for the lock end at once, nothing written; Ctrl-C is
    130.
    """
    full(program)
    before = program.memory_files()
    with program.locked():
        process = program.start("consolidate", "--elapsed", "2h")
        wait_for(lambda: waits_for_the_lock(program, process.pid))
        begun = time.monotonic()
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE)
        assert time.monotonic() - begun < 3
    assert process.returncode in ((INTERRUPTED,) if number == signal.SIGINT else (-number, 128 + number))
    assert out + err == b""
    assert program.memory_files() == before


def waits_for_the_lock(program: Program, pid: int) -> bool:
    """Return whether a process has the lock file open."""
    held = Path(f"/proc/{pid}/fd")
    with contextlib.suppress(OSError):
        return any(os.readlink(each) == str(program.lock) for each in held.iterdir())
    return False


def wait_for(true: Callable[[], bool]) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


# Z1: the lock


@pytest.mark.parametrize("command", [each for each in WRITING if each != "query"])
def test_a_busy_lock_is_75_with_nothing_written(program: Program, command: str) -> None:
    """Z1: a writing command waits for the lock as long as it is told, then ends with 75 and nothing
    written.
    """
    full(program)
    before = program.memory_files()
    with program.locked():
        begun = time.monotonic()
        result = program.run(*WRITING[command], env={"MILKMEM_LOCK_TIMEOUT": "0.2"})
        lasted = time.monotonic() - begun
    one_line_error(result, BUSY)
    assert 0.2 <= lasted < 2
    assert program.memory_files() == before
    assert temporaries(program) == []


@pytest.mark.parametrize("timeout", [None, "0.3", "30"])
@pytest.mark.parametrize("argv", [("query", "young"), ("inject", "young")], ids=lambda argv: argv[0])
def test_recall_does_not_wait_for_the_lock(
    program: Program, argv: tuple[str, ...], timeout: str | None
) -> None:
    """Q3: with the lock busy query and inject answer within half a second, with a warning and exit 0."""
    full(program)
    before = program.memory_files()
    with program.locked():
        begun = time.monotonic()
        result = program.ok(*argv, env={"MILKMEM_LOCK_TIMEOUT": timeout})
        lasted = time.monotonic() - begun
    assert f"{SECRET} young and ordinary" in result.out
    assert lasted < 1
    assert len(result.err.splitlines()) == 1, result
    assert result.err.startswith("milkmem: ")
    assert program.memory_files() == before


@pytest.mark.parametrize(
    "argv",
    [
        ("query", "--no-touch", "--min-confidence", "0", "--limit", "99"),
        ("query", "nothing-of-this"),
        ("inspect",),
        ("inspect", name(8)),
        ("consolidate", "--dry-run", "--elapsed", "2h", "-v"),
        ("forget", name(8), "--dry-run"),
        ("run", "show"),
        ("config", "show"),
    ],
    ids=" ".join,
)
def test_reads_take_no_lock(program: Program, argv: tuple[str, ...]) -> None:
    """Z1: reads take no lock, so a busy one neither delays them nor is mentioned."""
    full(program)
    with program.locked():
        begun = time.monotonic()
        assert program.ok(*argv).err == ""
        assert time.monotonic() - begun < 0.45


def test_the_lock_is_waited_for(program: Program) -> None:
    """Z1: a lock that is freed in time is waited for."""
    full(program)
    held = threading.Event()

    def hold() -> None:
        with program.locked():
            held.set()
            time.sleep(0.3)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(PATIENCE)
    begun = time.monotonic()
    program.ok(*PASS)
    assert time.monotonic() - begun > 0.2
    holder.join()


def test_the_lock_is_waited_for_ten_seconds_at_most(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z1: unless told otherwise a command waits at most ten seconds."""
    full(program)
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", lambda seconds: clock.__setitem__(0, clock[0] + seconds))
    with program.locked():
        result = program.run(*PASS)
    assert result.code == BUSY
    assert clock[0] - 100 == pytest.approx(10, abs=0.5)


@pytest.mark.parametrize("timeout", ["abc", "-1", "nan", "inf", "1s"])
def test_a_bad_lock_timeout_is_refused(program: Program, timeout: str) -> None:
    """Z1, X2: a lock timeout that is no number of seconds is a configuration error, nothing written."""
    full(program)
    before = tree(program.data)
    one_line_error(
        program.run(*PASS, env={"MILKMEM_LOCK_TIMEOUT": timeout}), BAD_CONFIG, "MILKMEM_LOCK_TIMEOUT"
    )
    assert tree(program.data) == before


def test_a_killed_holder_frees_the_lock_at_once(program: Program) -> None:
    """Z1: the lock of a process that was killed is free at once, and the lock file stays the same file."""
    full(program)
    program.ok("run", "start")
    inode = program.lock.stat().st_ino
    holds = "import fcntl, sys, time; held = open(sys.argv[1]); fcntl.flock(held, 2); print(1, flush=True);"
    holds += "time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", holds, str(program.lock)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    one_line_error(program.run(*PASS, env={"MILKMEM_LOCK_TIMEOUT": "0.1"}), BUSY)
    stopped(holder, signal.SIGKILL)
    program.ok(*PASS, env={"MILKMEM_LOCK_TIMEOUT": "0"})
    assert program.lock.stat().st_ino == inode


def test_sessions_are_read_before_the_global_store(program: Program) -> None:
    """Z1: reads take the session before the global file before the archive, so that no move can hide a
    percept.
    """
    full(program)
    opened: list[str] = []
    real = os.open

    def traced(path: Any, *args: Any, **options: Any) -> int:
        opened.append(os.path.basename(str(path)))
        return real(path, *args, **options)

    for argv in (
        ("query", "--no-touch"),
        ("inspect", "--archive"),
        ("inject",),
        ("forget", name(4), "--dry-run"),
    ):
        opened.clear()
        with mock.patch.object(os, "open", traced):
            program.ok(*argv)
        read = [path for path in opened if path.endswith(".json") and path != "runs.json"]
        assert read[:2] == ["session.json", "global.json"], argv
        assert "archive.json" not in read[:2]


def test_what_was_left_is_not_checked_again(program: Program) -> None:
    """F7: the form of a file is checked once; a file that another program touched is checked anew."""
    full(program)
    program.ok(*PASS)
    checked: list[str] = []
    real = checking.check

    def noted(document: Any, *, archive: bool = False) -> None:
        checked.append(document["percepts"][0]["content"])
        real(document, archive=archive)

    with mock.patch.object(checking, "check", noted):
        program.ok("query", "SECRETFACT")
        program.ok(*PASS)
        program.ok("inspect")
        assert checked == []
        program.write("global", *program.facts("global").values())
        program.ok("query", "SECRETFACT", "--no-touch")
        assert len(checked) == 1
        program.ok(*PASS)
        program.ok(*PASS)
        assert len(checked) == 2
    program.write("global", {"id": "x"})
    one_line_error(program.run("query", "x"), BAD_DATA)
    one_line_error(program.run(*PASS), BAD_DATA)


def test_an_archive_that_was_not_read_is_not_trusted(program: Program) -> None:
    """F7: an archive that another program spoils between two commands is refused, whatever came between."""
    full(program)
    program.ok(*PASS)
    program.file("archive").write_bytes(b"{")
    program.ok("query", "SECRETFACT")
    one_line_error(program.run("inspect", "--archive"), BAD_DATA)
    one_line_error(program.run(*PASS), BAD_DATA)


def test_a_broken_record_of_runs_makes_nothing_trusted(program: Program) -> None:
    """F7: without a record of how the files were left, each of them is checked."""
    full(program)
    program.ok(*PASS)
    (program.data / ".milkmem" / "runs.json").write_bytes(b"{}")
    with mock.patch.object(checking, "check") as check:
        program.ok("query", "SECRETFACT", "--no-touch")
    assert check.call_count == 2


def test_other_data_directories_have_other_locks(program: Program) -> None:
    """Z1: the lock belongs to one data directory."""
    full(program)
    other = program.root / "other"
    with program.locked():
        program.ok("record", "A fact", "--data-dir", str(other), env={"MILKMEM_LOCK_TIMEOUT": "0"})


TOPICS = [
    "queue",
    "tides",
    "harbour",
    "lantern",
    "granite",
    "violin",
    "meadow",
    "copper",
    "falcon",
    "nutmeg",
    "glacier",
    "pepper",
    "saddle",
    "walnut",
    "cobalt",
    "thistle",
    "anchor",
    "marble",
    "ribbon",
    "juniper",
]


def test_twenty_processes_record_twenty_facts(program: Program) -> None:
    """Z1, case 20: twenty processes record one fact each while others consolidate: twenty percepts, each
    once.
    """
    started = []
    for number, topic in enumerate(TOPICS):
        started.append(program.start("record", f"The {topic} belongs to team {number}"))
        if number % 5 == 4:
            started.append(program.start("consolidate", "--elapsed", "1m"))
    for process in started:
        out, err = process.communicate(timeout=3 * PATIENCE)
        assert (process.returncode, err) == (0, b""), out
    contents = program.contents("session")
    assert Counter(contents) == Counter(
        f"The {topic} belongs to team {number}" for number, topic in enumerate(TOPICS)
    )
    assert temporaries(program) == []


def test_one_fact_from_many_processes_is_one_percept(program: Program) -> None:
    """Z1, R3: the same fact from processes at the same time is one percept, with one award in one run."""
    started = [program.start("record", "The queue belongs to team one", "--run", "same") for _ in range(6)]
    for process in started:
        process.communicate(timeout=2 * PATIENCE)
        assert process.returncode == 0
    (percept,) = program.facts("session").values()
    assert percept["evidence"] == 1
    assert percept["w"] == pytest.approx(0.9)


# Z2: replacing files


class Trace:
    """The steps by which files are replaced, each with the file it acts on."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, str]] = []

    @contextlib.contextmanager
    def recorded(self) -> Iterator[None]:
        """Record steps while the program runs."""
        fsync, rename, replace, write = os.fsync, os.rename, os.replace, os.write

        def traced_fsync(descriptor: int) -> None:
            self.steps.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))
            fsync(descriptor)

        def traced_write(descriptor: int, data: bytes) -> int:
            self.steps.append(("write", os.readlink(f"/proc/self/fd/{descriptor}")))
            return write(descriptor, data)

        def traced(move: Callable[..., None]) -> Callable[..., None]:
            def traced_move(source: str, target: str, **options: Any) -> None:
                self.steps += [("from", os.fspath(source)), ("to", os.fspath(target))]
                move(source, target, **options)

            return traced_move

        with (
            mock.patch.object(os, "fsync", traced_fsync),
            mock.patch.object(os, "write", traced_write),
            mock.patch.object(os, "rename", traced(rename)),
            mock.patch.object(os, "replace", traced(replace)),
        ):
            yield

    @property
    def replaced(self) -> list[str]:
        """The files that were replaced, in order."""
        return [path for step, path in self.steps if step == "to"]


def test_a_file_is_synced_before_it_is_renamed_and_its_directory_after(program: Program) -> None:
    """Z2: complete temporary file beside the real one, synced, renamed, the directory synced, before
    success.
    """
    full(program)
    trace = Trace()
    with trace.recorded():
        program.ok(*PASS)
    sources = [path for step, path in trace.steps if step == "from"]
    assert len(set(sources)) == len(sources) >= 4
    for source, target in zip(sources, trace.replaced, strict=True):
        assert os.path.dirname(source) == os.path.dirname(target)
        at = trace.steps.index(("from", source))
        assert ("sync", source) in trace.steps[:at]
        assert ("write", source) not in trace.steps[trace.steps.index(("sync", source)) :]
        assert ("sync", os.path.dirname(target)) in trace.steps[at:]


ORDER = {
    "consolidate": (PASS, ["runs.json", "archive.json", "global.json", "session.json"]),
    "consolidate in a named run": (
        (*PASS, "--run", "named"),
        ["archive.json", "global.json", "session.json"],
    ),
    "restore to the session": (("restore", name(9)), ["session.json", "archive.json"]),
    "restore to global": (("restore", name(10)), ["global.json", "archive.json"]),
}


@pytest.mark.parametrize("case", ORDER)
def test_the_destination_is_replaced_before_the_source(program: Program, case: str) -> None:
    """Z3: run record, archive.json, global.json, the session's file; in a restore the archive last."""
    full(program)
    program.write(
        "archive",
        archived(fact(9, "Of the session"), "pruned", "session"),
        archived(fact(10, "Of all"), "stale", "global"),
    )
    argv, expected = ORDER[case]
    trace = Trace()
    with trace.recorded():
        program.ok(*argv)
    memory = [os.path.basename(path) for path in trace.replaced if os.path.dirname(path) == str(program.data)]
    assert memory == [each for each in expected if each != "runs.json"]
    state = [at for at, path in enumerate(trace.replaced) if ".milkmem" in path]
    if argv[0] == "consolidate":
        assert state
        assert max(state) < min(at for at, path in enumerate(trace.replaced) if ".milkmem" not in path)
    if "named" in argv:
        assert any(os.path.basename(trace.replaced[at]) == "named.json" for at in state)


def test_modes_and_owners_are_kept(program: Program) -> None:
    """Z2: an existing file keeps mode and owner; a new one is 0600."""
    full(program)
    program.file("archive").unlink()
    program.file("global").chmod(0o640)
    program.file("session").chmod(0o444)
    if os.geteuid() == 0:
        os.chown(program.file("global"), 12345, 23456)
    program.ok(*PASS)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in program.data.glob("*.json")}
    assert modes == {"global.json": 0o640, "session.json": 0o444, "archive.json": 0o600}
    assert stat.S_IMODE((program.data / ".milkmem").stat().st_mode) == 0o700
    if os.geteuid() == 0:
        status = program.file("global").stat()
        assert (status.st_uid, status.st_gid) == (12345, 23456)


def test_symbolic_links_are_written_through(program: Program) -> None:
    """Z2: a file behind a link is replaced where it is, by a temporary file beside it; links and modes
    stay.
    """
    full(program)
    real = program.root / "dotfiles"
    real.mkdir()
    for store in ("global", "session", "archive"):
        program.file(store).rename(real / f"{store}-real.json")
        program.file(store).symlink_to(os.path.join("..", "dotfiles", f"{store}-real.json"))
    (real / "session-real.json").chmod(0o640)
    whole = program.root / "whole"
    whole.symlink_to(program.data)
    trace = Trace()
    with trace.recorded():
        program.ok(*PASS, "--data-dir", str(whole))

    assert all(program.file(store).is_symlink() for store in ("global", "session", "archive"))
    assert whole.is_symlink()
    assert stat.S_IMODE((real / "session-real.json").stat().st_mode) == 0o640
    assert name(6) in program.facts("global")
    moved = [os.path.realpath(path) for path in trace.replaced if ".milkmem" not in path]
    assert sorted(moved) == sorted(
        str(real / f"{store}-real.json") for store in ("global", "session", "archive")
    )
    assert sorted(path.name for path in real.iterdir()) == [
        "archive-real.json",
        "global-real.json",
        "session-real.json",
    ]
    assert everywhere(program) == ALL


def test_one_directory_by_two_names_is_one(program: Program) -> None:
    """Z1, Z2: a data directory reached through a link has the same lock, and its leavings are known as its
    own.
    """
    full(program)
    link = program.root / "link"
    link.symlink_to(program.data)
    with program.locked():
        one_line_error(program.run(*PASS, "--data-dir", str(link), env={"MILKMEM_LOCK_TIMEOUT": "0"}), BUSY)
    with killed_at(12), contextlib.suppress(Killed):
        program.run(*PASS, "--data-dir", str(link))
    assert temporaries(program) != []
    program.ok(*PASS)
    assert temporaries(program) == []


def test_leavings_are_removed_and_those_of_others_are_not(program: Program) -> None:
    """Z2: left-over temporary files of this directory go with the next writing command; all others stay."""
    full(program)
    shared = program.root / "shared"
    shared.mkdir()
    other = program.root / "other"
    other.mkdir()
    for directory, store in ((program.data, "session"), (other, "session")):
        real = shared / f"{directory.name}.json"
        if directory == other:
            shutil.copy(program.file(store).resolve(), real)
        else:
            program.file(store).rename(real)
        (directory / f"{store}.json").symlink_to(real)
    for step in range(9, 16):
        for directory in (program.data, other):
            with killed_at(step), contextlib.suppress(Killed):
                program.run(*PASS, "--data-dir", str(directory))
    mine = {path.name for path in program.data.rglob(".milkmem-*")}
    beside = {path.name for path in shared.glob(".milkmem-*")}
    assert mine
    assert beside
    foreign = [
        program.data / each for each in ("global.json.tmp", "session.json.tmp", ".milkmem-x.tmp", "x.tmp")
    ]
    for path in foreign:
        path.write_text("of another program")

    program.ok("learn", "A fact")
    left = {path.name for path in shared.glob(".milkmem-*")}
    assert {path.name for path in program.data.rglob(".milkmem-*")} == {".milkmem-x.tmp"}
    assert all(path.read_text() == "of another program" for path in foreign)
    assert left < beside, "what the other directory left beside the same files is not ours to remove"
    assert left
    program.ok("learn", "A fact", "--data-dir", str(other))
    assert list(shared.glob(".milkmem-*")) == []


@pytest.mark.parametrize("kind", ["loop", "not a directory", "dangling"])
def test_odd_links_are_an_error_in_one_line(program: Program, kind: str) -> None:
    """F7, Z2: a link that leads in a circle or through a file is refused; a dangling one is written
    through.
    """
    full(program)
    program.file("session").unlink()
    target = program.root / "real.json"
    if kind == "loop":
        program.file("session").symlink_to(program.file("session"))
    elif kind == "dangling":
        program.file("session").symlink_to(target)
    else:
        program.file("session").symlink_to(program.file("global") / "x.json")
    result = program.run("record", "A fact")
    if kind == "dangling":
        assert result.code == 0, result
        assert json.loads(target.read_bytes())["percepts"][0]["content"] == "A fact"
    else:
        assert result.code in (BAD_DATA, CANNOT_WRITE), result
        assert len(result.err.splitlines()) <= 2
        assert str(program.file("session")) in result.err
    assert program.file("session").is_symlink()


# Z3: healing

BEFORE_PASS = {
    "promotion": {
        "global": [fact(1, "Moved", 0.85, evidence=2), fact(2, "Global", 0.9)],
        "session": [fact(1, "Moved", 0.86, evidence=2), fact(3, "Session")],
        "archive": [],
    },
    "archiving": {
        "global": [fact(1, "Moved", 0.5, idle_seconds=1209600), fact(2, "Global", 0.9)],
        "session": [fact(3, "Session")],
        "archive": [archived(fact(1, "Moved", 0.5, idle_seconds=1209600))],
    },
    "pruning": {
        "global": [fact(2, "Global", 0.9)],
        "session": [fact(1, "Moved", 0.4), fact(3, "Session")],
        "archive": [archived(fact(1, "Moved", 0.2), "pruned", "session")],
    },
    "restoring": {
        "global": [fact(1, "Moved", 0.5), fact(2, "Global", 0.9)],
        "session": [fact(3, "Session")],
        "archive": [archived(fact(1, "Moved", 0.3, idle_seconds=1209600))],
    },
    "everything at once": {
        "global": [fact(1, "Moved", 0.85, evidence=2), fact(2, "Global", 0.9)],
        "session": [fact(1, "Moved", 0.86, evidence=2), fact(3, "Session")],
        "archive": [archived(fact(1, "Moved", 0.2), "pruned", "session")],
    },
}


# Where a crash in the middle of each move can leave an edge of the percept that moved.
EDGES_LEFT = {
    "promotion": ["session", "global session"],
    "archiving": ["archive global", "archive session"],
    "pruning": ["archive session", "archive global"],
    "restoring": ["archive global", "archive session"],
    "everything at once": ["archive session", "global session archive"],
}


@pytest.mark.parametrize(
    ("crash", "edges_in"), [(crash, each) for crash, left in EDGES_LEFT.items() for each in left]
)
def test_every_state_a_crash_leaves_is_healed(program: Program, crash: str, edges_in: str) -> None:
    """Z3: global wins over session, both over the archive; an edge is kept once; healing awards nothing."""
    for store, facts in BEFORE_PASS[crash].items():
        edges = [edge(1, "contradicts", 2)] if store in edges_in.split() else None
        program.write(store, *facts, edges=edges)
    home = "session" if crash == "pruning" else "global"
    stands = program.facts(home)[name(1)]

    rows = program.ok("inspect", "--archive").rows
    assert sorted(row[0] for row in rows) == [name(1), name(2), name(3)]
    assert [row[1] for row in rows if row[0] == name(1)] == [home]
    assert [row[0] for row in program.ok("query", "moved", "--no-touch").rows] == [name(1)]
    new = program.ok("record", "Something else entirely", "--at", AT).rows[0][0]

    assert everywhere(program) == Counter([name(1), name(2), name(3), new])
    assert program.facts(home)[name(1)] == stands
    assert program.edges("archive") == []
    assert program.edges("session") + program.edges("global") == [edge(1, "contradicts", 2)]


@pytest.mark.parametrize(
    "argv", [("learn", "Something else entirely"), ("consolidate", "--elapsed", "2h")], ids=str
)
def test_an_edge_survives_a_kill_while_healing(program: Program, argv: tuple[str, ...]) -> None:
    """Z3: an edge that healing brings back from the archive is in its new file before it leaves the old one,
    also when the same pass archives something else.
    """
    for step in itertools.count():
        program.write("global", fact(1, "Back again", 0.5), fact(2, "Global", 0.9))
        program.write("session", fact(3, "Session"), fact(4, "Faded", 0.2001), edges=[edge(4, "extends", 3)])
        program.write("archive", archived(fact(1, "Back again", 0.5)), edges=[edge(1, "extends", 3)])
        done = True
        with killed_at(step):
            try:
                program.run(*argv)
            except Killed:
                done = False
        found = [each for store in ("global", "session", "archive") for each in program.edges(store)]
        assert edge(1, "extends", 3) in found, step
        assert edge(4, "extends", 3) in found, step
        assert everywhere(program).keys() >= {name(number) for number in range(1, 5)}, step
        if done:
            break
    assert step > 8


def test_healing_awards_nothing(program: Program) -> None:
    """Z3: a duplicate that a crash left earns no evidence and no weight when a pass heals it."""
    program.write("global", fact(1, "Moved", 0.85, evidence=2))
    program.write("session", fact(1, "Moved", 0.85, evidence=2), fact(2, "The same", 0.7))
    report = program.json("consolidate", "--elapsed", "0s")
    assert program.facts("global")[name(1)] == fact(1, "Moved", 0.85, evidence=2)
    assert (report["counts"]["promoted"], report["changes"]) == (0, [])
    assert report["totals"] == {"global": 1, "session": 1}


def test_a_dry_run_heals_as_the_pass_does(program: Program) -> None:
    """C3, Z3: on what a crash left, a dry run reports what the pass does."""
    for store, facts in BEFORE_PASS["everything at once"].items():
        program.write(store, *facts, edges=[edge(1, "extends", 2)] if store == "archive" else None)
    rehearsed = program.json("consolidate", "--elapsed", "2h", "--at", AT, "--dry-run")
    done = program.json("consolidate", "--elapsed", "2h", "--at", AT)
    assert {**rehearsed, "dry_run": False, "run": None} == {**done, "run": None}


def test_forget_removes_both_copies_a_crash_left(program: Program) -> None:
    """G1, Z3: forgetting a percept caught in a move removes it from every file."""
    for crash, target in itertools.product(BEFORE_PASS, (name(1), "Moved")):
        for store, facts in BEFORE_PASS[crash].items():
            program.write(store, *facts)
        program.ok("forget", target, "--yes")
        assert everywhere(program)[name(1)] == 0


def test_a_broken_file_does_not_put_healing_off_for_ever(program: Program) -> None:
    """Z3, G1: a duplicate that forget could not heal beside a broken file is healed once that file is
    mended.
    """
    for store, facts in BEFORE_PASS["archiving"].items():
        program.write(store, *facts)
    elsewhere = program.file("elsewhere")
    elsewhere.write_bytes(b"[]")
    assert program.run("forget", name(3), "--yes").code == BAD_DATA
    elsewhere.unlink()
    program.ok("learn", "A new thing")
    assert everywhere(program)[name(1)] == 1


def test_what_milk_writes_back_after_a_promotion_is_healed(program: Program) -> None:
    """Z3, Z4: milk rewrites its session from memory and brings promoted percepts back; the next write drops
    them.
    """
    full(program)
    old = program.file("session").read_bytes()
    program.ok(*PASS)
    program.file("session").write_bytes(old)
    program.ok("consolidate", "--elapsed", "0s", "--at", AT)
    assert everywhere(program) == ALL
    assert {name(5), name(6)} <= program.facts("global").keys()


# Z4: another program writes too


def milk_adds(program: Program, store: str, number: int) -> None:
    """Do what milk does: read a file, add a percept, and rename a new file over the old one."""
    path = program.file(store)
    document = (
        json.loads(path.read_bytes()) if path.exists() else {"percepts": None, "engrams": None, "edges": None}
    )
    document["percepts"] = [*(document["percepts"] or []), fact(number, f"Added by milk as {number}")]
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_bytes(in_milks_form(document))
    temporary.rename(path)


@contextlib.contextmanager
def meanwhile(call: str, act: Callable[[int, tuple[Any, ...]], None]) -> Iterator[None]:
    """Let something happen each time just after the program made a system call; it is told how often."""
    real = getattr(os, call)
    times = itertools.count()
    inside = [False]

    def called(*args: Any, **options: Any) -> Any:
        result = real(*args, **options)
        if not inside[0]:
            inside[0] = True
            try:
                act(next(times), args)
            finally:
                inside[0] = False
        return result

    with mock.patch.object(os, call, called):
        yield


@pytest.mark.parametrize("store", ["global", "session", "archive"])
@pytest.mark.parametrize("command", ["consolidate", "record a restatement"])
def test_a_file_that_changed_meanwhile_has_the_work_done_again(
    program: Program, command: str, store: str
) -> None:
    """Z4: what milk writes before the first replacement is kept, and the work is done once, on top of it."""
    full(program)
    if store == "archive":
        foreign = archived(fact(99, "Added to the archive"))

        def act(number: int, _: object) -> None:
            if number == 0:
                program.write("archive", *program.facts("archive").values(), foreign)

    else:

        def act(number: int, _: object) -> None:
            if number == 0:
                milk_adds(program, store, 99)

    with meanwhile("fsync", act):
        result = program.ok(*WRITING[command])

    assert result.err == "" or command != "consolidate"
    assert everywhere(program) == ALL + Counter([name(99)])
    kept = {**program.facts("global"), **program.facts("session"), **program.facts("archive")}
    if command == "consolidate":
        assert kept[name(8)]["w"] == pytest.approx(0.7 * 2 ** (-2 / 72), abs=1e-12)
        assert kept[name(4)].get("idle_seconds") == 7200
    else:
        assert kept[name(8)]["w"] == pytest.approx(0.75)
        assert kept[name(8)]["evidence"] == 1
    assert temporaries(program) == []
    program.ok("record", f"{SECRET} young and ordinary", "--at", AT)
    again = {**program.facts("global"), **program.facts("session")}[name(8)]
    assert again["evidence"] == 1, "the run's one award was given, and given once"


def test_edges_award_once_when_the_work_is_done_again(program: Program) -> None:
    """Z4, E2, R3: redone work starts from the run record as first read, so an edge still awards, and once."""
    program.write("session", fact(1, "One"), fact(2, "Two"), edges=[edge(1, "extends", 2)])

    def act(number: int, _: object) -> None:
        if number in (0, 3):
            milk_adds(program, "session", 90 + number)

    with meanwhile("fsync", act):
        program.ok("consolidate", "--elapsed", "1h", "--run", "one")
    target = program.facts("session")[name(2)]
    assert target["evidence"] == 1
    assert target["w"] == pytest.approx(0.7 * 2 ** (-1 / 72) + 0.05, abs=1e-12)
    program.ok("consolidate", "--elapsed", "1h", "--run", "one")
    assert program.facts("session")[name(2)]["evidence"] == 1


@pytest.mark.parametrize("how", ["created", "removed", "same size"])
def test_any_change_is_noticed(program: Program, how: str) -> None:
    """Z4: a file created, removed or rewritten to the same size meanwhile is noticed before anything is
    replaced.
    """
    program.write("session", fact(5, "A fact of the user", 0.9, "user"), fact(6, "Another thing"))
    if how != "created":
        program.write("global", fact(1, "First of all", 0.9))

    def act(number: int, _: object) -> None:
        if number > 0:
            return
        if how == "created":
            program.write("global", fact(1, "First of all", 0.9))
        elif how == "removed":
            program.file("global").unlink()
        else:
            program.write("global", fact(1, "Other for us", 0.9))

    with meanwhile("fsync", act):
        program.ok("consolidate", "--elapsed", "0s", "--at", AT)

    expected = {"created": ["First of all"], "removed": [], "same size": ["Other for us"]}[how]
    assert program.contents("global") == [*expected, "A fact of the user"]
    assert program.contents("session") == ["Another thing"]


@pytest.mark.parametrize("command", ["consolidate", "record a restatement", "restore", "link", "forget"])
def test_a_file_that_keeps_changing_ends_in_75(program: Program, command: str) -> None:
    """Z4: after five times in vain the command ends with 75, and what the other program wrote stands."""
    full(program)
    other = {store: program.file(store).read_bytes() for store in ("session", "archive")}
    reads = []
    real_open = os.open

    def traced_open(path: Any, *args: Any, **options: Any) -> int:
        reads.append(str(path))
        return real_open(path, *args, **options)

    with (
        meanwhile("fsync", lambda number, _: milk_adds(program, "global", 1000 + number)),
        mock.patch.object(os, "open", traced_open),
    ):
        result = program.run(*WRITING[command])
    one_line_error(result, BUSY)
    assert SECRET not in result.err
    assert 2 <= reads.count(str(program.file("global"))) <= 7
    assert {store: program.file(store).read_bytes() for store in other} == other
    added = [percept for percept in program.facts("global") if int(percept[:8], 16) >= 1000]
    assert len(added) >= 5
    assert temporaries(program) == []
    before = program.facts("session")[name(8)]
    program.ok("record", f"{SECRET} young and ordinary", "--at", AT)
    assert program.facts("session")[name(8)]["evidence"] == before.get("evidence", 0) + 1, (
        "no award was used up"
    )


def test_a_later_file_that_changes_is_left_alone(program: Program) -> None:
    """Z4: a file that changes after the first was replaced is left with a warning; the next pass completes
    the move.
    """
    full(program)

    def act(_: int, args: tuple[Any, ...]) -> None:
        if os.path.basename(args[1]) == "global.json":
            milk_adds(program, "session", 99)

    with meanwhile("rename", act):
        result = program.ok(*PASS)

    warned = [line for line in result.err.splitlines() if str(program.file("session")) in line]
    assert len(warned) == 1, result
    assert warned[0].startswith("milkmem: ")
    assert name(99) in program.facts("session")
    assert name(5) in program.facts("session").keys() & program.facts("global").keys()
    moved = program.facts("global")
    seen = Counter(row[0] for row in program.ok("inspect", "--archive").rows)
    assert seen == ALL + Counter([name(99)])
    program.ok("record", "Something else", "--at", AT)
    assert everywhere(program) & (ALL + Counter([name(99)])) == ALL + Counter([name(99)])
    assert set(everywhere(program).values()) == {1}
    assert program.facts("global") == moved
    assert temporaries(program) == []


def test_a_change_just_before_the_first_replacement_is_seen(program: Program) -> None:
    """Z4: what another program writes after the run record was replaced, but no memory file, is kept too."""
    full(program)

    def act(number: int, _: tuple[Any, ...]) -> None:
        if number == 0:
            milk_adds(program, "session", 99)

    with meanwhile("rename", act):
        program.ok("record", "A fact of the user", "--at", AT)
    assert name(99) in program.facts("session")
    assert program.contents("session")[-1] == "A fact of the user"


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("run", [(), ("--run", "named")])
def test_a_run_record_is_put_back_where_nothing_was_done(
    program: Program, run: tuple[str, ...], begun: bool
) -> None:
    """R3, Z4: a command that ends with 75 after it wrote the run record leaves the record as it was."""
    full(program)
    if begun:
        program.ok("run", "start", *run)
    before = {path: raw for path, raw in tree(program.data).items() if path.endswith(".json")}

    def act(number: int, args: tuple[Any, ...]) -> None:
        if ".milkmem" in os.path.dirname(args[1]):
            milk_adds(program, "session", 100 + number)

    with meanwhile("rename", act):
        one_line_error(program.run("record", f"{SECRET} young and ordinary", "--at", AT, *run), BUSY)
    after = {path: raw for path, raw in tree(program.data).items() if path.endswith(".json")}
    assert after.pop("session.json") != before.pop("session.json")
    assert after == before


def test_a_forget_that_was_cut_short_is_done_again(program: Program) -> None:
    """G1, Z4: a file that changes while forget replaces several is read and cleaned again, without a word."""
    full(program)
    both = {"id": name(4), "content": f"{SECRET} staying"}
    program.write("global", *program.facts("global").values(), edges=[edge(4, "extends", 1)])
    program.write("elsewhere", fact(4, both["content"]), fact(70, "another"))

    def act(number: int, args: tuple[Any, ...]) -> None:
        if number == 0:
            milk_adds(program, "elsewhere", 99)

    with meanwhile("rename", act):
        result = program.ok("forget", name(4), "--yes")
    assert result.err == ""
    assert [row[0] for row in result.rows] == [name(4)]
    assert name(4) not in everywhere(program)
    assert list(program.facts("elsewhere")) == [name(70), name(99)]
    assert both["content"].encode() not in b"".join(raw for raw in tree(program.data).values() if raw)


def test_a_forget_that_is_cut_short_each_time_ends_in_75(program: Program) -> None:
    """G1, Z4: a file that changes at every attempt to forget ends in 75, and not in success."""
    full(program)
    program.write("elsewhere", fact(4, f"{SECRET} staying"))

    def act(number: int, args: tuple[Any, ...]) -> None:
        if os.path.basename(args[1]) == "runs.json" or number % 2 == 0:
            milk_adds(program, "elsewhere", 100 + number)

    with meanwhile("rename", act):
        result = program.run("forget", name(4), "--yes")
    one_line_error(result, BUSY)
    assert program.contents("elsewhere")[0] == f"{SECRET} staying"


def test_a_destination_that_changes_keeps_its_source(program: Program) -> None:
    """Z3, Z4: where the global file is left alone because it changed, so is the session that its promotions
    leave; nothing is lost.
    """
    full(program)

    def act(_: int, args: tuple[Any, ...]) -> None:
        if os.path.basename(args[1]) == "archive.json":
            milk_adds(program, "global", 99)

    with meanwhile("rename", act):
        result = program.ok(*PASS)

    assert [str(program.file(store)) in result.err for store in ("global", "session")] == [True, True], result
    assert SECRET not in result.err
    assert everywhere(program).keys() == ALL.keys() | {name(99)}
    program.ok(*PASS)
    assert everywhere(program) == ALL + Counter([name(99)])
    assert name(5) in program.facts("global")
    assert temporaries(program) == []


def test_memory_changed_during_a_question_is_seen_afresh(program: Program) -> None:
    """G1: what was chosen before the lock is found again by id under it."""
    full(program)

    def act(_: int, args: tuple[Any, ...]) -> None:
        if str(args[0]) == str(program.lock) and name(99) not in program.facts("global"):
            milk_adds(program, "global", 99)

    with meanwhile("open", act):
        program.ok("forget", name(4), "--yes")
    assert everywhere(program) == ALL + Counter([name(99)]) - Counter([name(4)])


# Case 26: a place that cannot be written


@contextlib.contextmanager
def read_only(code: int = errno.EROFS) -> Iterator[None]:
    """Let every step that would change a file fail."""

    def refuse(call: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def refused(*args: Any, **options: Any) -> Any:
            if call == "open" and not (args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
                return real(*args, **options)
            if call in ("write", "fsync"):
                return real(*args, **options)
            raise OSError(code, os.strerror(code), args[0])

        return refused

    with contextlib.ExitStack() as stack:
        for call in CHANGING:
            stack.enter_context(mock.patch.object(os, call, refuse(call, getattr(os, call))))
        yield


@pytest.mark.parametrize("code", [errno.EROFS, errno.EACCES], ids=errno.errorcode.get)
@pytest.mark.parametrize("used_before", [True, False])
def test_a_read_only_place(program: Program, used_before: bool, code: int) -> None:
    """Case 26, Q3: in a place that cannot be written reading works, with a warning for the use; writing is
    73.
    """
    full(program)
    if used_before:
        program.ok("run", "start", "--run", "kept")
    before = tree(program.data)
    with read_only(code):
        for argv in (
            ("query", "young", "--no-touch"),
            ("inspect", "--archive"),
            ("inspect", name(8)),
            ("consolidate", "--dry-run", "--elapsed", "2h", "-v"),
            ("forget", name(8), "--dry-run"),
        ):
            result = program.ok(*argv)
            assert name(8) in result.out or argv[0] == "consolidate"
            assert result.err == ""
        for argv in (("query", "young"), ("inject", "young")):
            result = program.ok(*argv)
            assert f"{SECRET} young" in result.out
            assert len(result.err.splitlines()) == 1, result
            assert result.err.startswith("milkmem: ")
        for argv in (*(WRITING[each] for each in WRITING if each != "query"), ("run", "start")):
            one_line_error(program.run(*argv), CANNOT_WRITE, str(program.data))
    assert tree(program.data) == before


def test_a_place_that_cannot_be_created(program: Program) -> None:
    """F1, X2: where the data directory cannot be created recording is 73 in one line."""
    with read_only():
        one_line_error(program.run("record", "A fact"), CANNOT_WRITE, str(program.data))
        program.ok("query", "x")
    (program.root / "file").write_text("")
    one_line_error(
        program.run("record", "A fact", "--data-dir", str(program.root / "file" / "x")), CANNOT_WRITE
    )


def can_mount() -> bool:
    """Return whether this place lets us mount something for one process."""
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        ["unshare", "--mount", "sh", "-c", "mount --bind /tmp /tmp && mount -o remount,ro,bind /tmp"],
        capture_output=True,
        check=False,
    )
    return tried.returncode == 0


@pytest.mark.skipif(not can_mount(), reason="needs leave to mount")
def test_a_real_read_only_file_system(program: Program) -> None:
    """Case 26: on a file system mounted read-only query answers with a warning and a pass is 73."""
    full(program)
    program.ok("run", "start")
    data = str(program.data)
    mounted = (
        "unshare",
        "--mount",
        "sh",
        "-c",
        f'mount --bind "{data}" "{data}" && mount -o remount,ro,bind "{data}" && exec "$@"',
        "sh",
    )
    result = program.call("query", "young", command=[*mounted, *COMMAND])
    assert (result.code, len(result.err.splitlines())) == (0, 1), result
    assert f"{SECRET} young" in result.out
    one_line_error(program.call(*PASS, command=[*mounted, *COMMAND]), CANNOT_WRITE, data)


# Streams that fail (X2)

SHELL = ("bash", "-c")


def with_streams(redirect: str) -> list[str]:
    """Return a command that runs the program with a stream redirected by the shell."""
    return [*SHELL, f'"$@" {redirect}', "bash", *COMMAND]


SAYING = (
    ("query", "young"),
    ("inspect",),
    ("consolidate", "--json", "--elapsed", "0s"),
    ("record", "A fact"),
    ("--help",),
    ("config", "show"),
)


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-"])
def test_a_full_or_closed_standard_output_is_73(program: Program, redirect: str) -> None:
    """X2: a full or closed standard output is exit 73 in one line, and not the framework's own code."""
    full(program)
    for argv in SAYING:
        result = program.call(*argv, command=with_streams(redirect))
        one_line_error(result, CANNOT_WRITE)
        assert SECRET not in result.err


def test_a_closed_standard_output_that_nothing_is_written_to(program: Program) -> None:
    """X2: a command that has nothing to print does not mind a closed standard output, and does its work."""
    full(program)
    result = program.call(*PASS, command=with_streams(">&-"))
    assert (result.code, result.err) == (0, "")
    assert name(5) in program.facts("global")


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("consolidate", "--elapsed", "2h"), 0),
        (("query", "young"), 0),
        (("record", "A fact"), 0),
        (("forget", name(8)), USAGE),
        (("forget", name(8), "--yes"), 0),
        (("record", "-"), None),
        (("inject", "-"), None),
    ],
)
def test_a_closed_standard_input(program: Program, argv: tuple[str, ...], code: int | None) -> None:
    """X6, X3: a closed standard input is no terminal; what does not read it does not mind, and nothing is a
    defect.
    """
    full(program)
    result = program.call(*argv, command=with_streams("<&-"))
    assert result.code in ((0, USAGE, CANNOT_WRITE) if code is None else (code,)), result
    assert "defect" not in result.err


@pytest.mark.parametrize("redirect", ["2>&-", "2>/dev/full"])
def test_a_closed_or_full_standard_error(program: Program, redirect: str) -> None:
    """X3: what is said on standard error is lost where that is closed; it does not get among the data."""
    full(program)
    shown = program.call("query", "--limit", "1", "--no-touch").out
    result = program.call("query", "--limit", "1", "--no-touch", command=with_streams(redirect))
    assert (result.code, result.out) == (0, shown), result
    result = program.call("inspect", "no-such-percept", command=with_streams(redirect))
    assert (result.code, result.out) == (1, ""), result


def test_a_broken_pipe_is_silent(program: Program) -> None:
    """X2, case 30: the reader goes away: exit 0, silent, under pipefail too."""
    program.write("session", *(fact(number, f"Fact {number} " + "x" * 120) for number in range(3000)))
    for argv in (("inspect",), ("inspect", "--json"), ("query", "--limit", "3000", "--no-touch")):
        line = f'set -o pipefail; "$@" {" ".join(argv)} | head -1'
        result = program.call(command=[*SHELL, line, "bash", *COMMAND])
        assert (result.code, result.err) == (0, ""), result
        assert result.out.count("\n") <= 1
    result = program.call("--help", command=[*SHELL, '"$@" | true', "bash", *COMMAND])
    assert (result.code, result.err) == (0, "")


# Z6


@pytest.mark.parametrize("debug", ["0", "1"])
def test_no_content_in_messages_even_when_debugging(program: Program, debug: str) -> None:
    """Z6, X3: errors and debug output hold ids and positions, never what a fact says; no traceback unless
    asked.
    """
    full(program)
    env = {"MILKMEM_DEBUG": debug}
    bad = program.root / "bad"
    bad.mkdir()
    (bad / "session.json").write_text(
        f'{{"percepts": [{{"id": "{name(1)}", "content": "{SECRET}", "w": "{SECRET}"}}]}}'
    )
    for argv in (
        ("query", "x", "--data-dir", str(bad)),
        ("record", f"{SECRET} by hand", "--data-dir", str(bad)),
        ("inspect", "0000"),
        ("forget", SECRET, "--yes"),
        ("forget", f"{SECRET} nowhere", "--yes"),
        ("record", f"{SECRET} " + "x" * 17000),
        ("record", SECRET, f"{SECRET} too many"),
        ("record", "--no-such-option", SECRET),
        ("record", f"--{SECRET} looks like an option", "x"),
        ("record", "x", "--extends", f"{SECRET} no id"),
        ("inspect", f"{SECRET} nowhere"),
        ("query", "x", "--limit", f"{SECRET}"),
    ):
        result = program.run(*argv, env=env)
        assert result.code != 0, argv
        assert SECRET not in result.err, (argv, result)
        assert ("File " in result.err) <= (debug == "1"), result


def test_a_defect_is_70_without_content(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """X2, X3, Z6: what nobody foresaw is exit 70 in one line and a hint, no traceback, nothing written."""
    full(program)
    before = program.memory_files()

    def breaks(*_: object, **__: object) -> None:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr("milkmem.rules.session_halving", breaks)
    result = program.run(*PASS)
    one_line_error(result, 70)
    assert SECRET not in result.err
    assert program.memory_files() == before
    assert temporaries(program) == []


# Z7


@pytest.mark.parametrize(
    "at", ["0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "2026-12-02", "1969-12-31"]
)
def test_no_time_that_milk_refuses_is_written(program: Program, at: str) -> None:
    """Z7, X9: whatever instant is stated, what is written can be read again."""
    result = program.run("record", "A fact of another time", "--at", at)
    assert result.code in (0, USAGE), result
    program.ok("inspect")
    program.ok("consolidate", "--at", at, "--elapsed", "1h")
    program.ok("query", "fact", "--at", "0001-01-01T00:00:00+23:59")
    program.ok("inspect")


@pytest.mark.parametrize("elapsed", ["0s", "0.5s", "36500d", "99999999d", "1" * 300 + "d"])
def test_no_number_that_milk_refuses_is_written(program: Program, elapsed: str) -> None:
    """Z7, D2: however long the running time, every number that is written is finite and in bounds."""
    full(program)
    assert program.run("consolidate", "--elapsed", elapsed).code in (0, USAGE)
    assert program.run("consolidate", "--elapsed", elapsed).code in (0, USAGE)
    for row in program.ok("inspect", "--archive").rows:
        assert 0 <= float(row[2]) <= 1
    assert everywhere(program) == ALL


def test_evidence_stays_within_what_milk_reads(program: Program) -> None:
    """Z7: evidence at the most that a file may hold does not make the file unreadable."""
    program.write("session", fact(1, "Tests run with pytest", evidence=2**63 - 1))
    program.ok("record", "Tests run with pytest")
    program.ok("inspect")


def test_bytes_that_are_no_text_are_replaced(program: Program) -> None:
    """Z7: an argument or input that is no UTF-8 is stored as text that milk can read."""
    result = program.call(command=[*COMMAND, "record", b"Latin \xe9 and \xff"])  # type: ignore[list-item]  # as the shell may
    assert result.code == 0, result
    program.ok("record", "-", stdin=b"Other bytes \x80\xfe here\n")
    for content in program.contents("session"):
        content.encode()
    assert len(program.contents("session")) == 2
