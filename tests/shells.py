"""Real shells for the tests, and the program on their PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from program import Program

SHELLS = ("bash", "zsh", "fish")
PLAIN = {"bash": ("--norc", "--noprofile"), "zsh": ("-f",), "fish": ("--no-config",)}
ROOT = Path(__file__).parent.parent


def shell(name: str) -> str:
    """Return the path of a shell, or skip the test and say why."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed here")
    return path


def put_on_path(program: Program, script: str | None = None) -> Path:
    """Put a `milkmem` on the PATH of a program, the real one or a shell script; return where it is."""
    folder = program.root / "bin"
    folder.mkdir(exist_ok=True)
    command = folder / "milkmem"
    command.write_text("#!/bin/sh\n" + (script or f'exec "{sys.executable}" -m milkmem "$@"\n'))
    command.chmod(0o755)
    program.env["PATH"] = f"{folder}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    program.env["PYTHONPATH"] = str(ROOT)
    return command


def run_script(program: Program, name: str, script: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a real shell that reads no start-up files."""
    return subprocess.run(
        [shell(name), *PLAIN[name], *options, "-c", script],
        env=program.env,
        cwd=program.root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
