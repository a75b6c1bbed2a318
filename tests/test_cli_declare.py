"""The declared command line, its two readers, and the mapping of failures to exit codes (X1, X2, X3, X8)."""

from __future__ import annotations

import io
import os
import re
import shlex
import signal
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.main import get_command

from milkmem import __main__ as program
from milkmem import __version__, errors
from milkmem.cli import app, plain, short
from milkmem.cli.declare import (
    CHOICE,
    COMMANDS,
    ENVIRONMENT,
    FLAG,
    GROUPS,
    NUMBER,
    RUN,
    SHARED,
    WHOLE,
    Argument,
    Call,
    Command,
    Option,
    Parameter,
)
from milkmem.percept import AUDIENCES, PRODUCERS, RELATIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    Put = Callable[[Callable[[Call], int]], None]
    Read = Callable[[list[str]], Call | errors.BadUsage | None]

NAMES = [command.name for command in COMMANDS]
BY_NAME = {command.name: command for command in COMMANDS}
IN_A_RUN = {
    "consolidate",
    "query",
    "inject",
    "record",
    "learn",
    "run start",
    "run end",
    "run show",
    "hook run",
    "forecast",
}

# Belongs to no run, but ages and ranks are relative to an instant.
DATED = {"inspect", "simulate"}

# What X1 lists, command by command: the arguments in their order, the options beside the shared ones.
LISTED = {
    "consolidate": "--elapsed --dry-run -v --verbose",
    "query": "[WORDS...] --min-confidence --limit --for --touch --no-touch",
    "forget": "TARGET... --yes --all --sessions --dry-run",
    "inspect": "[TARGET] --scope --producer --min-w --sort --archive --sessions",
    "forecast": "[TARGET] --days --hours-per-run --turns-per-run",
    "simulate": "--runs-per-day --hours-per-run --turns-per-run --restated --used --days --set --from-here",
    "doctor": "",
    "config init": "--stdout --force --upgrade --from-milk",
    "config show": "",
    "config path": "",
    "record": "TEXT --producer --for --theme --extends --updates --derives --contradicts",
    "learn": "TEXT",
    "link": "FROM RELATION TO",
    "unlink": "FROM TO [RELATION]",
    "inject": "[PROMPT] --for --max --max-bytes",
    "restore": "ID...",
    "run start": "",
    "run end": "",
    "run show": "",
    "hook run": "AGENT [JSON] --strict",
    "hook install": "AGENT --project --prompt --per-project --notify --uninstall --dry-run",
    "hook shell": "SHELL",
    "completion": "[SHELL] --ids",
}


def options(command: Command) -> list[Option]:
    return [param for param in command.params if isinstance(param, Option)]


def arguments(command: Command) -> list[Argument]:
    return [param for param in command.params if isinstance(param, Argument)]


def flags(command: Command) -> list[str]:
    return [flag for option in options(command) for flag in (*option.flags, option.negative) if flag != ""]


# The declarations


@pytest.mark.parametrize(("name", "listed"), LISTED.items())
def test_command_has_the_parameters_of_the_list(name: str, listed: str) -> None:
    """X1: a command takes what the specification lists for it, and the shared options."""
    command = BY_NAME[name]
    shown = [arg.metavar if arg.required else f"[{arg.metavar}]" for arg in arguments(command)]
    own = [param for param in options(command) if param not in (*SHARED, *RUN)]
    shown += [flag for option in own for flag in (*option.flags, option.negative) if flag != ""]
    assert shown == listed.split()
    assert all(option in command.params for option in SHARED)
    run, at = RUN
    assert (run in command.params) == (name in IN_A_RUN)
    assert (at in command.params) == (name in IN_A_RUN or name in DATED)


def test_names_are_given_once() -> None:
    """X1: no two commands, and no two parameters or flags of one command, share a name."""
    assert len(set(NAMES)) == len(NAMES)
    assert len({command.target for command in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        names = [param.name for param in command.params]
        assert len(set(names)) == len(names), command.name
        assert len(set(flags(command))) == len(flags(command)), command.name


def test_sub_commands_have_a_declared_group() -> None:
    """X1: every first word of a command of two words is a group, and every group has commands."""
    assert {name.split()[0] for name in NAMES if " " in name} == {group.name for group in GROUPS}


def test_arguments_stand_where_the_readers_expect_them() -> None:
    """X1: an optional argument is behind the required ones, and one that takes all the rest is last."""
    for command in COMMANDS:
        required = [argument.required for argument in arguments(command)]
        assert required == sorted(required, reverse=True), command.name
        assert not any(argument.multiple for argument in arguments(command)[:-1]), command.name


def test_choices_come_from_where_they_are_declared() -> None:
    """X1: audiences, producers, relations and colours are those of the modules that own them."""
    record = {option.flags[0]: option for option in options(BY_NAME["record"])}
    assert record["--for"].choices == AUDIENCES
    assert record["--producer"].choices == PRODUCERS
    assert record["--color"].choices == (plain.AUTO, plain.ALWAYS, "never")
    assert record["--color"].default == plain.AUTO
    assert [flag for flag in record if flag.lstrip("-") in RELATIONS] == [f"--{each}" for each in RELATIONS]


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_every_command_has_two_examples_that_are_read(command: Command) -> None:
    """X8: the help of a command has two examples, and each is a line of that command."""
    assert len(command.examples) == 2
    for line, meaning in command.examples:
        found = re.search(r"milkmem ([^|<>)]*)", line)
        assert found is not None
        call = short.parse(shlex.split(found[1]))
        assert call is not None, line
        assert call.command is command
        assert meaning != ""


@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_help_texts_hold_no_markup(command: Command) -> None:
    """X5: Rich would take brackets for styles and :words: for emoji; no text that it shows has any."""
    texts = [command.summary, command.details, *(param.help for param in command.params)]
    assert not any(re.search(r"\[|:\w+:", text) for text in texts)
    assert all(text.endswith(".") for text in texts if text != "")


def test_query_defaults() -> None:
    """Q2: without options a query asks for w of at least 0.4 and for five percepts, and touches them."""
    call = short.parse(["query"])
    assert call is not None
    assert call.number("min_confidence") == 0.4
    assert call.whole("limit") == 5
    assert call.flag("touch") is True
    assert call.texts("words") == ()


def test_call_gives_each_value_in_its_type() -> None:
    """X1: flags, texts, numbers and repeated options come out typed; what was not given is None."""
    line = ["record", "a fact", "--extends", "x", "--extends=y", "--theme", "t"]
    call = short.parse(line)
    assert call is not None
    assert call.given("text") == "a fact"
    assert call.given("producer") == "primary"
    assert call.text("theme") == "t"
    assert call.text("session") is None
    assert call.texts("extends") == ("x", "y")
    assert call.texts("updates") == ()
    assert call.flag("json") is False
    with pytest.raises(KeyError):
        call.flag("limit")
    inject = short.parse(["inject", "--max", "3"])
    assert inject is not None
    assert inject.whole("max") == 3
    assert inject.whole("max_bytes") is None
    inspect = short.parse(["inspect", "--min-w", ".5"])
    assert inspect is not None
    assert inspect.number("min_w") == 0.5


# The two readers

LINES = {
    "consolidate": {"elapsed": None, "dry_run": False, "verbose": False, "run": None, "color": "auto"},
    "consolidate -v --elapsed=2h --dry-run": {"elapsed": "2h", "dry_run": True, "verbose": True},
    "consolidate --elapsed 1h --elapsed 2h": {"elapsed": "2h"},
    "query --limit five --limit 5": {"limit": 5},
    "consolidate --elapsed=": {"elapsed": ""},
    "consolidate --session --json": {"session": "--json", "json": False},
    "consolidate --session -- --json": {"session": "--", "json": True},
    "consolidate --run -v": {"run": "-v", "verbose": False},
    "query a --json b": {"words": ("a", "b"), "json": True},
    "query -- --json -v -- x": {"words": ("--json", "-v", "--", "x"), "json": False},
    "query - ''": {"words": ("-", "")},
    "query --no-touch": {"touch": False},
    "query --no-touch --touch": {"touch": True},
    "query --limit 07 --min-confidence 1e-1": {"limit": 7, "min_confidence": 0.1},
    "query --config=a=b": {"config": "a=b"},
    "query --for escalation --color never": {"audience": "escalation", "color": "never"},
    "record - --extends a --derives b --extends=c": {"text": "-", "extends": ("a", "c"), "derives": ("b",)},
    "record -- -5": {"text": "-5"},
    "inject --max -1": {"max": -1, "prompt": None},
    "link a extends b": {"source": "a", "relation": "extends", "target": "b"},
    "unlink a b": {"source": "a", "target": "b", "relation": None},
    "unlink a b contradicts": {"relation": "contradicts"},
    "config init --from-milk m.json": {"from_milk": "m.json", "force": False},
    "run start --run=x --at 2026-01-02": {"run": "x", "at": "2026-01-02"},
}

BROKEN = (
    "consolidate extra",
    "consolidate --elapsed",
    "consolidate --nope",
    "consolidate --elaps 2h",
    "consolidate --json=1",
    "consolidate -x",
    "consolidate -v=1",
    "query --no-touch=1",
    "query --limit",
    "query --limit five",
    "query --limit 2.5",
    "query --limit 0",
    "query --limit -3",
    "query --min-confidence 1.01",
    "query --min-confidence nan",
    "query --min-confidence inf",
    "query --min-confidence ''",
    "query --for everyone",
    "query --for Primary",
    "query -5",
    "inspect --sort size",
    "inspect a b",
    "inject --max 0",
    "forget",
    "restore --json",
    "record",
    "record one two",
    "record --producer nobody x",
    "link a b",
    "link a likes b",
    "link a extends b c",
    "unlink a",
    "unlink a b likes",
    "config nope",
    "config --force",
    "run",
    "nope",
    "--nope",
    "consolidat",
    "''",
)


@pytest.fixture(scope="module")
def built() -> object:
    """Return Typer's command, built once: to build it for each line takes most of the time."""
    return get_command(app.build())


@pytest.fixture
def read(built: object, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return a reader of lines by Typer: the call, the error, or None for help, which is not shown."""
    monkeypatch.setattr(app, "build", lambda: None)
    monkeypatch.setattr(app, "get_command", lambda _: built)
    monkeypatch.setattr(app._Help, "format_help", lambda self, ctx, formatter: None)

    def read(line: list[str]) -> Call | errors.BadUsage | None:
        try:
            return app.parse(line)
        except errors.BadUsage as error:
            return error

    return read


@pytest.mark.parametrize(("line", "expected"), LINES.items())
def test_both_readers_read_a_line_alike(read: Read, line: str, expected: dict[str, object]) -> None:
    """X1: a well-formed line means the same with and without Typer."""
    for call in (short.parse(shlex.split(line)), read(shlex.split(line))):
        assert isinstance(call, Call)
        assert {name: call.values[name] for name in expected} == expected
        assert set(call.values) == {param.name for param in call.command.params}


@pytest.mark.parametrize("line", [line for line in BROKEN if line != "run"])
def test_a_broken_line_is_left_to_typer_which_refuses_it(read: Read, line: str) -> None:
    """X2: what is not well-formed is a usage error with a hint, and the short reader does not guess."""
    assert short.parse(shlex.split(line)) is None
    error = read(shlex.split(line))
    assert isinstance(error, errors.BadUsage)
    assert error.code == errors.USAGE
    assert re.fullmatch(r"milkmem( [a-z]+)* --help", error.hint)


POOL = ["", "-", "--", "-x", "-v", "--json", "a", "a b", "x=y", "0.4", "5", "-1", "nan", "#3f", "primary"]
WORDS = st.sampled_from(POOL) | st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)

ODDITIES = [
    *("--", "-", "-v", "-vv", "-v=1", "-vx", "-5", "-h", "---", "--=", "=", "extra", "--help", "--help=1"),
    *("--nope", "--jso", "--json=1", "--no-touch", "--touch=no", "--session", "--elapsed", "--limit"),
    *("--limit=", "--limit=x", "--limit=2", "--min-w=2", "--for", "--for=all"),
]
CHANGES = ["insert", "drop", "cut", "double"]


def good_value(param: Parameter) -> st.SearchStrategy[str]:
    """Return texts that a parameter takes."""

    def taken(text: str) -> bool:
        assert param.bound is not None
        return param.bound.allows(float(text))

    if param.kind == CHOICE:
        return st.sampled_from(param.choices)
    if param.kind == WHOLE:
        return st.integers(1, 10**30).map(str).filter(taken) | st.sampled_from(["1_0", " 7 ", "\u0663", "+4"])
    if param.kind == NUMBER:
        return (st.floats(0, 1).map(repr) | st.sampled_from(["1", ".5", "1e-3", " 0.5 ", "+0"])).filter(taken)
    return WORDS


def good_piece(option: Option) -> st.SearchStrategy[tuple[Option, list[str], object]]:
    """Return ways to write an option, each with the value that it stands for."""
    if option.kind == FLAG:
        ways = [(option, [flag], True) for flag in option.flags]
        return st.sampled_from(ways + [(option, [flag], False) for flag in [option.negative] if flag != ""])
    flag = option.flags[-1]
    values = good_value(option)
    return values.map(lambda text: (option, [flag, text], option.read(text))) | values.map(
        lambda text: (option, [f"{flag}={text}"], option.read(text))
    )


def good_texts(argument: Argument) -> st.SearchStrategy[list[str]]:
    """Return what may stand for an argument."""
    least = int(argument.required)
    return st.lists(good_value(argument), min_size=least, max_size=3 if argument.multiple else 1)


Parts = tuple[list[tuple[Option, list[str], object]], tuple[list[str], ...], int, bool]
PARTS = {
    command.name: st.tuples(
        st.lists(st.one_of(*map(good_piece, options(command))), max_size=5),
        st.tuples(*map(good_texts, arguments(command))),
        st.integers(0, 5),
        st.booleans(),
    )
    for command in COMMANDS
}


def put_together(command: Command, parts: Parts) -> tuple[Command, list[str], dict[str, object]]:
    """Return a well-formed line, and what it must be read as."""
    pieces, texts, at, behind = parts
    values: dict[str, object] = {param.name: param.default for param in command.params}
    for option, _, _ in pieces:
        repeated = [each for other, _, each in pieces if other is option]
        values[option.name] = tuple(repeated) if option.multiple else repeated[-1]
    for argument, given_texts in zip(arguments(command), texts, strict=True):
        if argument.multiple:
            values[argument.name] = tuple(given_texts)
        elif given_texts:
            values[argument.name] = given_texts[0]
    loose = [text for given_texts in texts for text in given_texts]
    before = [item for _, written, _ in pieces[:at] for item in written]
    after = [item for _, written, _ in pieces[at:] for item in written]
    if behind or any(text.startswith("-") and text != "-" for text in loose):
        line = [*before, *after, "--", *loose]
    else:
        line = [*before, *loose, *after]
    return command, [*command.name.split(), *line], values


GOOD_LINES = st.sampled_from(COMMANDS).flatmap(
    lambda command: PARTS[command.name].map(lambda parts: put_together(command, parts))
)
EDITS = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from(CHANGES), st.sampled_from(ODDITIES)), max_size=2
)


def spoil(line: list[str], edits: list[tuple[int, str, str]]) -> list[str]:
    """Return the line with small changes, which may or may not break it."""
    for at, change, item in edits:
        if change == "insert":
            line.insert(at, item)
        elif at < len(line):
            line[at : at + 1] = {"drop": [], "cut": [line[at][:-1]], "double": [line[at]] * 2}[change]
    return line


MANY = settings(max_examples=1000, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


@MANY
@given(drawn=GOOD_LINES)
def test_a_well_formed_line_takes_the_short_way(drawn: tuple[Command, list[str], dict[str, object]]) -> None:
    """X1: the short reader reads each well-formed line, and reads from it what it says."""
    command, line, values = drawn
    call = short.parse(line)
    assert call is not None, line
    assert call.command is command
    assert call.values == values


@MANY
@given(drawn=GOOD_LINES, edits=EDITS)
def test_the_readers_never_disagree(
    read: Read, drawn: tuple[Command, list[str], dict[str, object]], edits: list[tuple[int, str, str]]
) -> None:
    """X2: on any line, the short reader says what Typer says, or leaves the word to Typer."""
    line = spoil(drawn[1], edits)
    call = short.parse(line)
    said = read(line)
    if call is not None:
        assert isinstance(said, Call), (line, said)
        assert said.command is call.command
        assert said.values == call.values
    elif isinstance(said, Call):
        assert "--" in line[:2] or any(re.match(r"-v.", item) for item in line), line


# Help


def help_of(words: list[str], columns: int | None, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "" if columns is None else str(columns))
        assert program.main(words) == errors.DONE
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("columns", [40, 71, 72, 80, 200])
@pytest.mark.parametrize("command", COMMANDS, ids=NAMES)
def test_help_shows_every_flag_whole(
    command: Command, columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """X8: at any width, help names each option in full, fits the width, and has the examples to copy."""
    page = help_of([*command.name.split(), "--help"], columns, capsys)
    hidden = [flag for option in options(command) if option.hidden for flag in option.flags]
    for flag in [*(flag for flag in flags(command) if flag not in hidden), "--help"]:
        assert re.search(rf"(?<![\w-]){flag}(?![\w-])", page), flag
    examples = [line for line, _ in command.examples]
    for line in page.splitlines():
        assert len(line) <= columns or line.strip() in examples
    assert [line.strip() for line in page.splitlines() if line.strip() in examples] == examples
    assert "…" not in page


@pytest.mark.parametrize("words", [[], ["--help"]])
@pytest.mark.parametrize("columns", [40, 100])
def test_top_help_lists_all_there_is(
    words: list[str], columns: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """X8: no arguments show help, which lists commands, environment variables and exit codes."""
    page = help_of(words, columns, capsys)
    for name in [*(name.split()[0] for name in NAMES), *ENVIRONMENT, *map(str, errors.EXIT_CODES)]:
        assert re.search(rf"^\W*{name}\s", page, re.MULTILINE), name


@pytest.mark.parametrize("group", [group.name for group in GROUPS])
def test_a_group_alone_shows_its_help(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    """X2: a group without a sub-command shows help and is done."""
    page = help_of([group], 80, capsys)
    listed = re.findall(r"^   ([a-z]+)  ", page, re.MULTILINE)
    assert [f"{group} {name}" for name in listed] == [name for name in NAMES if name.startswith(f"{group} ")]


def test_top_help_groups_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """X1: help shows the commands under Memory and Recording, in the order of the declarations."""
    page = help_of(["--help"], 80, capsys)
    memory, recording = page.index(" Memory:"), page.index(" Recording:")
    assert memory < page.index(" consolidate ") < page.index(" config ") < recording
    assert recording < page.index(" record ") < page.index(" run ")


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """X1: --version names the program and its version."""
    assert help_of(["--version"], 80, capsys) == f"milkmem {__version__}\n"


@pytest.mark.parametrize("columns", ["0", "1", "-5", "x"])
def test_help_survives_any_columns(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """X8: COLUMNS of 0 or of no sense still shows help, where Rich alone prints nothing."""
    monkeypatch.setenv("COLUMNS", columns)
    assert program.main(["query", "--help"]) == errors.DONE
    assert "--min-confidence" in capsys.readouterr().out


class Terminal(io.TextIOWrapper):
    """A standard output that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "environ", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (True, {"TERM": "dumb"}, False),
        (False, {"FORCE_COLOR": "0"}, False),
        (False, {"FORCE_COLOR": "1", "GITHUB_ACTIONS": "1", "NO_COLOR": ""}, False),
    ],
)
def test_help_is_coloured_only_at_a_terminal(
    terminal: bool, environ: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X4: help has colour at a terminal and not in a pipe, and NO_COLOR that is not empty is heeded."""
    for name in ("FORCE_COLOR", "GITHUB_ACTIONS", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", (Terminal if terminal else io.TextIOWrapper)(raw, encoding="utf-8"))
    assert program.main(["query", "--help"]) == errors.DONE
    assert (b"\x1b[" in raw.getvalue()) == coloured


def test_help_fits_an_ascii_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """X2: where the terminal knows ASCII only, help has no escapes in place of its frames."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    assert program.main(["query", "--help"]) == errors.DONE
    assert b"\\u" not in raw.getvalue()
    assert b"--min-confidence" in raw.getvalue()


# The program


@pytest.fixture
def target(monkeypatch: pytest.MonkeyPatch) -> Put:
    """Put a function in the place of the target of `consolidate`."""

    def put(function: Callable[[Call], int]) -> None:
        module = types.ModuleType("milkmem.cli.consolidate")
        module.run = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)

    return put


def raising(error: BaseException) -> Callable[[Call], int]:
    def run(call: Call) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    "line", ["consolidate --dry-run -v", "-- consolidate --dry-run -v", "consolidate --dry-run -vv"]
)
def test_the_target_runs_once_whichever_way_the_line_was_read(line: str, target: Put) -> None:
    """X1: the target gets the call, and its result is the exit code, with Typer and without."""
    calls: list[Call] = []

    def run(call: Call) -> int:
        calls.append(call)
        return errors.BUSY

    target(run)
    assert program.main(line.split()) == errors.BUSY
    assert [call.flag("dry_run") for call in calls] == [True]


@pytest.mark.parametrize("line", [line for line in BROKEN if line != "run"])
def test_usage_errors_are_two_lines_and_64(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """X2, X3: a wrong line ends with 64, never 2, says what is wrong in one line and adds one hint."""
    assert program.main(shlex.split(line)) == errors.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert re.fullmatch(r"milkmem: [^\n]+[^.\n]\nhint: milkmem( [a-z]+)* --help\n", err), err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("query --limit five", ["--limit", "whole number above 0"]),
        ("query --min-confidence 2", ["--min-confidence", "from 0 to 1"]),
        ("query --for me", ["--for", "one of primary, escalation"]),
        ("link a likes b", ["RELATION", "one of extends, updates, derives, contradicts"]),
        ("consolidate --elaps 2h", ["--elaps", "--elapsed"]),
        ("consolidate --elapsed", ["--elapsed"]),
        ("record", ["TEXT"]),
        ("consolidat", ["consolidat'", "'consolidate'"]),
    ],
)
def test_usage_errors_name_what_is_wrong(
    line: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """X3: a usage error names the option or argument, and what it may be."""
    program.main(line.split())
    err = capsys.readouterr().err.splitlines()[0]
    assert all(word in err for word in words), err


@pytest.mark.parametrize(
    "line",
    [
        "record Marta owns billing",
        "'Marta owns billing'",
        "'Marta\nowns'",
        "record '--no secret tabs'",
        "record '--no\tsecret'",
        "inspect --sort=secret",
        "link a secret b",
    ],
)
def test_usage_errors_hold_no_content(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Z6: a fact typed without quotes, or taken for an option, is not repeated in the message."""
    assert program.main(shlex.split(line)) == errors.USAGE
    err = capsys.readouterr().err
    assert not any(word in err for word in ("owns", "billing", "secret"))


def test_errors_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """X5: control characters of the command line come out as visible escapes, on one line."""
    assert program.main(["con\x1b]0;x\x07\nfig\udcff\u202e"]) == errors.USAGE
    err = capsys.readouterr().err
    assert err.count("\n") == 2
    assert all(character.isprintable() for character in err.replace("\n", ""))


def test_our_errors_end_with_their_code(target: Put, capsys: pytest.CaptureFixture[str]) -> None:
    """X2, X3: an error of ours is its message, its hint if it has one, and its exit code."""
    target(raising(errors.BadData("global.json is cut off\n", "milkmem doctor")))
    assert program.main(["consolidate"]) == errors.BAD_DATA
    assert capsys.readouterr().err == "milkmem: global.json is cut off\\n\nhint: milkmem doctor\n"
    target(raising(errors.Busy("the lock is held")))
    assert program.main(["consolidate"]) == errors.BUSY
    assert capsys.readouterr().err == "milkmem: the lock is held\n"


def test_output_before_an_error_is_kept(target: Put, capsys: pytest.CaptureFixture[str]) -> None:
    """X3: what a command printed before it failed reaches standard output."""

    def run(call: Call) -> int:
        print("half")
        raise errors.Refused("no such percept")

    target(run)
    assert program.main(["consolidate"]) == errors.REFUSED
    assert capsys.readouterr().out == "half\n"


def fail_on_content(call: Call) -> int:
    try:
        raise KeyError("Marta owns billing")
    except KeyError as error:
        raise ValueError("Marta owns billing") from error


def test_a_defect_is_one_line_without_content(
    target: Put, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """X2, Z6: an unforeseen error names its type and place, not its words, and ends with 70."""
    monkeypatch.delenv("MILKMEM_DEBUG", raising=False)
    target(fail_on_content)
    assert program.main(["consolidate"]) == errors.DEFECT
    err = capsys.readouterr().err
    said, hint = err.splitlines()
    assert re.fullmatch(r"milkmem: a defect: ValueError in [\w.]+, line \d+", said)
    assert re.match("hint: .*MILKMEM_DEBUG=1", hint)
    assert "Marta" not in err


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_debug_shows_the_way_to_a_defect_without_content(
    value: str, shown: bool, target: Put, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """X3, Z6: MILKMEM_DEBUG=1 adds the frames of the error and of its cause, and no content or locals."""
    monkeypatch.setenv("MILKMEM_DEBUG", value)
    target(fail_on_content)
    assert program.main(["consolidate"]) == errors.DEFECT
    err = capsys.readouterr().err
    assert ("in fail_on_content" in err) == shown
    assert ("\nKeyError\n" in err) == shown
    assert err.count("Marta") == err.count('Error("Marta')  # in lines of source only


def test_an_interrupt_ends_with_130(target: Put, capsys: pytest.CaptureFixture[str]) -> None:
    """X2: Ctrl-C ends with 130 and prints no traceback."""
    target(raising(KeyboardInterrupt()))
    assert program.main(["consolidate"]) == errors.INTERRUPTED
    assert capsys.readouterr().err == ""


def test_an_interrupt_while_typer_reads_ends_with_130(monkeypatch: pytest.MonkeyPatch) -> None:
    """X2: Ctrl-C is 130 too where Typer has hold of it."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "_top", interrupted)
    assert program.main(["--", "run", "show"]) == errors.INTERRUPTED


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BrokenPipeError(32, "Broken pipe"), errors.DONE),
        (OSError(28, "No space left on device"), errors.CANNOT_WRITE),
        (OSError(5, "Input/output error"), errors.CANNOT_WRITE),
        (PermissionError(13, "Permission denied", "/some/file"), errors.DEFECT),
        (OSError("no number"), errors.DEFECT),
        (MemoryError(), errors.DEFECT),
        (RecursionError(), errors.DEFECT),
    ],
)
def test_unforeseen_errors_have_a_code(
    error: Exception, code: int, target: Put, capsys: pytest.CaptureFixture[str]
) -> None:
    """X2: a failing standard output is 73, a broken pipe 0 and silent, anything else unforeseen 70."""
    target(raising(error))
    assert program.main(["consolidate"]) == code
    assert capsys.readouterr().err.count("milkmem: ") == (code != errors.DONE)


def test_a_closed_standard_error_changes_no_exit_code(
    target: Put, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """X2, X3: an error that cannot be said keeps its code, and does not go to standard output instead."""
    target(raising(errors.Busy("the lock is held")))
    monkeypatch.setattr(sys, "stderr", None)
    assert program.main(["consolidate"]) == errors.BUSY
    with open(os.devnull, encoding="utf-8") as unwritable:
        monkeypatch.setattr(sys, "stderr", unwritable)
        assert program.main(["consolidate"]) == errors.BUSY
    assert capsys.readouterr().out == ""


# The program as a process

STUB = """
import sys, types
BEFORE = set(sys.modules)
from milkmem.__main__ import entry
def run(call):
    {body}
    return 0
module = types.ModuleType("milkmem.cli.consolidate")
module.run = run
sys.modules[module.__name__] = module
entry()
"""


def start(body: str, shell: str, **environ: str) -> subprocess.Popen[bytes]:
    """Start `consolidate` with `body` as its target, as `$RUN` of a line of bash."""
    command = shlex.join([sys.executable, "-W", "error", "-c", STUB.format(body=body), "consolidate"])
    return subprocess.Popen(
        ["bash", "-c", f"set -o pipefail\n{shell.replace('$RUN', command)}"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def outcome(body: str, shell: str, **environ: str) -> tuple[int, bytes, bytes]:
    process = start(body, shell, **environ)
    out, err = process.communicate(timeout=30)
    return process.returncode, out, err


SMALL = "print('x')"
LARGE = "print('x' * 1000000)"
LINES_ = "[print('x' * 100) for _ in range(100000)]"


@pytest.mark.parametrize("body", [SMALL, LARGE, LINES_])
@pytest.mark.parametrize("reader", ["head -1 >/dev/null", "true"])
def test_a_broken_pipe_is_silent(body: str, reader: str) -> None:
    """X2: a reader that stops reading is no error, whether it does early or late."""
    assert outcome(body, f"$RUN | {reader}") == (errors.DONE, b"", b"")


def test_help_into_a_broken_pipe_is_silent() -> None:
    """X2: nor is it one while help is shown, where Rich would end with 1."""
    command = shlex.join([sys.executable, "-m", "milkmem", "--help"])
    assert outcome("", f"{command} | true") == (errors.DONE, b"", b"")


@pytest.mark.parametrize("body", [SMALL, LARGE, LINES_])
@pytest.mark.parametrize("place", [">/dev/full", ">&-", "1</dev/null"])
def test_output_that_cannot_be_written_is_73(body: str, place: str) -> None:
    """X2: a full or closed standard output is said in one line and ends with 73."""
    code, out, err = outcome(body, f"$RUN {place}")
    assert (code, out) == (errors.CANNOT_WRITE, b"")
    assert re.fullmatch(rb"milkmem: [^\n]+\n", err), err


def test_a_closed_output_that_is_not_needed_is_no_error() -> None:
    """X2: a command that prints nothing is done, whatever standard output is."""
    assert outcome("pass", "$RUN >&- 2>&-") == (errors.DONE, b"", b"")


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C", "PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}]
)
def test_no_output_fails_for_its_encoding(locale: dict[str, str]) -> None:
    """X2: what the encoding lacks is printed as an escape, with no traceback."""
    code, out, err = outcome(r"print('a \u2192 \U0001f600 \udcff')", "$RUN", **locale)
    assert (code, out, err) == (errors.DONE, b"a \\u2192 \\U0001f600 \\udcff\n", b"")


def test_a_lone_surrogate_is_printed() -> None:
    """X2: a byte of the command line that is no UTF-8 comes out as an escape."""
    code, out, _ = outcome(r"print('a → \udcff')", "$RUN", PYTHONUTF8="1")
    assert (code, out) == (errors.DONE, "a → \\udcff\n".encode())


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, errors.INTERRUPTED), (signal.SIGTERM, -signal.SIGTERM)]
)
def test_signals_end_the_program(number: signal.Signals, code: int) -> None:
    """X2: an interrupt is 130 without a traceback; termination is left to the system."""
    process = start("print('up', flush=True); import time; time.sleep(30)", "exec $RUN")
    assert process.stdout is not None
    assert process.stdout.readline() == b"up\n"
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (code, b"", b"")


def test_the_short_way_imports_little() -> None:
    """X1: a well-formed line is read without Typer, Rich, and other modules that are slow to import."""
    slow = {"typer", "rich", "click", "pydantic", "dataclasses", "typing", "platformdirs", "datetime"}
    code, out, err = outcome("print(*sorted(set(sys.modules) - BEFORE))", "$RUN")
    assert (code, err) == (errors.DONE, b"")
    imported = {name.partition(".")[0] for name in out.decode().split()}
    assert "milkmem" in imported
    assert slow.isdisjoint(imported)


def test_typer_is_imported_without_pydantic() -> None:
    """X1: the pinned Typer does not import pydantic, which a later one does on every command."""
    script = "import sys, milkmem.cli.app; print('pydantic' in sys.modules)"
    command = shlex.join([sys.executable, "-c", script])
    assert outcome("", command) == (errors.DONE, b"False\n", b"")
