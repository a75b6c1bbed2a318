"""Runs the real program for the tests: inside this process for speed, or as a process of its own.

`Program` is one data directory with a home of its own. `run` calls `main` in this process, with streams,
environment, working directory and clocks replaced; `call` and `start` start a process, `talk` one at a
terminal.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from milkmem.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

MILK = Path(__file__).parent / "data" / "milk"
COMMAND = (sys.executable, "-m", "milkmem")
AT = "2026-12-02T12:00:00Z"
OLD = "2026-11-20T08:30:00.123456789Z"
PATIENCE = 20.0
SECOND = 1_000_000_000
USAGE, BAD_DATA, DEFECT, CANNOT_WRITE, BUSY, BAD_CONFIG, INTERRUPTED = 64, 65, 70, 73, 75, 78, 130

Fact = dict[str, Any]

# The clocks themselves: one run of the program may begin inside another, and both are ahead of these.
_MONOTONIC, _WALL = time.monotonic_ns, time.time_ns


def name(number: int) -> str:
    """Return an id that looks like milk's; different numbers differ in the first eight characters."""
    return f"{number:08x}-0000-4000-8000-00000000abcd"


def fact(number: int, content: str, w: float = 0.7, producer: str = "primary", **fields: Any) -> Fact:
    """Return a percept as milk writes one, its fields in the order of rule F3."""
    made: Fact = {"id": name(number), "content": content, "producer": producer}
    if "consumer" in fields:
        made["consumer"] = fields.pop("consumer")
    made |= {"w": w, "roles": fields.pop("roles", {}), "created_at": OLD, "updated_at": OLD}
    return made | fields


def archived(fact: Fact, reason: str = "stale", home: str = "global") -> Fact:
    """Return a percept as it stands in the archive (F5)."""
    return fact | {"archived": {"at": OLD, "reason": reason, "from": home}}


def edge(one: int, relation: str, other: int) -> dict[str, str]:
    """Return an edge between the percepts of two numbers."""
    return {"from": name(one), "to": name(other), "relation": relation}


def in_milks_form(document: object) -> bytes:
    """Return a plain document as milk writes it; for texts without `<`, `>`, `&` and other escapes."""
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


class Result:
    """How a command ended: exit code, standard output, standard error."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out.decode("utf-8", "surrogateescape")
        self.err = err.decode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        """Return all of it, for a failing assertion to show."""
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"

    @property
    def rows(self) -> list[list[str]]:
        """The tab-separated lines of standard output."""
        return [line.split("\t") for line in self.out.splitlines()]

    @property
    def json(self) -> Any:
        """The JSON document on standard output."""
        return json.loads(self.out)


_sync = os.fsync


def _no_sync(descriptor: int) -> None:
    """Stands for syncing, which takes most of the time of a command and cannot be seen without a crash."""


def _ahead(clock: Callable[[], int], by: int) -> Callable[[], int]:
    return lambda: clock() + by


class _Stream(io.TextIOWrapper):
    """A stream that may pretend to be a terminal."""

    def __init__(self, raw: io.BytesIO, terminal: bool) -> None:
        super().__init__(raw, encoding="utf-8")
        self.terminal = terminal
        self.raw_bytes = raw

    def written(self) -> bytes:
        self.flush()
        return self.raw_bytes.getvalue()

    def isatty(self) -> bool:
        return self.terminal


class _Unread:
    """A standard input that nobody may read: one would wait for ever (X6)."""

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError("no file")

    def __getattr__(self, attribute: str) -> object:
        raise AssertionError(f"standard input: {attribute}")


class Program:
    """One data directory, its home, and the program that works on it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.home.mkdir()
        self.data = root / "memory"
        # Seconds by which both clocks of `run` are ahead of the real ones, and the wall clock besides.
        self.shift = 0.0
        self.wall_shift = 0.0
        self.env = {
            "HOME": str(self.home),
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "MILKMEM_DATA_DIR": str(self.data),
        }

    def file(self, store: str) -> Path:
        """Return the path of a memory file."""
        return self.data / f"{store}.json"

    @property
    def lock(self) -> Path:
        """The lock file (Z1)."""
        return self.data / ".milkmem" / "lock"

    def write(
        self,
        store: str,
        *facts: Fact,
        edges: Sequence[object] | None = None,
        more: dict[str, Any] | None = None,
    ) -> Path:
        """Write a memory file in milk's form and return its path."""
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        listed = list(facts) or None
        document = {"percepts": listed, "engrams": None, "edges": None if edges is None else list(edges)}
        self.file(store).write_bytes(in_milks_form(document | (more or {})))
        return self.file(store)

    def read(self, store: str) -> Any:
        """Return the document of a memory file."""
        return json.loads(self.file(store).read_bytes())

    def facts(self, store: str) -> dict[str, Fact]:
        """Return the percepts of a memory file by id; none where there is no file."""
        if not self.file(store).exists():
            return {}
        return {percept["id"]: percept for percept in self.read(store)["percepts"] or []}

    def contents(self, store: str) -> list[str]:
        """Return the contents of a memory file in order."""
        return [percept["content"] for percept in self.facts(store).values()]

    def edges(self, store: str) -> list[dict[str, str]]:
        """Return the edges of a memory file."""
        return (self.read(store)["edges"] or []) if self.file(store).exists() else []

    def config(self, text: str) -> Path:
        """Write the configuration of the home and return its path."""
        path = self.home / ".config" / "milkmem" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def memory_files(self) -> dict[str, tuple[str, int, int]]:
        """Return digest, mtime and inode of every memory file (C2)."""
        return {
            path.name: (
                hashlib.sha256(path.read_bytes()).hexdigest(),
                path.stat().st_mtime_ns,
                path.stat().st_ino,
            )
            for path in sorted(self.data.glob("*.json"))
            if path.is_file()
        }

    def run(
        self,
        *argv: str,
        stdin: bytes | None = None,
        terminal: bool | str = False,
        env: dict[str, str | None] | None = None,
        cwd: Path | None = None,
    ) -> Result:
        """Carry out one command line in this process.

        Without `stdin`, whoever reads standard input fails. `terminal` makes all three streams a terminal, or
        those that it names.
        """
        shown = {"in", "out", "err"} if terminal is True else set((terminal or "").split())
        out, err = _Stream(io.BytesIO(), "out" in shown), _Stream(io.BytesIO(), "err" in shown)
        source = _Unread() if stdin is None else _Stream(io.BytesIO(stdin), "in" in shown)
        environ = self._environ(env)
        ahead = round(self.shift * SECOND)
        wall_ahead = ahead + round(self.wall_shift * SECOND)
        with (
            mock.patch.object(sys, "stdin", source),
            mock.patch.object(sys, "stdout", out),
            mock.patch.object(sys, "stderr", err),
            mock.patch.object(time, "monotonic_ns", _ahead(_MONOTONIC, ahead)),
            mock.patch.object(time, "time_ns", _ahead(_WALL, wall_ahead)),
            mock.patch.object(os, "fsync", _no_sync if os.fsync is _sync else os.fsync),
            mock.patch.dict(os.environ, environ, clear=True),
            contextlib.chdir(self.root if cwd is None else cwd),
        ):
            try:
                code = main(list(argv))
            except SystemExit as end:
                code = end.code if type(end.code) is int else 1
        return Result(code, out.written(), err.written())

    def ok(self, *argv: str, **options: Any) -> Result:
        """Carry out one command line in this process that must end with 0."""
        result = self.run(*argv, **options)
        assert result.code == 0, result
        return result

    def json(self, *argv: str, **options: Any) -> Any:
        """Return the JSON document of a command that must end with 0."""
        return self.ok(*argv, "--json", **options).json

    def start(
        self,
        *argv: str,
        env: dict[str, str | None] | None = None,
        command: Sequence[str] = COMMAND,
        **options: Any,
    ) -> subprocess.Popen[bytes]:
        """Start one command line as a process of its own."""
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        options = {"cwd": self.root, **streams, **options}
        return subprocess.Popen([*command, *argv], env=self._environ(env), **options)

    def call(self, *argv: str, input: bytes | None = None, **options: Any) -> Result:
        """Carry out one command line as a process of its own."""
        if input is not None:
            options["stdin"] = subprocess.PIPE
        process = self.start(*argv, **options)
        try:
            out, err = process.communicate(input, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
        return Result(process.returncode, out or b"", err or b"")

    def talk(self, *argv: str, replies: Sequence[tuple[str, str]] = (), columns: int = 100) -> Result:
        """Carry out one command line at a real terminal, answering each question when it is seen.

        All that is shown is the result's `out`.
        """
        ours, theirs = pty.openpty()
        env: dict[str, str | None] = {"TERM": "xterm", "COLUMNS": str(columns)}
        process = self.start(
            *argv, env=env, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        seen, waiting, asked = b"", list(replies), 0
        deadline = time.monotonic() + PATIENCE
        try:
            while time.monotonic() < deadline:
                if not select.select([ours], [], [], 0.1)[0]:
                    continue
                try:
                    read = os.read(ours, 65536)
                except OSError:  # the other side is closed
                    break
                if not read:
                    break
                seen += read
                if waiting and waiting[0][0].encode() in seen[asked:]:
                    asked = len(seen)
                    os.write(ours, waiting.pop(0)[1].encode() + b"\n")
            code = process.wait(max(0.1, deadline - time.monotonic()))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            os.close(ours)
        assert not waiting, seen
        return Result(code, seen, b"")

    def _environ(self, changes: dict[str, str | None] | None) -> dict[str, str]:
        merged = {**self.env, **(changes or {})}
        return {key: value for key, value in merged.items() if value is not None}

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of the data directory from another open file, as another process would (Z1)."""
        self.lock.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.lock, "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


class Killed(BaseException):
    """Stands for the end of the process: nothing that would change a file happens after it."""


CHANGING = ("mkdir", "open", "write", "fsync", "fchmod", "rename", "replace", "unlink", "ftruncate", "link")


@contextlib.contextmanager
def killed_at(step: int) -> Iterator[list[str]]:
    """Let the process seem to be killed just before the given step that changes a file or makes it durable.

    Yields the names of the steps that were taken. Closing still works, as it does for a dead process.
    """
    taken: list[str] = []
    with contextlib.ExitStack() as stack:
        for call in CHANGING:
            stack.enter_context(
                mock.patch.object(os, call, _counted(call, getattr(os, call), step, taken, Killed))
            )
        yield taken


@contextlib.contextmanager
def failing_at(step: int, error: Callable[[], BaseException]) -> Iterator[list[str]]:
    """Let one step that changes a file fail, and only that one."""
    taken: list[str] = []
    with contextlib.ExitStack() as stack:
        for call in CHANGING:
            stack.enter_context(
                mock.patch.object(os, call, _counted(call, getattr(os, call), step, taken, error))
            )
        yield taken


def _counted(
    call: str, real: Callable[..., Any], step: int, taken: list[str], error: Callable[[], BaseException]
) -> Callable[..., Any]:
    def step_taken(*args: Any, **options: Any) -> Any:
        if call == "open" and not (args[1] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return real(*args, **options)
        dead = len(taken) >= step if error is Killed else len(taken) == step
        taken.append(call)
        if dead:
            raise error()
        return real(*args, **options)

    return step_taken


def tree(root: Path) -> dict[str, bytes | None]:
    """Return every path below a directory with its bytes, None for what is no regular file."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() and not path.is_symlink() else None
        for path in sorted(root.rglob("*"))
    }


def one_line_error(result: Result, code: int, *parts: str) -> None:
    """Assert that a command failed with a code, one line and at most one hint, naming some parts (X3)."""
    assert result.code == code, result
    assert result.out == "", result
    lines = result.err.splitlines()
    assert lines, result
    assert lines[0].startswith("milkmem: "), result
    assert lines[1:] == [] or (len(lines) == 2 and lines[1].startswith("hint: ")), result
    assert "Traceback" not in result.err, result
    for part in parts:
        assert part in lines[0], (part, result)


def stopped(process: subprocess.Popen[bytes], number: signal.Signals) -> int:
    """Send a signal to a process that we started and return its exit code."""
    process.send_signal(number)
    process.communicate(timeout=PATIENCE)
    return process.returncode
