"""What runs at every turn of an agent: which modules a command loads before it is done, and no others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from milkmem import config_file

ROOT = Path(__file__).parent.parent
# Prints what was imported since the start, when the program ends.
WATCHED = """
import os, sys
before = set(sys.modules)
end = os._exit
def told(code):
    print(*sorted(set(sys.modules) - before), file=sys.stderr, flush=True)
    end(code)
os._exit = told
from milkmem.__main__ import entry
entry()
"""
# What of the standard library the hot path stands on, with all that these import themselves.
LIBRARY = "import __future__, errno, fcntl, gc, json, math, re"

EVERY = {
    *("milkmem", "__main__", "cli", "cli.declare", "cli.short", "cli.setup", "hooks", "errors", "percept"),
    *("knobs", "instants", "runs", "clock", "places", "config", "plain_toml", "files", "store", "memory"),
    "codec",
}
RECALL = {"recall", "rules", "words"}
PRINTING = {"cli.output", "cli.plain"}
PASS = {"consolidate", "rules"}
EVENT = {"cli.hook", "digest", "hooks.actions", "hooks.events", "hooks.log"}
SEARCH = {"heapq", "unicodedata"}
DIGEST = {"_blake2"}

HOOK = ("hook", "run", "claude-code")
STOP = {"hook_event_name": "Stop", "session_id": "s", "cwd": "/", "last_assistant_message": "Done."}
PROMPT = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": "how do tests run"}


@pytest.mark.parametrize(
    ("argv", "event", "ours", "library"),
    [
        (("consolidate", "--elapsed", "1s"), None, {"cli.consolidate"} | PASS, set()),
        (("consolidate",), None, {"cli.consolidate"} | PASS, set()),
        (("query", "tests"), None, {"cli.query"} | RECALL | PRINTING, SEARCH),
        (
            ("inject", "how do tests run"),
            None,
            {"cli.inject", "digest", "remember"} | RECALL | PRINTING,
            SEARCH | DIGEST,
        ),
        (
            ("record", "the build takes long"),
            None,
            {"cli.record", "cli.targets", "chance", "digest", "remember"} | RECALL | PRINTING,
            SEARCH | DIGEST,
        ),
        (HOOK, STOP, EVENT | PASS, DIGEST),
        (HOOK, PROMPT, EVENT | RECALL | {"chance", "remember", "hooks.tags"}, SEARCH | DIGEST | {"bisect"}),
    ],
)
def test_what_a_turn_loads(
    argv: tuple[str, ...], event: object, ours: set[str], library: set[str], tmp_path: Path
) -> None:
    """Design: these commands load exactly these modules, with a configuration as `config init` writes it."""
    data = tmp_path / "data"
    shutil.copytree(ROOT / "config" / "sample", data)
    configured = tmp_path / "config.toml"
    configured.write_text(config_file.render())
    environ = {"MILKMEM_CONFIG": str(configured), "MILKMEM_DATA_DIR": str(data), "HOME": str(tmp_path)}
    run(WATCHED, "consolidate", **environ)  # which checks the form of the files
    loaded = run(WATCHED, *argv, stdin=json.dumps(event), **environ)
    given = run(f"import sys; before = set(sys.modules)\n{told_by(LIBRARY, library)}")
    expected = {name if name == "milkmem" else f"milkmem.{name}" for name in EVERY | ours}
    assert {name for name in loaded if name.startswith("milkmem")} == expected
    assert {name for name in loaded if not name.startswith("milkmem")} <= given


def told_by(library: str, more: set[str]) -> str:
    also = "".join(f", {name}" for name in sorted(more))
    return f"{library}{also}\nprint(*sorted(set(sys.modules) - before), file=sys.stderr)"


def run(script: str, *argv: str, stdin: str = "", **environ: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-S", "-c", script, *argv],
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), **environ},
    )
    return set(done.stderr.split("\n")[-2].split())
