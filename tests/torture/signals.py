"""SIGINT, SIGTERM and SIGHUP at random moments of a command's life (Z5, X2)."""

from __future__ import annotations

import random
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from program import INTERRUPTED, PATIENCE, Program, tree
from test_program_safety import (
    SECRET,
    WRITING,
    assert_before_or_after,
    assert_whole_again,
    before_and_after,
    reset,
)
from torture.outcome import Outcome

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
COMMANDS = ("consolidate", "restore", "record a restatement", "forget")
# A traceback that has passed here is ours; before, Python was still starting, and says so in its own words.
_OURS = re.compile(rb"milkmem/__main__\.py\", line \d+, in main")


def _duration(program: Program, argv: tuple[str, ...], before: dict[str, bytes | None]) -> float:
    """Return how many seconds a command takes that nobody disturbs."""
    reset(program, before)
    begun = time.monotonic()
    program.call(*argv)
    return time.monotonic() - begun


def run(budget: float, times: int = 300, seed: int = 0) -> Outcome:
    """Send signals at random moments, each command and signal in turn, within a time in seconds."""
    outcome = Outcome("signals", budget)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as root:
        program = Program(Path(root))
        for at, command in enumerate(COMMANDS):
            argv = WRITING[command]
            shutil.rmtree(program.data, ignore_errors=True)
            before, after = before_and_after(program, argv)
            lasts = min(_duration(program, argv, before) for _ in range(3))
            for turn in range(at, times, len(COMMANDS)):
                if outcome.spent >= budget * (at + 1) / len(COMMANDS):
                    break
                number = SIGNALS[turn // len(COMMANDS) % len(SIGNALS)]
                reset(program, before)
                told = f"{command}: {number.name}"
                process = program.start(*argv)
                time.sleep(chance.uniform(0.05, 1.1) * lasts)
                process.send_signal(number)
                try:
                    _, err = process.communicate(timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    outcome.violations.append(f"{told}: does not end")
                    continue
                outcome.counts["signals sent"] += 1
                outcome.counts["came while it ran"] += process.returncode != 0
                changed = {path: raw for path, raw in tree(program.data).items() if ".milkmem" not in path}
                outcome.counts["files already replaced"] += changed != before
                try:
                    starting = b"Traceback" in err and _OURS.search(err) is None
                    outcome.counts["came before the program had started"] += starting
                    ends = (1, -number) if starting else (0, -number, INTERRUPTED)
                    assert process.returncode in ends, (process.returncode, err)
                    assert starting or b"Traceback" not in err, err
                    assert not starting or changed == before, told
                    assert SECRET.encode() not in err, err
                    assert_before_or_after(program, before, after, told)
                    assert_whole_again(program, argv, told)
                except AssertionError as error:
                    outcome.note(told, error)
    return outcome
