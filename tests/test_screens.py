"""Whole commands at a terminal: golden texts at fixed widths and a fixed instant, and progress for who waits.

`python tests/test_screens.py` writes the golden texts anew; look at each before keeping it.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import time
from pathlib import Path
from unittest import mock

import pytest

from milkmem.cli import progress
from milkmem.cli.progress import Progress
from milkmem.percept import ARCHIVE, GLOBAL, SESSION
from program import AT, Program, archived, edge, fact
from test_render import HOSTILE_FACTS, PLAIN_FACTS, SGR, WIDTHS, unfit

SCREENS = Path(__file__).parent / "data" / "screens" / "commands"
USED = "2026-12-01T12:00:00Z"
ALL = WIDTHS
SOME = (40, 80, 120)

# Each screen: the command line and the widths it is looked at in.
COMMANDS = {
    "inspect": ("inspect", ALL),
    "inspect-all": ("inspect --archive --sessions --sort age", (80,)),
    "inspect-contested": ("inspect 00000010", SOME),
    "inspect-global": ("inspect 00000003", SOME),
    "inspect-archived": ("inspect 00000015", (80,)),
    "inspect-hostile": ("inspect 00000011", SOME),
    "forecast": ("forecast", ALL),
    "forecast-contested": ("forecast 00000010", SOME),
    "forecast-fading": ("forecast 0000000b", ALL),
    "forecast-global": ("forecast 00000004", SOME),
    "forecast-lifted": ("forecast 0000000f --days 1", SOME),
    "forecast-core": ("forecast 00000002", (80,)),
    "simulate": ("simulate --hours-per-run 8 --set session_half_life_days=7 --set reconfirm_boost=0.1", ALL),
    "simulate-never": ("simulate --restated 0 --used 2 --runs-per-day 3", (80,)),
    "simulate-here": ("simulate --from-here --set edge_cadence=run", SOME),
    "consolidate": ("consolidate -v --dry-run --elapsed 2h", ALL),
    "empty-inspect": ("inspect --data-dir {empty}", (80,)),
    "empty-forecast": ("forecast --data-dir {empty}", (80,)),
    "empty-simulate": ("simulate --from-here --data-dir {empty}", (80,)),
}
CASES = [(name, width) for name, (_, widths) in COMMANDS.items() for width in widths]


def remember(program: Program) -> None:
    """Write a memory with a percept of every standing, hostile ones among them."""
    program.write(
        GLOBAL,
        fact(1, PLAIN_FACTS[5].content, 0.5, idle_seconds=1_200_960),
        fact(2, "Never push to main", 1.0, core=True, producer="user"),
        fact(3, PLAIN_FACTS[0].content, 0.8, evidence=2, last_used_at=USED),
        fact(4, HOSTILE_FACTS[4], 0.62, evidence=3),
    )
    program.write(
        SESSION,
        fact(11, "The queue is sized for exports", 0.25),
        fact(12, PLAIN_FACTS[1].content, 0.9, producer="user"),
        fact(13, "Restated five times in one sitting", 0.9, evidence=1),
        fact(14, PLAIN_FACTS[2].content, 0.85, evidence=2),
        fact(15, "The staging API is behind the proxy", 0.78),
        fact(16, "Deploys to staging are not allowed on Friday", 0.7),
        fact(
            17, HOSTILE_FACTS[0] + HOSTILE_FACTS[1], 0.5, roles={"theme": HOSTILE_FACTS[2].rstrip("\ud800")}
        ),
        fact(18, HOSTILE_FACTS[7] + " " + HOSTILE_FACTS[5], 0.45),
        edges=[edge(14, "extends", 15), edge(16, "contradicts", 3), edge(17, "derives", 99)],
    )
    program.write(ARCHIVE, archived(fact(21, "Said in spring, forgotten by summer", 0.31)))
    program.write("other", fact(22, "A fact of another session", 0.7))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Return a program with that memory; nothing here writes to it."""
    made = Program(tmp_path_factory.mktemp("screens"))
    remember(made)
    return made


def screen(program: Program, name: str, width: int, *options: str) -> str:
    """Return what a command shows at a terminal of so many columns, and hold that it changed nothing."""
    before = program.memory_files()
    line = COMMANDS[name][0].format(empty=program.root / "nothing").split()
    # Who waits for long is told so; here nobody must, however slow the machine.
    with mock.patch.object(progress, "PATIENCE", 1_000.0):
        result = program.ok(*line, *options, "--at", AT, terminal=True, env={"COLUMNS": str(width)})
    assert program.memory_files() == before
    assert result.err == ""
    return result.out


@pytest.mark.parametrize(("name", "width"), CASES)
def test_golden_screens(program: Program, name: str, width: int) -> None:
    """X4, X5, cases 27, 28: each command's screen is the text that was looked at and kept."""
    output = screen(program, name, width, "--color", "never")
    assert output == (SCREENS / f"{name}-{width}.txt").read_text(encoding="utf-8")
    assert unfit(output, width) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_colour_adds_nothing_but_colour(program: Program, name: str) -> None:
    """X4: with colour the same words stand in the same places; NO_COLOR takes it away."""
    plain = screen(program, name, 80, "--color", "never")
    coloured = screen(program, name, 80)
    assert re.sub(" +$", "", SGR.sub("", coloured), flags=re.MULTILINE) == plain
    program.env["NO_COLOR"] = "1"
    assert screen(program, name, 80) == plain
    del program.env["NO_COLOR"]


def test_conflicts_stand_below_the_table(program: Program) -> None:
    """P3: live contradictions are shown as pairs, each with the commands that would end it."""
    output = screen(program, "inspect", 120)
    table, _, conflicts = SGR.sub("", output).partition("\ncontradiction ")
    assert "contested" in table
    assert conflicts.splitlines()[0] == "00000003 and 00000010"
    assert "milkmem unlink 00000003 00000010 contradicts" in conflicts


def test_eight_hour_runs_are_told_of(program: Program) -> None:
    """15: the screen says that such runs never graduate a fact, and which knob changes that."""
    output = SGR.sub("", screen(program, "simulate", 120))
    assert "never: w at most 0.74" in output
    assert "--set session_half_life_days=3.7 (now 3)" in output


# Progress.


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def watched(monkeypatch: pytest.MonkeyPatch) -> _Terminal:
    """Let standard error be a terminal, and nobody have patience."""
    stream = _Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    return stream


def wait_for(stream: io.StringIO, text: str) -> None:
    """Wait until something is shown."""
    deadline = time.monotonic() + 10
    while text not in stream.getvalue():
        assert time.monotonic() < deadline, stream.getvalue()
        time.sleep(0.01)


def test_progress_comes_and_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    """15: who waits is told what goes on and how much is done; the line is gone in the end."""
    stderr = watched(monkeypatch)
    with Progress("looking ahead") as told:
        wait_for(stderr, "\rlooking ahead: 0s")
        told(0.25)
        wait_for(stderr, "\rlooking ahead: 25%, ")
    assert re.search("\r +\r$", stderr.getvalue())


def test_progress_ends_before_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """15: the line is gone before the screen begins, and does not come back."""
    stderr = watched(monkeypatch)
    out = io.StringIO()
    with Progress("looking ahead") as told:
        stream = told.before(out)
        wait_for(stderr, "looking")
        stream.write("first")
        shown = stderr.getvalue()
        assert shown.endswith("\r")
        time.sleep(0.3)
        told(0.5)
        stream.write(" second")
    assert stderr.getvalue() == shown
    assert out.getvalue() == "first second"
    assert stream.getvalue() == out.getvalue()  # type: ignore[attr-defined]  # it has what the stream has


def test_nobody_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """X3: no line where standard error is no terminal, none for the patient, none where it is broken."""
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Progress("looking ahead"):
        time.sleep(0.05)
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]  # the stream above
    patient = _Terminal()
    monkeypatch.setattr(sys, "stderr", patient)
    monkeypatch.setattr(progress, "PATIENCE", 60.0)
    with Progress("looking ahead"):
        time.sleep(0.05)
    assert patient.getvalue() == ""

    class _Broken(_Terminal):
        def write(self, text: str) -> int:
            raise BrokenPipeError

        def fileno(self) -> int:
            raise OSError

    monkeypatch.setattr(sys, "stderr", _Broken())
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    with Progress("looking ahead"):
        time.sleep(0.05)


if __name__ == "__main__":
    SCREENS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shown = Program(Path(folder))
        remember(shown)
        for case, columns in CASES:
            text = screen(shown, case, columns, "--color", "never")
            (SCREENS / f"{case}-{columns}.txt").write_text(text, encoding="utf-8")
