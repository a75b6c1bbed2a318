"""docs/hooks.md says what the program does: its transcript is carried out."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from hooking import NONCE
from milkmem.cli import short
from program import Program

TEXT = (Path(__file__).parent.parent / "docs" / "hooks.md").read_text()


def test_the_transcript_is_what_runs(tmp_path: Path) -> None:
    """Each command of the transcript prints what stands below it, but for the nonces."""
    program = Program(tmp_path)
    nonces: dict[str, str] = {}
    commands = 0
    for block in re.findall(r"^```console\n(.*?)^```$", TEXT, re.M | re.S):
        for command, shown in re.findall(r"^\$ ([^\n]*)\n((?:(?!\$ )[^\n]*\n)*)", block, re.M):
            words = shlex.split(command)
            if words[0] == "cat":
                (tmp_path / words[1]).write_text(shown)
                continue
            data = (tmp_path / words[-1]).read_text()
            for written, given in nonces.items():
                data = data.replace(written, given)
            result = program.run(*words[1:-2], stdin=data.encode())
            assert (result.code, result.err) == (0, "")
            nonces |= zip(NONCE.findall(shown), NONCE.findall(result.out), strict=True)
            assert NONCE.sub("", result.out) == NONCE.sub("", shown), command
            commands += 1
    assert commands == 5
    assert len(nonces) == 2


def test_every_command_named_is_one() -> None:
    """Every whole command line of ours in the shell examples is read."""
    lines = re.findall(
        r"milkmem ((?:hook|completion|consolidate|run)[^)#|\n;`]*)",
        "".join(re.findall(r"```\w*\n(.*?)```", TEXT, re.S)),
    )
    assert len(lines) > 10
    for line in lines:
        words = shlex.split(line.split("<")[0])
        assert short.parse(words) is not None, line
