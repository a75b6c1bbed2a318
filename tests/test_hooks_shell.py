"""`hook shell`: `milkmem_turn` in real shells."""

from __future__ import annotations

import stat
import subprocess
import time
from pathlib import Path

import pytest

from program import USAGE, Program, fact, one_line_error
from shells import SHELLS, put_on_path, run_script, shell

SLOW = 'sleep 2; echo slept >> "$HOME/calls"\n'
NOTED = """\
printf '%s\\n' "$*" >> "$HOME/calls"
if read -r line; then echo "read: $line" >> "$HOME/calls"; fi
echo out; echo err >&2
"""


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program that the shells find."""
    made = Program(tmp_path)
    put_on_path(made)
    return made


def load(name: str, *options: str) -> str:
    """Return the line that a person puts into a start-up file."""
    asked = " ".join(["milkmem hook shell", name, *options])
    return f"{asked} | source\n" if name == "fish" else f'eval "$({asked})"\n'


def calls(program: Program, count: int = 1) -> list[str]:
    """Return the calls that a stand-in for the program noted, once there are so many."""
    path = program.home / "calls"
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        lines = path.read_text().splitlines() if path.exists() else []
        if len(lines) >= count:
            break
        time.sleep(0.02)
    return lines


def eventually(path: Path, words: str) -> str:
    """Return the text of a file once it holds some words."""
    deadline = time.monotonic() + 20
    text = ""
    while words not in text and time.monotonic() < deadline:
        time.sleep(0.02)
        text = path.read_text() if path.exists() else ""
    assert words in text
    return text


def script_of(program: Program, name: str, *options: str) -> str:
    return program.ok("hook", "shell", name, *options).out


@pytest.mark.parametrize("name", SHELLS)
def test_a_turn_is_a_pass(program: Program, name: str) -> None:
    """`milkmem_turn` runs a real pass, and its output goes nowhere."""
    shell(name)
    program.write("session", fact(1, "Tests run nightly", w=0.1))
    done = run_script(program, name, load(name) + "milkmem_turn")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    eventually(program.data / "archive.json", '"pruned"')


@pytest.mark.parametrize("name", SHELLS)
def test_a_turn_runs_in_the_background_without_a_terminal(program: Program, name: str) -> None:
    """Standard input is closed, output discarded, and the caller does not wait, not even in `$(…)`."""
    script = script_of(program, name)
    put_on_path(program, SLOW)
    begin = time.monotonic()
    capture = "echo (milkmem_turn)\n" if name == "fish" else 'echo "$(milkmem_turn)"\n'
    done = run_script(program, name, script + "milkmem_turn\n" + capture)
    assert time.monotonic() - begin < 2
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "", "")
    assert calls(program, 2) == ["slept", "slept"]


@pytest.mark.parametrize("name", SHELLS)
def test_a_turn_calls_consolidate(program: Program, name: str) -> None:
    """What is called is `milkmem consolidate`, with nothing to read and nobody to print to."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    (program.data / ".milkmem").mkdir(parents=True)
    done = run_script(program, name, script + "echo typed | milkmem_turn")
    assert (done.stdout, done.stderr) == ("", "")
    assert calls(program) == ["consolidate"]
    eventually(program.data / ".milkmem" / "hook.log", "err\n")
    assert calls(program) == ["consolidate"]


@pytest.mark.parametrize("name", SHELLS)
def test_a_turn_keeps_the_status(program: Program, name: str) -> None:
    """`$?` after a turn is what it was before."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    status = "$status" if name == "fish" else "$?"
    fail = "sh -c 'exit 7'"
    done = run_script(
        program, name, f"{script}{fail}\nmilkmem_turn\necho {status}\ntrue\nmilkmem_turn\necho {status}"
    )
    assert done.stdout == "7\n0\n"


@pytest.mark.parametrize(("name", "variable"), [("bash", "${PIPESTATUS[*]}"), ("zsh", "$pipestatus")])
def test_a_turn_before_each_prompt_keeps_the_pipes_status(program: Program, name: str, variable: str) -> None:
    """Called by the shell before each prompt, a turn keeps `$?` and `PIPESTATUS` of what was typed."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    hook = "PROMPT_COMMAND=milkmem_turn" if name == "bash" else "precmd() { milkmem_turn }"
    typed = f"{script}{hook}\n(exit 3) | (exit 0) | (exit 5)\necho status $? {variable}\nexit 0\n"
    done = subprocess.run(
        [shell(name), *(("--norc", "--noprofile") if name == "bash" else ("-f",)), "-i"],
        input=typed,
        env=program.env | {"PS1": "", "TERM": "dumb"},
        cwd=program.root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "status 5 3 0 5" in done.stdout
    assert len(calls(program, 3)) >= 3


@pytest.mark.parametrize("name", SHELLS)
def test_twice_is_once(program: Program, name: str) -> None:
    """Sourcing it twice changes nothing."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    listed = {
        "bash": "declare -f; declare -p",
        "zsh": "functions milkmem_turn",
        "fish": "functions milkmem_turn; set -n",
    }
    once = run_script(program, name, script + listed[name])
    twice = run_script(program, name, script + script + listed[name])
    moving = (
        "BASHPID",
        "EPOCH",
        "RANDOM",
        "SRANDOM",
        "SECONDS",
        "BASH_",
        "declare -ir PPID",
        "declare -- _=",
    )
    kept = [
        [line for line in done.stdout.splitlines() if not any(word in line for word in moving)]
        for done in (once, twice)
    ]
    assert kept[0] == kept[1]
    assert "milkmem_turn" in once.stdout
    run_script(program, name, script + script + "milkmem_turn")
    assert calls(program) == ["consolidate"]


@pytest.mark.parametrize("name", SHELLS)
def test_strict_shells_are_no_trouble(program: Program, name: str) -> None:
    """Options and aliases that people set do not break a turn."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    aliases = "alias sh=false local=false return=false\n"
    before = {
        "bash": f"set -euo pipefail; set -o noclobber; shopt -s expand_aliases\n{aliases}",
        "zsh": f"set -euo pipefail; setopt noclobber sh_word_split ksh_arrays\n{aliases}",
        "fish": "alias sh false; function disown; false; end\n",
    }
    done = run_script(program, name, f"{before[name]}{script}milkmem_turn\necho went on")
    assert (done.stdout, done.stderr) == ("went on\n", "")
    assert calls(program) == ["consolidate"]


HOSTILE = [
    "a b",
    "$(touch x)",
    "`touch x`",
    "it's",
    'a"b',
    "a\\b",
    "\\'",
    "a\nb",
    "é",
    "*",
    "-n",
    "%s",
    "{x}",
]


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("folder", HOSTILE)
def test_hostile_places_are_quoted(program: Program, name: str, folder: str) -> None:
    """A data directory of any name reaches the pass as it is, and nothing in it is carried out."""
    place = program.root / "place" / folder
    (place / ".milkmem").mkdir(parents=True)
    script = script_of(program, name, "--data-dir", str(place), "--session", "work")
    put_on_path(program, NOTED)
    run_script(program, name, script + "milkmem_turn")
    assert (
        "\n".join(calls(program, 1 + folder.count("\n"))) == f"consolidate --data-dir {place} --session work"
    )
    eventually(place / ".milkmem" / "hook.log", "err\n")
    assert not list(program.root.rglob("x"))


@pytest.mark.parametrize("name", SHELLS)
def test_errors_go_to_the_log_and_a_person_is_told(program: Program, name: str) -> None:
    """A failing pass says so in the log, which is private; the next command at a terminal says so once."""
    shell(name)
    program.write("session").write_text("{")
    log = program.data / ".milkmem" / "hook.log"
    log.parent.mkdir()
    done = run_script(program, name, load(name) + "umask 0\nmilkmem_turn")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert eventually(log, "hint: ").startswith(f"milkmem: {program.data}/session.json: ")
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert f"see {log}" in program.run("inspect", terminal=True).err


@pytest.mark.parametrize("name", SHELLS)
def test_the_place_at_the_time_of_the_turn_counts(program: Program, name: str) -> None:
    """MILKMEM_DATA_DIR may change while a shell is open; the log follows it."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    other = program.root / "other"
    (other / ".milkmem").mkdir(parents=True)
    change = f"set -gx MILKMEM_DATA_DIR {other}" if name == "fish" else f"export MILKMEM_DATA_DIR={other}"
    run_script(program, name, f"{script}{change}\nmilkmem_turn")
    eventually(other / ".milkmem" / "hook.log", "err\n")


@pytest.mark.parametrize("name", SHELLS)
def test_nothing_is_created_where_there_is_no_memory(program: Program, name: str) -> None:
    """F1: a turn where there is no data directory leaves no trace."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    run_script(program, name, script + "milkmem_turn")
    assert calls(program) == ["consolidate"]
    assert not program.data.exists()


@pytest.mark.parametrize("name", SHELLS)
def test_the_log_is_kept_short(program: Program, name: str) -> None:
    """The log stays under 256 KiB though the shell appends to it, and keeps its newest lines."""
    script = script_of(program, name)
    put_on_path(program, NOTED)
    log = program.data / ".milkmem" / "hook.log"
    log.parent.mkdir(parents=True)
    log.write_text("an old line\\n\n" * 20_000)
    run_script(program, name, script + "milkmem_turn")
    text = eventually(log, "err\n")
    assert 100_000 < len(text) < 140_000
    assert text.endswith("an old line\\n\nerr\n")


def test_a_missing_program_is_no_trouble(program: Program) -> None:
    """Where milkmem is gone, a turn does nothing and says nothing."""
    script = script_of(program, "bash")
    put_on_path(program).unlink()
    done = run_script(program, "bash", script + "milkmem_turn; echo $?")
    assert (done.stdout, done.stderr) == ("0\n", "")


def test_other_shells_are_a_usage_error(program: Program) -> None:
    """X2: a shell that is not known is refused."""
    one_line_error(program.run("hook", "shell", "tcsh"), USAGE, "bash, zsh, fish")
