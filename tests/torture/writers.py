"""Many writers at once: nothing lost, nothing read broken, the clocks advanced once (Z1, Z3, Z4, R4).

Processes record while others consolidate and readers look on; sessions of their own promote into one global
store; and a program that takes no lock rewrites global.json as milk does.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milkmem.store import ATTEMPTS
from program import AT, BUSY, COMMAND, Program, fact, name
from test_program_safety import temporaries
from torture.outcome import Outcome
from torture.syscalls import can_trace

if TYPE_CHECKING:
    from collections.abc import Sequence

RECORDING = 32
CONSOLIDATING = 4
LONG = "60"
# Microseconds by which a sync is held up, so that the other program writes meanwhile.
SLOW = 50_000

_ONSETS = "b c d f g k l m n p r s t v z".split()
_VOWELS = "a e i o u".split()


def word(number: int) -> str:
    """Return a made-up word, another for each number."""
    made = ""
    for _ in range(4):
        number, onset = divmod(number, len(_ONSETS))
        number, vowel = divmod(number, len(_VOWELS))
        made += _ONSETS[onset] + _VOWELS[vowel]
    return made


def saying(number: int) -> str:
    """Return a fact that restates no other."""
    return " ".join(word(number * 7919 + 104729 * each) for each in range(1, 5))


def contents(program: Program) -> Counter[str]:
    """Return how often each fact stands in the memory files, as they are."""
    return Counter(
        percept["content"]
        for path in program.data.glob("*.json")
        for percept in json.loads(path.read_bytes())["percepts"] or []
    )


class Readers:
    """Threads that read files and ask the program until they are told to stop."""

    def __init__(self, program: Program, outcome: Outcome) -> None:
        self.program = program
        self.outcome = outcome
        self.over = threading.Event()
        self.threads = [threading.Thread(target=each) for each in (self._ask, self._read)]
        self.known: set[str] = set()

    def __enter__(self) -> Readers:
        """Begin to read."""
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop reading."""
        self.over.set()
        for thread in self.threads:
            thread.join()

    def _ask(self) -> None:
        """Ask the program: what was once shown must be shown ever after."""
        while not self.over.is_set():
            result = self.program.call("inspect", "--archive", "--json")
            self.outcome.counts["reads by the program"] += 1
            if (result.code, result.err) != (0, ""):
                self.outcome.violations.append(f"a read broke: {result}")
                return
            rows = [percept["id"] for percept in result.json["percepts"]]
            if len(set(rows)) != len(rows):
                self.outcome.violations.append("a reader saw a percept twice")
            if not self.known <= set(rows):
                self.outcome.violations.append(f"a reader missed {self.known - set(rows)}")
            self.known |= set(rows)

    def _read(self) -> None:
        """Read the files themselves: each must be whole at any moment."""
        while not self.over.is_set():
            for path in list(self.program.data.glob("*.json")):
                try:
                    document = json.loads(path.read_bytes())
                    assert list(document) == ["percepts", "engrams", "edges"]
                except (ValueError, AssertionError) as error:
                    self.outcome.note("a file read half written", error)
                self.outcome.counts["reads of whole files"] += 1
            time.sleep(0.002)


def _finish(processes: Sequence[subprocess.Popen[bytes]], outcome: Outcome, what: str) -> None:
    for process in processes:
        out, err = process.communicate(timeout=180)
        if (process.returncode, err) != (0, b""):
            outcome.violations.append(
                f"{what}: exit {process.returncode}: {err.decode()[:500]} {out[:200]!r}"
            )


def crowd(
    budget: float, rounds: int, recording: int = RECORDING, consolidating: int = CONSOLIDATING
) -> Outcome:
    """Let processes record and consolidate while others read; every fact that was confirmed must be there."""
    outcome = Outcome("writers: a crowd", budget)
    with tempfile.TemporaryDirectory() as root:
        program = Program(Path(root))
        program.env["MILKMEM_LOCK_TIMEOUT"] = LONG
        program.write("global", fact(1, "First of all", 0.9, core=True))
        told = {"First of all"}
        number = itertools.count(1)
        with Readers(program, outcome):
            for _ in range(rounds):
                if outcome.over:
                    break
                facts = [saying(next(number)) for _ in range(recording)]
                started = [
                    program.start("record", each, *(("--producer", "user") if at % 3 == 0 else ()))
                    for at, each in enumerate(facts)
                ]
                started += [program.start("consolidate", "--elapsed", "1m") for _ in range(consolidating)]
                _finish(started, outcome, "a writer")
                told |= set(facts)
                outcome.counts["facts recorded at once"] += len(facts)
                outcome.counts["passes beside them"] += consolidating
        found = contents(program)
        lost = told - found.keys()
        outcome.counts["facts lost"] += len(lost)
        if lost or found.keys() - told or set(found.values()) != {1}:
            outcome.violations.append(f"lost {lost}, foreign {found.keys() - told}, {found.most_common(2)}")
        if temporaries(program):
            outcome.violations.append(f"waste {temporaries(program)}")
    return outcome


def sessions(budget: float, rounds: int, sessions_at_once: int = 8) -> Outcome:
    """Let sessions of their own promote into one global store at once (P5, Z1).

    All passes of a round state the same running time, of which the global store's clock is asked afterwards.
    """
    outcome = Outcome("writers: sessions", budget)
    with tempfile.TemporaryDirectory() as root:
        program = Program(Path(root))
        program.env["MILKMEM_LOCK_TIMEOUT"] = LONG
        promoted: set[str] = set()
        number = itertools.count(1)
        for _ in range(rounds):
            if outcome.over:
                break
            names = [f"project-{each}" for each in range(sessions_at_once)]
            for session in names:
                own = [fact(next(number), saying(10_000 + 10 * len(promoted) + 1), 0.9, "user")]
                promoted.add(own[0]["content"])
                program.write(session, *own)
            started = [program.start("consolidate", "--session", session) for session in names]
            _finish(started, outcome, "a pass")
            outcome.counts["promotions at once"] += len(names)
        found = contents(program)
        in_global = set(program.contents("global"))
        outcome.counts["promotions lost"] += len(promoted - in_global)
        if promoted != in_global or set(found.values()) != {1}:
            outcome.violations.append(f"lost {promoted - in_global}, {found.most_common(2)}")
    return outcome


def clock_once(budget: float) -> Outcome:
    """Let eight sessions of one run make a pass at once: a global percept ages by that time once (R4)."""
    outcome = Outcome("writers: the global clock", budget)
    with tempfile.TemporaryDirectory() as root:
        program = Program(Path(root))
        program.env["MILKMEM_LOCK_TIMEOUT"] = LONG
        program.write("global", fact(1, "Kept in mind", 0.9, idle_seconds=0))
        program.ok("consolidate", "--session", "s0")
        begun = time.monotonic()
        for each in range(1, 9):
            program.ok("record", saying(each), "--session", f"s{each}")
        first = program.facts("global")[name(1)].get("idle_seconds", 0)
        _finish(
            [program.start("consolidate", "--session", f"s{each}") for each in range(1, 9)], outcome, "a pass"
        )
        lasted = time.monotonic() - begun
        idle = program.facts("global")[name(1)].get("idle_seconds", 0) - first
        outcome.counts["passes of one run at once"] += 8
        if not 0 < idle <= lasted + 0.5:
            outcome.violations.append(f"{lasted} s went by and the global store aged by {idle} s")
    return outcome


class Milk:
    """A program that takes no lock and rewrites global.json as milk does: read, add one, replace."""

    def __init__(self, program: Program, chance: random.Random, pause: float) -> None:
        """Rewrite with pauses of up to so many seconds, once started."""
        self.program = program
        self.chance = chance
        self.pause = pause
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._loop)
        self.written: list[str] = []
        self.number = itertools.count(5000)

    def __enter__(self) -> Milk:
        """Begin to rewrite."""
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop rewriting."""
        self.over.set()
        self.thread.join()

    def add(self) -> None:
        """Add one percept of its own, from the file as it is now."""
        path = self.program.file("global")
        document: dict[str, Any] = json.loads(path.read_bytes())
        added = fact(next(self.number), "Added by milk " + word(len(self.written) + 1), 0.9, core=True)
        document["percepts"] = [*(document["percepts"] or []), added]
        temporary = path.with_name("global.json.tmp")
        temporary.write_bytes(json.dumps(document, indent=2).encode())
        os.replace(temporary, path)
        self.written.append(added["id"])

    def _loop(self) -> None:
        while not self.over.is_set():
            self.add()
            time.sleep(self.chance.uniform(0, self.pause))


def foreign(budget: float, times: int, seed: int = 0) -> Outcome:
    """Write beside a program that takes no lock, half of the commands held up between read and comparison.

    Each command ends with 0 or 75, and 75 leaves nothing of its own behind. What the other replaces between
    our last comparison and our rename is lost, as the docs say; it is counted.
    """
    outcome = Outcome("writers: a foreign writer", budget)
    chance = random.Random(seed)
    traces = can_trace() == ""
    with tempfile.TemporaryDirectory() as root:
        program = Program(Path(root))
        program.write("global", fact(1, "First of all", 0.9, core=True))
        log = program.root / "strace"
        ours: set[str] = set()
        refused: set[str] = set()
        milk = Milk(program, chance, 0.03)
        with milk:
            for at in range(times):
                if outcome.over:
                    break
                command = COMMAND
                if traces and at % 2 == 0:
                    slow = f"inject=fsync:delay_enter={SLOW}:when=1..{chance.choice([2, 2 * ATTEMPTS])}"
                    command = (
                        "strace",
                        "-qq",
                        "-o",
                        str(log),
                        "-e",
                        "trace=fsync,openat",
                        "-e",
                        slow,
                        *COMMAND,
                    )
                result = program.call("learn", saying(at + 1), "--at", AT, command=command)
                outcome.counts["commands beside it"] += 1
                outcome.counts["commands that ended with 75"] += result.code == BUSY
                (ours if result.code == 0 else refused).add(saying(at + 1))
                if result.code == 0 and command != COMMAND:
                    reads = log.read_text(errors="replace").count('/global.json", O_RDONLY')
                    outcome.counts["commands that did their work again"] += reads > 1
                if result.code not in (0, BUSY) or "Traceback" in result.err:
                    outcome.violations.append(f"beside a foreign writer: {result}")
        milk.add()  # after the last command, so that the next must tell of it
        outcome.counts["rewrites by the other program"] += len(milk.written)
        found = contents(program)
        ids = set(program.facts("global"))
        outcome.counts["of ours overwritten by the other later"] += len(ours - found.keys())
        outcome.counts["of the other overwritten between comparison and rename"] += len(
            set(milk.written) - ids
        )
        if refused & found.keys():
            outcome.violations.append(f"exit 75, and yet written: {refused & found.keys()}")
        if any(count != 1 for count in found.values()):
            outcome.violations.append(f"twice: {found.most_common(2)}")
        result = program.run("doctor")
        if result.code not in (0, 1) or "Traceback" in result.err:
            outcome.violations.append(f"doctor: {result}")
        if "changed" not in result.out + result.err:
            outcome.violations.append(f"doctor does not tell of the change: {result}")
    return outcome


def run(budget: float, seed: int = 0) -> Outcome:
    """Do all of it within a time in seconds."""
    outcome = Outcome("writers", budget)
    outcome.merge(crowd(budget * 0.5, 1000))
    outcome.merge(sessions(budget * 0.2, 1000))
    outcome.merge(clock_once(budget * 0.1))
    outcome.merge(foreign(budget * 0.2, 10000, seed))
    return outcome
