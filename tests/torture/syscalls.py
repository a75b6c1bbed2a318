"""Every system call after the lock is taken: killed there, or failed with EIO, ENOSPC, EACCES (Z1 to Z5).

strace lists the calls of a command and reruns it with one of them killed or failed. After each run every
file must be old or new and no percept lost; after the next command each stands once and no waste is left.
Each distinct state that a kill left is then recovered from with a second kill at each step of the recovery.
"""

from __future__ import annotations

import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import tomli_w

import milkmem
from program import COMMAND, Killed, Program, Result, archived, fact, killed_at, name, tree
from test_program_safety import (
    ALL,
    PASS,
    SECRET,
    WRITING,
    assert_before_or_after,
    assert_whole_again,
    counted_urandom,
    everywhere,
    full,
    temporaries,
)
from torture.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ERRORS = ("EIO", "ENOSPC", "EACCES")
KILL = "KILL"
# Calls that touch no file: these are killed at, but a disk does not make them fail.
_NO_FILE = frozenset(
    "brk mmap munmap mremap mprotect madvise rt_sigaction rt_sigprocmask sigaltstack futex getrandom geteuid"
    " getuid getpid gettid clock_nanosleep exit_group exit set_robust_list prlimit64 sysinfo".split()
)
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$")
_BEGUN = "LOCK_EX"
# Where Python cannot read its own modules there is nothing left that could end any better.
_MODULES = (
    os.path.dirname(os.path.abspath(milkmem.__file__)),
    os.path.dirname(os.path.abspath(os.__file__)),
    os.path.dirname(os.path.dirname(os.path.abspath(tomli_w.__file__))),
)

MUTANTS = {
    "write order reversed": (
        "import milkmem.store as s; f = s._in_order; s._in_order = lambda m: f(m)[::-1]"
    ),
    "no fsync before rename": "import os; os.fsync = lambda d: None",
    "written in place": (
        "import os, milkmem.files as f\n"
        "def commit(self):\n"
        "    data = open(self._temporary, 'rb').read()\n"
        "    d = os.open(self.target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)\n"
        "    os.write(d, data); os.fsync(d); os.close(d); self.discard()\n"
        "f.Replacement.commit = commit"
    ),
}


def can_trace() -> str:
    """Return why strace cannot be used here, "" where it can."""
    if sys.platform != "linux" or shutil.which("strace") is None:
        return "strace is not installed"
    tried = subprocess.run(
        ["strace", "-o", os.devnull, "-e", "trace=fsync", "-e", "inject=fsync:error=EIO:when=1", "true"],
        capture_output=True,
        check=False,
    )
    return "" if tried.returncode == 0 else "strace is not allowed to trace"


def mutated(change: str) -> tuple[str, ...]:
    """Return a command that runs the program with a fault put into it."""
    return (sys.executable, "-c", f"{change}\nfrom milkmem.__main__ import entry\nentry()")


_LISTINGS = 5


class Call:
    """One system call of a command: its name, the how-manieth of that name, and all that strace shows."""

    def __init__(self, call: str, when: int, text: str) -> None:
        self.call = call
        self.when = when
        self.text = text

    @property
    def of_a_module(self) -> bool:
        """Whether it acts on a file of the interpreter or of the program."""
        return any(each in self.text for each in _MODULES)

    def __repr__(self) -> str:
        """Return what strace takes to find it again."""
        return f"{self.call}#{self.when}"


class Job:
    """One command under torture: what it begins from, and what must hold afterwards."""

    argv: tuple[str, ...] = ()

    def __init__(self, root: Path, title: str, command: Sequence[str] = COMMAND) -> None:
        self.title = title
        self.program = Program(root)
        self.command = command
        self.program.env |= {"PYTHONHASHSEED": "0", "PYTHONSAFEPATH": "1"}
        self.log = root / "strace"

    def prepare(self) -> None:
        """Put everything back as it was before the command."""
        raise NotImplementedError

    def check(self, told: object) -> None:
        """Assert that each file is old or new and nothing is lost."""
        raise NotImplementedError

    def check_next(self, told: object) -> None:
        """Run the next command; assert that all is whole and no waste is left."""
        raise NotImplementedError

    def state(self) -> object:
        """Return what tells one state of the files from another."""
        return None

    def traced(self, *options: str) -> tuple[int, str, list[str]]:
        """Run the command under strace; return its exit code, standard error, and what strace wrote."""
        fast = () if any("signal=" in each for each in options) else ("-f", "--seccomp-bpf")
        strace = ("strace", *fast, "-qq", "-y", "-s", "0", "-o", str(self.log), *options)
        result = self.program.call(*self.argv, command=(*strace, *self.command))
        return result.code, result.err, self.log.read_text(errors="replace").splitlines()

    def calls(self) -> list[Call]:
        """Return the system calls of the command from taking the lock on.

        They are listed until two lists are alike: a first run compiles modules, and makes other calls.
        """
        found = self._calls()
        for _ in range(_LISTINGS):
            before, found = found, self._calls()
            if list(map(repr, before)) == list(map(repr, found)):
                return found
        raise AssertionError("the command never makes the same calls twice")

    def _calls(self) -> list[Call]:
        self.prepare()
        code, err, lines = self.traced()
        assert code == 0, err
        counted: dict[str, int] = {}
        found: list[Call] = []
        begun = False
        for line in lines:
            match = _CALL.match(line)
            if match is None:
                continue
            call = match[1]
            counted[call] = counted.get(call, 0) + 1
            begun = begun or (call == "flock" and _BEGUN in line)
            if begun and call not in ("exit_group", "exit"):
                found.append(Call(call, counted[call], match[2]))
        assert begun, "the command takes no lock"
        return found


class MemoryJob(Job):
    """A command that changes memory files."""

    def __init__(self, root: Path, title: str, command: Sequence[str] = COMMAND) -> None:
        super().__init__(root, title, command)
        self.argv = WRITING[title]
        self.prepare()
        self.before = tree(self.program.data)
        with mock.patch.object(os, "urandom", counted_urandom()):
            self.program.ok(*self.argv)
        self.after = {path: raw for path, raw in tree(self.program.data).items() if ".milkmem" not in path}

    def prepare(self) -> None:
        shutil.rmtree(self.program.data, ignore_errors=True)
        full(self.program)
        if self.title == "record a stale one":
            self.program.write("archive", archived(fact(9, f"{SECRET} archived before", 0.3)))
        # The book then says how the files stand, so that the next command need not heal them.
        self.program.ok("link", name(3), "extends", name(4))
        self.program.ok("unlink", name(3), name(4))

    def check(self, told: object) -> None:
        if self.title == "record a new one":  # its id is new each time
            for path in self.program.data.glob("*.json"):
                assert self.program.read(path.stem)["percepts"], told
        else:
            assert_before_or_after(self.program, self.memory_before(), self.after, told)
        missing = ALL.keys() - everywhere(self.program).keys()
        assert missing <= ({name(4)} if self.title == "forget" else set()), (told, missing)

    def memory_before(self) -> dict[str, bytes | None]:
        return {path: raw for path, raw in self.before.items() if ".milkmem" not in path}

    def check_next(self, told: object) -> None:
        assert_whole_again(self.program, self.argv, told)

    def state(self) -> object:
        memory = {path: raw for path, raw in tree(self.program.data).items() if path.endswith(".json")}
        state = frozenset((path, raw) for path, raw in memory.items() if ".milkmem" not in path)
        return state, frozenset(memory), len(temporaries(self.program))


class TextJob(Job):
    """A command that rewrites one text file: the configuration, or an agent's settings."""

    def __init__(self, root: Path, title: str, command: Sequence[str] = COMMAND) -> None:
        super().__init__(root, title, command)
        if title == "config init":
            self.argv = ("config", "init", "--force")
            self.file = self.program.home / ".config" / "milkmem" / "config.toml"
            self.old = b"[memory]\nrun_gap_minutes = 90\n# a word of its owner\n"
        else:
            self.argv = ("hook", "install", "claude-code")
            self.file = self.program.home / ".claude" / "settings.json"
            self.old = b'{\n  "model": "best",\n  "hooks": {}\n}\n'
        self.backup = self.file.with_name(self.file.name + ".bak")
        self.prepare()
        self.program.ok(*self.argv)
        self.new = self.file.read_bytes()
        assert self.new != self.old

    def prepare(self) -> None:
        shutil.rmtree(self.file.parent, ignore_errors=True)
        self.file.parent.mkdir(parents=True)
        self.file.write_bytes(self.old)

    def check(self, told: object) -> None:
        assert self.file.read_bytes() in (self.old, self.new), told
        if self.backup.exists():
            assert self.backup.read_bytes() == self.old, told
        if self.file.read_bytes() == self.new:
            assert self.backup.exists(), told

    def check_next(self, told: object) -> None:
        new_before = self.file.read_bytes() == self.new
        self.program.ok(*self.argv)
        assert self.file.read_bytes() == self.new, told
        kept = (self.old, self.new) if new_before and self.title == "config init" else (self.old,)
        assert self.backup.read_bytes() in kept, told
        left = sorted(path.name for path in self.file.parent.iterdir())
        assert left == sorted([self.file.name, self.backup.name]), (told, left)


JOBS = (
    "consolidate",
    "restore",
    "record a restatement",
    "record a stale one",
    "record a new one",
    "forget",
    "link",
    "query",
    "config init",
    "hook install",
)


def job_of(title: str, root: Path, command: Sequence[str] = COMMAND) -> Job:
    """Return one command under torture in a new directory."""
    return (MemoryJob if title in WRITING else TextJob)(root, title, command)


def out_of_order(calls: Sequence[Call]) -> list[str]:
    """Return what is wrong in the order of writing, syncing and renaming (Z2)."""
    open_files: dict[str, str] = {}
    synced: set[str] = set()
    to_sync: set[str] = set()
    wrong = []
    for each in calls:
        number = each.text.split(",")[0].split(")")[0]
        paths = re.findall(r'"([^"]*)"', each.text)
        if each.call == "openat":
            open_files[each.text.rsplit("= ", 1)[-1].split()[0]] = paths[0]
        elif each.call == "write":
            synced.discard(open_files.get(number, ""))
        elif each.call == "fsync":
            synced.add(open_files.get(number, ""))
            to_sync.discard(open_files.get(number, ""))
        elif each.call == "close":
            open_files.pop(number, None)
        elif each.call == "rename":
            source, target = paths[0], paths[1]
            if source not in synced:
                wrong.append(f"{os.path.basename(target)} renamed before its content was synced")
            to_sync.add(os.path.dirname(target))
    return wrong + [f"{directory} never synced after a rename" for directory in sorted(to_sync)]


def sweep(
    title: str,
    budget: float,
    *,
    command: Sequence[str] = COMMAND,
    faults: Sequence[str] = (KILL, *ERRORS),
    seed: int = 0,
    stop_at_violation: bool = False,
    only: Callable[[Call], bool] = lambda call: True,
) -> Outcome:
    """Kill and fail one command at every system call after the lock, in random order while time lasts."""
    outcome = Outcome(f"system calls: {title}", budget)
    with tempfile.TemporaryDirectory() as root:
        job = job_of(title, Path(root), command)
        calls = job.calls()
        job_wrong = out_of_order(_written_paths(job))
        outcome.violations += job_wrong
        outcome.counts["system calls listed"] += len(calls)
        todo = [
            (call, fault)
            for call in calls
            for fault in faults
            if only(call) and (fault == KILL or (call.call not in _NO_FILE and not call.of_a_module))
        ]
        outcome.counts["faults planned"] += len(todo)
        random.Random(seed).shuffle(todo)
        states: set[object] = set()
        outcome.prepared()
        for call, fault in todo:
            if outcome.over or (stop_at_violation and outcome.violations):
                break
            told = f"{title}: {fault} at {call!r}"
            how = "signal=KILL" if fault == KILL else f"error={fault}"
            try:
                job.prepare()
                code, err, lines = job.traced(
                    "-e", f"trace={call.call}", "-e", f"inject={call.call}:{how}:when={call.when}"
                )
                hit = code == -9 if fault == KILL else any("(INJECTED)" in line for line in lines)
                outcome.counts["faults injected" if hit else "faults not reached"] += 1
                outcome.counts[f"{fault} injected"] += hit
                ends = (0, -9) if fault == KILL else (0, 1, 65, 73, 75, 78, 120)
                assert code in ends, (code, err)
                assert "Traceback" not in err, err
                assert SECRET not in err, err
                job.check(told)
                if hit and fault == KILL and isinstance(job, MemoryJob):
                    state = job.state()
                    if state not in states:
                        states.add(state)
                        _recover(job, outcome, told)
                job.check_next(told)
            except AssertionError as error:
                outcome.note(told, error)
        outcome.counts["states a kill left"] += len(states)
    return outcome


def _written_paths(job: Job) -> list[Call]:
    """Return the calls with their paths shown in full."""
    job.prepare()
    strace = ("strace", "-f", "-qq", "-o", str(job.log), "-e", "trace=openat,write,fsync,close,rename")
    result = job.program.call(*job.argv, command=(*strace, *job.command))
    assert result.code == 0, result
    matches = [_CALL.match(line) for line in job.log.read_text(errors="replace").splitlines()]
    return [Call(match[1], 0, match[2]) for match in matches if match is not None]


def _recover(job: MemoryJob, outcome: Outcome, told: str) -> None:
    """Kill the command that recovers at each of its steps, and let a third one finish (Z3, Z5)."""
    program = job.program
    left = program.root / "left"
    shutil.rmtree(left, ignore_errors=True)
    program.data.rename(left)
    for recovering in (("link", name(8), "derives", name(1)), PASS):
        for step in itertools.count():
            shutil.rmtree(program.data, ignore_errors=True)
            shutil.copytree(left, program.data)
            done = True
            with killed_at(step):
                try:
                    result: Result = program.run(*recovering)
                except Killed:
                    done = False
            if done:
                assert result.code == 0, (told, result)
                break
            outcome.counts["kills while recovering"] += 1
            again = f"{told}, then killed at step {step} of {recovering[0]}"
            missing = ALL.keys() - everywhere(program).keys()
            assert missing <= ({name(4)} if job.title == "forget" else set()), (again, missing)
            job.check_next(again)
    shutil.rmtree(program.data, ignore_errors=True)
    left.rename(program.data)


def mutants_caught(budget: float) -> Outcome:
    """Put faults into the program and let the sweep find them: it can fail."""
    outcome = Outcome("system calls: mutants", budget)
    for mutant, change in MUTANTS.items():
        found = sweep(
            "consolidate",
            budget / len(MUTANTS),
            command=mutated(change),
            faults=(KILL,),
            stop_at_violation=True,
            only=lambda call: call.call in ("rename", "write"),
        )
        outcome.counts["mutants put in"] += 1
        outcome.counts["mutants caught"] += bool(found.violations)
        if not found.violations:
            outcome.violations.append(f"the mutant was not caught: {mutant}")
    return outcome
