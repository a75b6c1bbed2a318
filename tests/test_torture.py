"""A slice of `make torture` at each submission, and the promises of docs/reliability.md that no other test
holds (section 17).
"""

from __future__ import annotations

import itertools
import os
import random
import re
import stat
from pathlib import Path

import pytest

from program import Program, archived, fact, name, tree
from torture import disk, fuzz, signals, syscalls, writers
from torture.__main__ import BEGIN, END, written
from torture.outcome import Outcome

TESTS = Path(__file__).parent
RELIABILITY = (TESTS.parent / "docs" / "reliability.md").read_text()
SEED = 17
DAY = 86400

needs_strace = pytest.mark.skipif(syscalls.can_trace() != "", reason=syscalls.can_trace() or "-")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for others")


def held(outcome: Outcome, *counted: str) -> None:
    """Assert that a sweep found nothing wrong and did what it is there for."""
    assert outcome.violations == []
    for what in counted:
        assert outcome.counts[what] > 0, (what, outcome.counts)


@needs_strace
@pytest.mark.parametrize(
    "title", ["consolidate", "record a restatement", "forget", "restore", "config init", "hook install"]
)
def test_faults_at_system_calls(title: str) -> None:
    """Z2, Z3, Z5, case 21: killed or failed at some of its system calls, a command loses nothing."""
    held(syscalls.sweep(title, 2.5, seed=SEED), "system calls listed", "faults injected")


@needs_strace
def test_the_sweep_can_fail() -> None:
    """Z2, Z3: writing the source first, renaming unsynced files and writing in place are each caught."""
    outcome = syscalls.mutants_caught(60)
    assert outcome.violations == []
    assert outcome.counts["mutants caught"] == len(syscalls.MUTANTS)


def test_a_crowd_of_writers() -> None:
    """Z1, case 20: processes record while others make passes and look on: nothing lost or read broken."""
    held(
        writers.crowd(20, 1, recording=10, consolidating=2), "facts recorded at once", "reads of whole files"
    )


def test_sessions_promote_at_once() -> None:
    """Z1, P5: sessions of their own promote into one global store at once, and none is lost."""
    held(writers.sessions(10, 2), "promotions at once")


def test_the_global_clock_is_advanced_once() -> None:
    """R4: passes of eight sessions in one run age the global store by its running time once."""
    held(writers.clock_once(10), "passes of one run at once")


def test_beside_a_program_that_takes_no_lock() -> None:
    """Z4: beside a rewriting program a command ends with 0 or 75, and doctor tells of the change."""
    outcome = writers.foreign(5, 20, SEED)
    held(outcome, "commands beside it", "rewrites by the other program")
    if syscalls.can_trace() == "":
        held(outcome, "commands that ended with 75")


def test_signals_at_random_moments() -> None:
    """Z5, X2: SIGINT, SIGTERM, SIGHUP at random moments lose nothing and end without a traceback."""
    held(signals.run(7, 36, SEED), "signals sent", "came while it ran")


@pytest.mark.skipif(disk.can_mount() != "", reason=disk.can_mount() or "-")
def test_disks_of_every_size() -> None:
    """Z5, X2: on a disk of any size a command is done, or exit 73 with every file as it was."""
    held(disk.run(20), "disks with too few pages", "disks with enough pages", "disks with too few files")


@pytest.mark.parametrize(
    ("part", "inputs"), [("loader", 8000), ("memory", 4), ("commands", 150), ("configurations", 150)]
)
def test_spoiled_files(part: str, inputs: int) -> None:
    """F7, K1, Z7, cases 18 and 19: spoiled files are refused in one line or loaded, and stay as they are."""
    held(getattr(fuzz, part)(5, inputs, SEED))


# What is promised


def test_every_promise_names_its_test() -> None:
    """Each row of the promises names tests that there are."""
    rows = re.findall(r"^\| (?!promise|---)(.+?) \| (Z\d|[A-Z]\d|X\d)[^|]* \| (.+) \|$", RELIABILITY, re.M)
    assert len(rows) >= 15
    for promise, _, holders in rows:
        named = re.findall(r"`(test_\w+)\.py::(test_\w+)`", holders)
        assert named, promise
        for module, test in named:
            assert f"def {test}(" in (TESTS / f"{module}.py").read_text(), (promise, test)


def test_the_figures_are_written_between_two_marks() -> None:
    """`make torture` replaces the figures and nothing else."""
    assert RELIABILITY.count(BEGIN) == RELIABILITY.count(END) == 1
    once = written(RELIABILITY, "figures")
    assert written(once, "figures") == once
    assert once.partition(BEGIN)[0] == RELIABILITY.partition(BEGIN)[0]
    assert once.partition(END)[2] == RELIABILITY.partition(END)[2]


def test_what_may_be_lost_is_said() -> None:
    """The docs say what is not promised."""
    not_promised = RELIABILITY.partition("## What is not promised")[2].partition("\n## ")[0]
    for words in ("Network file systems", "running milk", "ignore sync", "between our last comparison"):
        assert words in not_promised


# G1: forgetting


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_forget_leaves_no_open_copy(tmp_path: Path) -> None:
    """G1: after forget no file below the data directory, deleted but open ones included, holds the text."""
    program = Program(tmp_path)
    secret = "Dealings of the lighthouse keeper"
    program.write("global", fact(1, secret, 0.9))
    program.write("session", fact(2, "Another thing altogether", 0.7))
    program.write("archive", archived(fact(1, secret, 0.3)))
    program.ok("inject", "lighthouse")
    program.ok("forget", name(1), "--yes")
    held_open = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            held_open.append(os.readlink(descriptor))
        except OSError:
            continue
    assert [each for each in held_open if each.startswith(str(program.data))] == []
    for path, raw in tree(program.data).items():
        assert raw is None or secret.encode() not in raw, path


# Places


@pytest.mark.parametrize(
    "directory", ["with two  spaces", "Ünïcödé 東京 é", "a\nb", "--help", "-", "x" * 200]
)
def test_odd_names_of_data_directories(tmp_path: Path, directory: str) -> None:
    """F1: a data directory may be called anything; what is said of it is one line."""
    program = Program(tmp_path)
    program.data = tmp_path / "at" / directory
    program.env["MILKMEM_DATA_DIR"] = str(program.data)
    assert program.call("record", "A fact of its own", "--producer", "user").code == 0
    assert program.call("consolidate", "--elapsed", "0s").code == 0
    assert program.contents("global") == ["A fact of its own"]
    program.file("global").write_bytes(b"[]")
    result = program.call("inspect")
    assert result.code == 65
    assert len(result.err.splitlines()) == 2


def test_no_home(tmp_path: Path) -> None:
    """F1: without HOME a stated data directory is enough."""
    program = Program(tmp_path)
    env: dict[str, str | None] = {"HOME": None, "XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert program.call("record", "A fact of its own", env=env).code == 0
    assert program.contents("session") == ["A fact of its own"]


@as_root
def test_root_keeps_the_owner(tmp_path: Path) -> None:
    """Z2: what root creates in a user's directory is the user's, files and directories alike."""
    program = Program(tmp_path)
    program.data.mkdir(mode=0o700)
    os.chown(program.data, 12345, 23456)
    program.ok("record", "A fact of its own", "--producer", "user", "--run", "named")
    program.ok("consolidate", "--elapsed", "1h")
    found = [program.data, *program.data.rglob("*")]
    assert len(found) >= 6
    assert {(path.stat().st_uid, path.stat().st_gid) for path in found} == {(12345, 23456)}


@pytest.mark.parametrize("mask", [0o000, 0o077])
def test_modes_under_any_umask(tmp_path: Path, mask: int) -> None:
    """Z2, F1: a process under a wide or a narrow umask creates 0700 directories and 0600 files."""
    program = Program(tmp_path)
    old = os.umask(mask)
    try:
        assert program.call("record", "A fact of its own", "--producer", "user").code == 0
        assert program.call("consolidate").code == 0
    finally:
        os.umask(old)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in program.data.rglob("*") if not path.is_dir()}
    assert modes == {0o600}
    assert stat.S_IMODE(program.data.stat().st_mode) == 0o700


# Clocks


def test_clocks_that_jump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R4, case 13: whatever wall clock, reboots and suspends do, Δt is never negative and never the jump."""
    boot = tmp_path / "boot"
    monkeypatch.setattr("milkmem.clock._BOOT_ID", str(boot))
    program = Program(tmp_path)
    chance = random.Random(SEED)
    boots = itertools.count()
    boot.write_text(f"boot-{next(boots)}\n")
    program.write("global", fact(1, "Kept in mind", 0.9, core=True))
    program.ok("record", "A fact of some kind")
    jumps = [-365 * DAY, 365 * DAY, -3600, 3600, 8 * 3600, -1, 0]
    for _ in range(60):
        worked = chance.randint(0, 900)
        program.shift += worked
        program.wall_shift += chance.choice(jumps)  # set by hand, a DST night, or a suspended machine
        reboot = chance.random() < 0.15
        if reboot:
            boot.write_text(f"boot-{next(boots)}\n")
        seconds = program.json("consolidate")["elapsed_seconds"]
        for store in ("global", "session"):
            assert 0 <= seconds[store] <= worked + 30, (worked, reboot, seconds)
            if not reboot:
                assert seconds[store] >= worked - 1, (worked, seconds)
