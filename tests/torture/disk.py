"""A full disk: a tmpfs of every size from too small to enough, and of every number of files (Z5, case 26)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from program import CANNOT_WRITE, Program, fact, one_line_error, tree
from test_program_safety import (
    ALL,
    SECRET,
    WRITING,
    assert_before_or_after,
    assert_whole_again,
    everywhere,
    full,
    temporaries,
)
from torture.outcome import Outcome

PAGE = 4096
COMMANDS = ("consolidate", "record a restatement", "restore", "forget", "learn")
BIG = "x" * 3000


def can_mount() -> str:
    """Return why no file system can be mounted here, "" where one can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root can mount a file system"
    with tempfile.TemporaryDirectory() as place:
        tried = subprocess.run(["mount", "-t", "tmpfs", "none", place], capture_output=True, check=False)
        if tried.returncode != 0:
            return "mounting is not allowed here"
        subprocess.run(["umount", place], check=True)
    return ""


def _filled(program: Program) -> None:
    """Fill a memory whose files take several pages each."""
    full(program)
    for store, number in (("global", 50), ("session", 60), ("archive", 70)):
        document = program.read(store)
        for each in range(4):
            added = fact(number + each, f"{store} {each} {BIG}", 0.9, core=True)
            if store == "archive":
                added["archived"] = {"at": added["created_at"], "reason": "stale", "from": "global"}
            document["percepts"].append(added)
        program.write(store, *document["percepts"], edges=document["edges"])


def _mount(place: Path, option: str) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", option, "none", str(place)], check=True)


def _resize(place: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(place)], check=True)


def _sizes(title: str, outcome: Outcome, root: Path, unit: str) -> None:
    """Try one command on every size, or number of files, from what the memory takes to enough."""
    program = Program(root)
    program.config("[memory]\npercept_store_max = 8\n")
    disk = root / "disk"
    disk.mkdir()
    program.data = disk / "memory"
    program.env["MILKMEM_DATA_DIR"] = str(program.data)
    argv = WRITING[title]
    _mount(disk, "size=16m,nr_inodes=1000")
    try:
        _filled(program)
        program.config("[memory]\npercept_store_max = 8\n")
        before = tree(program.data)
        program.ok(*argv)
        after = {path: raw for path, raw in tree(program.data).items() if ".milkmem" not in path}
        step = 0
        while True:
            _resize(disk, "size=16m,nr_inodes=1000")
            shutil.rmtree(program.data)
            program.data.mkdir(0o700)
            for path, raw in before.items():
                if raw is not None:
                    (program.data / path).write_bytes(raw)
            status = os.statvfs(disk)
            if unit == "pages":
                used = (status.f_blocks - status.f_bfree) * status.f_frsize
                _resize(disk, f"size={used + step * PAGE}")
            else:
                _resize(disk, f"nr_inodes={status.f_files - status.f_ffree + step}")
            told = f"{title}, {step} {unit} free"
            result = program.run(*argv)
            outcome.counts[f"disks with too few {unit}" if result.code else f"disks with enough {unit}"] += 1
            try:
                assert SECRET not in result.err, told
                if result.code != 0:
                    one_line_error(result, CANNOT_WRITE)
                    assert temporaries(program) == [], told
                assert_before_or_after(program, before, after, told)
                left = everywhere(program)
                _resize(disk, "size=16m,nr_inodes=1000")
                gone = {percept for percept in ALL if percept not in left}
                assert len(gone) <= (title == "forget"), (told, gone)
                assert_whole_again(program, argv, told)
            except AssertionError as error:
                outcome.note(told, error)
            step += 1
            if result.code == 0 or step > 200 or outcome.over:
                break
        assert result.code == 0 or outcome.over, result
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def run(budget: float) -> Outcome:
    """Try all commands on disks of all sizes within a time in seconds."""
    outcome = Outcome("full disk", budget)
    outcome.skipped = can_mount()
    if outcome.skipped:
        return outcome
    for title in COMMANDS:
        for unit in ("pages", "files"):
            with tempfile.TemporaryDirectory() as root:
                _sizes(title, outcome, Path(root), unit)
    return outcome
