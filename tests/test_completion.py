"""`completion`: what real shells offer, and what never reaches them."""

from __future__ import annotations

import os
import pty
import select
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from milkmem.cli.completion import script
from milkmem.cli.declare import COMMANDS, FLAG, Option
from program import BAD_CONFIG, USAGE, Program, archived, fact, name, one_line_error, tree
from shells import PLAIN, SHELLS, put_on_path, run_script, shell

HOSTILE = (
    "$(touch pwned)",
    "`touch pwned`",
    "a\\b",
    "; touch pwned;",
    "x y",
    "-rf",
    "~",
    "*",
    "é",
    "\x1b[31m",
    "'",
    '"',
)
# Makes standard input the terminal of this session and becomes the shell.
AT_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
HARMLESS = {"short", "under_score", "dot.ted-1"}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program that the shells find."""
    made = Program(tmp_path)
    put_on_path(made)
    return made


def load(shell_name: str) -> str:
    """Return the lines that a person puts into a start-up file."""
    if shell_name == "fish":
        return "milkmem completion fish | source\n"
    first = "autoload -Uz compinit; compinit -u -D\n" if shell_name == "zsh" else ""
    return f'{first}eval "$(milkmem completion {shell_name})"\n'


def offers(program: Program, shell_name: str, *words: str) -> set[str]:
    """Return what a shell offers for the last of the words, the first being `milkmem`."""
    typed = ["milkmem", *words]
    if shell_name == "fish":
        lines = "complete -C " + "'" + " ".join(typed).replace("'", "\\'") + "'"
    elif shell_name == "bash":
        quoted = " ".join(map(shlex.quote, typed))
        lines = (
            f'COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _milkmem; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
    else:
        quoted = " ".join(map(shlex.quote, typed))
        lines = (
            'compadd() { shift; print -rl -- "$@" }; _files() { print -rl -- FILES }\n'
            f"words=({quoted}); CURRENT={len(typed)}; _milkmem"
        )
    text = script(shell_name)
    if shell_name == "zsh":
        text = f"compdef() {{ }}\n{text}"
    done = run_script(program, shell_name, text + lines)
    assert done.stderr == "", done
    found = {line.split("\t")[0] for line in done.stdout.splitlines() if line != ""}
    # Only zsh picks those that fit by itself.
    return {each for each in found if each.startswith(words[-1])} if shell_name == "zsh" else found


@pytest.mark.parametrize("shell_name", SHELLS)
def test_commands_and_flags_are_offered(program: Program, shell_name: str) -> None:
    """Every command, sub-command and flag is offered where it may stand, and hidden ones nowhere."""
    firsts = {command.name.split()[0] for command in COMMANDS}
    assert offers(program, shell_name, "") == firsts
    assert offers(program, shell_name, "co") == {each for each in firsts if each.startswith("co")}
    assert offers(program, shell_name, "--") == {"--help", "--version"}
    assert offers(program, shell_name, "hook", "") == {"run", "install", "shell"}
    assert offers(program, shell_name, "hook", "install", "--p") == {"--project", "--prompt", "--per-project"}
    assert offers(program, shell_name, "query", "staging", "--no") == {"--no-touch"}
    assert "--ids" not in offers(program, shell_name, "completion", "--i")


@pytest.mark.parametrize("shell_name", SHELLS)
def test_choices_are_offered(program: Program, shell_name: str) -> None:
    """The values of an option or argument that has a few are offered behind it."""
    assert offers(program, shell_name, "query", "--for", "") == {"primary", "escalation"}
    assert offers(program, shell_name, "record", "x", "--producer", "s") == {"system"}
    assert offers(program, shell_name, "hook", "run", "") == {"claude-code", "codex"}
    assert offers(program, shell_name, "completion", "z") == {"zsh"}
    assert offers(program, shell_name, "query", "--limit", "") == set()
    assert offers(program, shell_name, "nonsense", "") == set()


@pytest.mark.parametrize("shell_name", SHELLS)
def test_files_are_offered_where_one_is_meant(program: Program, shell_name: str) -> None:
    """Behind `--config` the shell offers files."""
    (program.root / "milk $(touch pwned).toml").write_text("")
    found = offers(program, shell_name, "query", "--config", "" if shell_name == "zsh" else "milk")
    assert found == ({"FILES"} if shell_name == "zsh" else {"milk $(touch pwned).toml"})
    assert not (program.root / "pwned").exists()


@pytest.mark.parametrize("shell_name", SHELLS)
def test_ids_are_offered(program: Program, shell_name: str) -> None:
    """Ids of the stores that a command looks in are offered whole."""
    program.write("global", fact(1, "one"))
    program.write("session", fact(2, "two"))
    program.write("archive", archived(fact(3, "three")))
    live, gone = {name(1), name(2)}, {name(3)}
    assert offers(program, shell_name, "forget", "") == live | gone
    assert offers(program, shell_name, "forget", "--yes", name(1), "00000002") == {name(2)}
    assert offers(program, shell_name, "inspect", "") == live | gone
    assert offers(program, shell_name, "restore", "") == gone
    assert offers(program, shell_name, "unlink", "0") == live
    assert offers(program, shell_name, "record", "x", "--extends", "0") == live
    assert offers(program, shell_name, "link", name(1), "ex") == {"extends"}
    assert offers(program, shell_name, "forget", "-") >= {"--yes", "--all"}


@pytest.mark.parametrize("shell_name", SHELLS)
def test_hostile_ids_and_facts_never_reach_the_shell(program: Program, shell_name: str) -> None:
    """Case 34: neither a fact nor an id that a shell could take for more is offered or carried out."""
    facts = [fact(at, f"SECRET {text}") | {"id": text} for at, text in enumerate([*HOSTILE, *HARMLESS])]
    program.write("session", *facts)
    program.write("archive", archived(fact(90, "SECRET $(touch pwned)") | {"id": "$(touch pwned2)"}))
    assert offers(program, shell_name, "forget", "") == HARMLESS
    for typed in ("$(touch pwned)", "`touch pwned`", "'", "\\", "*", "a b"):
        if shell_name != "fish":
            assert offers(program, shell_name, "forget", typed) == set()
    assert not list(program.root.rglob("pwned*"))


@pytest.mark.parametrize("shell_name", SHELLS)
def test_completing_creates_nothing(program: Program, shell_name: str) -> None:
    """Case 34: completing with no data directory creates nothing and says nothing."""
    shell(shell_name)
    assert offers(program, shell_name, "forget", "") == set()
    assert offers(program, shell_name, "restore", "x") == set()
    assert [path for path in tree(program.root) if "mem" in path] == ["bin/milkmem"]
    program.write("session").write_text("{")
    program.write("global", fact(1, "one"))
    assert offers(program, shell_name, "forget", "") == {name(1)}
    program.config("broken")
    assert offers(program, shell_name, "forget", "") == set()


@pytest.mark.parametrize("shell_name", SHELLS)
def test_a_tab_at_a_real_prompt(program: Program, shell_name: str) -> None:
    """At a prompt, a tab completes the only id that fits, and no fact is carried out."""
    program.write("session", fact(0xABC1, "$(touch pwned) `touch pwned` \\"), fact(0xDEF2, "$(touch pwned)"))
    path = shell(shell_name)
    ours, theirs = pty.openpty()
    env = program.env | {"TERM": "dumb", "PS1": "$ ", "COLUMNS": "200", "LINES": "40"}
    options = [*PLAIN[shell_name], "-i"]
    if shell_name == "fish":
        options += ["-C", "function fish_prompt; echo '$ '; end; " + load("fish")]
    process = subprocess.Popen(
        [sys.executable, "-c", AT_A_TERMINAL, path, *options],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=env,
        cwd=program.root,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        if shell_name != "fish":
            os.write(ours, load(shell_name).encode())
        os.write(ours, b"echo read''y\n")
        assert b"ready" in seen(ours, b"ready")
        os.write(ours, b"echo milkmem forget 0000ab\t")
        os.write(ours, b"\x15milkmem inspect 0000ab\t")
        assert name(0xABC1).encode() in seen(ours, name(0xABC1).encode())
        os.write(ours, b"\x15exit\n")
        process.wait(20)
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert not list(program.root.rglob("pwned"))


def seen(terminal: int, words: bytes) -> bytes:
    """Return what a terminal shows until it shows some words."""
    shown = b""
    deadline = time.monotonic() + 20
    while words not in shown and time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:
                break
    return shown


@pytest.mark.parametrize("shell_name", SHELLS)
def test_scripts_are_static(program: Program, shell_name: str) -> None:
    """The script holds what is declared and nothing of the memory, and reads twice as once."""
    program.write("session", fact(1, "SECRET"))
    text = program.ok("completion", shell_name).out
    assert text == script(shell_name)
    assert "SECRET" not in text
    assert name(1) not in text
    done = run_script(program, shell_name, load(shell_name) + load(shell_name) + "echo fine")
    assert (done.stdout, done.stderr) == ("fine\n", "")


def test_a_flag_means_one_thing() -> None:
    """X1: the scripts know a flag's values by its name, so that it takes one in all commands or in none."""
    kinds: dict[str, set[bool]] = {}
    for command in COMMANDS:
        for option in command.params:
            if isinstance(option, Option):
                for flag in option.flags:
                    kinds.setdefault(flag, set()).add(option.kind == FLAG)
    assert {flag for flag, found in kinds.items() if len(found) > 1} == set()


def test_ids_are_printed_for_scripts(program: Program) -> None:
    """The scripts ask for ids of live percepts, of archived ones, or of both."""
    program.write("session", fact(2, "two"), fact(1, "one"))
    program.write("archive", archived(fact(3, "three")), archived(fact(1, "one")))
    assert program.ok("completion", "--ids", "live").out.split() == [name(1), name(2)]
    assert program.ok("completion", "--ids", "archive").out.split() == [name(3)]
    assert program.ok("completion", "--ids", "any").out.split() == [name(1), name(2), name(3)]
    one_line_error(program.run("completion"), USAGE, "SHELL")
    one_line_error(program.run("completion", "tcsh"), USAGE)
    program.config("broken")
    assert program.run("completion", "--ids", "live").code == BAD_CONFIG
    assert program.ok("completion", "bash").out == script("bash")
