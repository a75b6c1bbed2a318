"""The reference of the command line holds all there is and nothing else: commands, options, keys, codes.

What can be generated from the declarations is, between marks; `python tests/test_docs_commands.py` writes it
anew. JSON keys are those that the program prints.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from milkmem.cli.declare import COMMANDS, ENVIRONMENT, FLAG, GROUPS, PROGRAM, RUN, SHARED, Argument, Option
from milkmem.errors import DONE, EXIT_CODES, REFUSED
from milkmem.knobs import KNOBS
from milkmem.percept import ARCHIVE, FIELDS, GLOBAL, SESSION
from program import Program, archived, edge, fact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkmem.cli.declare import Command, Parameter

ROOT = Path(__file__).parent.parent
REFERENCE = ROOT / "docs" / "commands.md"
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
NAMES = [command.name for command in COMMANDS]
BY_NAME = {command.name: command for command in COMMANDS}

# Options that every command has, and one of aider's.
FOREIGN = {"--help", "--version", "--read"}
# Objects whose keys are data: a knob's name, a counter's.
OPEN = {"settings[].set", "metrics"}
PERCEPT_KEYS = {*FIELDS, "scope", "rank_score"}
NO_JSON = {"hook run", "hook shell", "completion"}


# What is generated.


def spelled(param: Parameter) -> str:
    """Return an option or argument as it is typed."""
    if isinstance(param, Argument):
        return param.metavar if param.required else f"[{param.metavar}]"
    assert isinstance(param, Option)
    flags = ", ".join(flag for flag in (*param.flags, param.negative) if flag != "")
    value = "" if param.kind == FLAG else f" {param.metavar or param.kind.upper()}"
    return flags + value


def default(param: Parameter) -> str:
    """Return the default of an option, "" for none."""
    if param.multiple or param.default is None or param.default is False:
        return ""
    if param.default is True:
        return "yes"
    return f"{param.default:g}" if isinstance(param.default, float) else str(param.default)


def table(params: tuple[Parameter, ...]) -> list[str]:
    """Return the table of arguments and options."""
    rows = ["| | default | |", "|---|---|---|"]
    for param in params:
        if not (isinstance(param, Option) and param.hidden):
            shown = spelled(param).replace("|", "\\|")
            rows.append(f"| `{shown}` | {default(param)} | {param.help} |")
    return rows


def generated(name: str) -> str:
    """Return what stands between the marks of a name: a command, or what all commands share."""
    if name == "exit codes":
        rows = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
        return "\n".join(["| code | meaning |", "|---|---|", *rows])
    if name == "environment":
        rows = [f"| `{variable}` | {meaning} |" for variable, meaning in ENVIRONMENT.items()]
        return "\n".join(["| variable | meaning |", "|---|---|", *rows])
    if name in ("shared options", "options of the run"):
        return "\n".join(table(SHARED if name == "shared options" else RUN))
    if name == "commands":
        lines = []
        for panel in dict.fromkeys(command.panel for command in COMMANDS):
            links = [f"[{each.name}](#{anchor(each)})" for each in COMMANDS if each.panel == panel]
            lines.append(f"- {panel}: {' · '.join(links)}")
        return "\n".join(lines)
    command = BY_NAME[name]
    own = tuple(param for param in command.params if param not in (*SHARED, *RUN))
    lines = [f"{command.summary} {command.details}".rstrip(), ""]
    if own:
        lines += [*table(own), ""]
    also = ["the [shared options](#options-shared-by-all)"]
    taken = [f"`{option.flags[0]}`" for option in RUN if option in command.params]
    if taken:
        also.insert(0, f"{' and '.join(taken)} of [the run](#options-of-the-run)")
    lines += [f"Also {', '.join(also)}.", "", "```sh"]
    lines += [f"{line}    # {meaning}" for line, meaning in command.examples]
    return "\n".join([*lines, "```"])


def anchor(command: Command) -> str:
    """Return the anchor of a command's heading."""
    return f"{PROGRAM}-{command.name}".replace(" ", "-")


def marked(text: str) -> dict[str, str]:
    """Return what stands between the marks of each name."""
    return dict(re.findall(r"<!-- generated: ([a-z ]+) -->\n(.*?)\n<!-- end -->", text, re.DOTALL))


def sections(text: str) -> dict[str, str]:
    """Return the section of each command."""
    found = re.split(rf"^### `{PROGRAM} ([a-z ]+)`$", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


TEXT = REFERENCE.read_text(encoding="utf-8") if REFERENCE.exists() else ""
SECTIONS = sections(TEXT)
SHARED_BLOCKS = ("commands", "shared options", "options of the run", "environment", "exit codes")


@pytest.mark.parametrize("name", [*SHARED_BLOCKS, *NAMES])
def test_what_is_declared_is_written_down(name: str) -> None:
    """X1, X2: options, environment and exit codes stand in the reference as they are declared."""
    assert marked(TEXT)[name] == generated(name)


def test_every_command_has_a_section_and_no_other_has() -> None:
    """X1: commands in the order of the help, none missing, none that is not there."""
    assert list(marked(TEXT)) == [*SHARED_BLOCKS, *SECTIONS]
    assert sorted(SECTIONS) == sorted(NAMES)
    panels = [BY_NAME[name].panel for name in SECTIONS]
    assert panels == sorted(panels, key=list(dict.fromkeys(panels)).index)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_pages_name_nothing_that_is_not_there(page: Path) -> None:
    """X1, X2: each option, command and exit code that a page names exists."""
    text = page.read_text(encoding="utf-8")
    ours = {
        flag
        for command in COMMANDS
        for param in command.params
        if isinstance(param, Option)
        for flag in (*param.flags, param.negative)
    }
    assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) <= ours | FOREIGN
    words = {name.split()[0] for name in NAMES}
    groups = {group.name for group in GROUPS}
    for line in re.findall(rf"(?<![/\w.-]){PROGRAM} ([a-z]+(?: [a-z]+)?)(?![\w/])", "\n".join(code_in(text))):
        first, _, second = line.partition(" ")
        assert first in words, line
        assert first not in groups or second == "" or f"{first} {second}" in NAMES, line
    for code in re.findall(r"[Ee]xit(?:s with| code)?:? (\d+)", text):
        assert int(code) in EXIT_CODES, code


def code_in(text: str) -> Iterator[str]:
    """Yield the code spans and fences of a page."""
    for fence, span in re.findall(r"^```\w*\n(.*?)^```|`([^`\n]+)`", text, re.DOTALL | re.MULTILINE):
        yield fence or span


def test_every_knob_is_in_the_pages_and_no_other_is() -> None:
    """K1: the table of knobs holds each knob; what looks like one elsewhere is one."""
    operations = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z_]+)` \|", operations.partition("## Knobs")[2], re.MULTILINE) == list(KNOBS)
    for page in PAGES:
        for name in re.findall(r"--set ([a-z_]+)=", page.read_text(encoding="utf-8")):
            assert name in KNOBS


# What is printed.


def flattened(value: object, at: str = "") -> Iterator[str]:
    """Yield the keys of a JSON document as dotted paths, those of a percept left out."""
    if isinstance(value, list):
        for each in value:
            yield from flattened(each, f"{at}[]")
    elif isinstance(value, dict) and at not in OPEN:
        skipped = PERCEPT_KEYS if "rank_score" in value else set()
        for key, each in value.items():
            if key not in skipped:
                path = f"{at}.{key}" if at else key
                yield path
                yield from flattened(each, path)


def documented(section: str) -> list[str]:
    """Return the JSON keys that a section lists."""
    block = section.partition("| JSON key | |\n|---|---|\n")[2].partition("\n\n")[0]
    return [key for row in block.splitlines() for key in re.findall(r"`([^`]+)`", row.split(" | ")[0])]


# For each command lines that together print every key, and the reason for a 1.
LINES = {
    "consolidate": ["consolidate --dry-run --elapsed 2h"],
    "query": ["query staging weak --limit 1"],
    "forget": ["forget --yes 00000006"],
    "inspect": ["inspect --archive"],
    "config init": ["config init"],
    "config show": ["config show"],
    "config path": ["config path"],
    "record": ["record 'Deploys to staging are not allowed on Friday'"],
    "learn": ["learn 'Deploys to production are not allowed on Friday'"],
    "link": ["link 00000003 extends 00000001"],
    "unlink": ["unlink 00000001 00000003"],
    "inject": ["inject --max 1"],
    "restore": ["restore 00000005"],
    "run start": ["run start --run x"],
    "run end": ["run end"],
    "run show": ["run show"],
    "hook install": ["hook install claude-code"],
    "forecast": ["forecast"],
    "simulate": ["simulate --hours-per-run 8 --set edge_cadence=run"],
    "doctor": ["doctor"],
}
REFUSED_LINES = {
    "forget": "forget --yes nowhere",
    "inspect": "inspect nowhere",
    "config init": "config init",
    "record": "record fact --extends 99999999",
    "link": "link 00000003 extends 99999999",
    "unlink": "unlink 00000003 00000001 updates",
    "restore": "restore 00000001",
    "run end": "run end --run nowhere",
    "hook run": "hook run claude-code --strict '{'",
    "hook install": "hook install codex --notify",
    "forecast": "forecast nowhere",
    "doctor": "doctor",
}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program with a memory in which every key has something to hold."""
    made = Program(tmp_path)
    made.write(
        GLOBAL,
        fact(
            1,
            "Deploys to staging are allowed on Friday",
            0.9,
            consumer="primary",
            evidence=1,
            idle_seconds=9.5,
        ),
        fact(2, "Never push to main", 1.0, core=True),
        edges=[edge(1, "extends", 99)],
    )
    made.write(
        SESSION,
        fact(3, "The staging API listens on port 4100", 0.9, producer="user"),
        fact(4, "weak", 0.3),
        edges=[edge(2, "extends", 3), edge(1, "contradicts", 3), edge(1, "extends", 3)],
    )
    made.write(ARCHIVE, archived(fact(5, "old fact", 0.3)), archived(fact(6, "older fact", 0.3)))
    made.ok("run", "start", "--run", "going-on")
    made.env["MILKMEM_RUN"] = "going-on"
    return made


@pytest.mark.parametrize("name", NAMES)
def test_json_keys_are_those_written_down(program: Program, name: str) -> None:
    """16: every key that a command prints is in its section, and none that it does not print."""
    keys: dict[str, None] = {}
    for line in LINES.get(name, []):
        result = program.run(*shlex.split(line), "--json")
        assert result.code in (DONE, REFUSED), result
        keys |= dict.fromkeys(flattened(result.json))
    assert (keys == {}) == (name in NO_JSON)
    assert sorted(documented(SECTIONS[name])) == sorted(key for key in keys if key != "schema_version")


def test_the_keys_of_a_percept_are_written_down() -> None:
    """16, F3: what is said once of every percept is all that one can have."""
    section = TEXT.partition("### A percept in JSON")[2].partition("\n### ")[0]
    assert set(documented(section)) == PERCEPT_KEYS


@pytest.mark.parametrize("name", NAMES)
def test_who_can_refuse_says_so(program: Program, name: str) -> None:
    """X2: a section says when its command exits with 1, if it can."""
    assert ("**Exit 1**" in SECTIONS[name]) == (name in REFUSED_LINES)
    if name not in REFUSED_LINES:
        return
    if name == "config init":
        program.ok("config", "init")
    if name == "hook install":
        program.ok("hook", "install", "codex")
    if name == "doctor":
        program.data.chmod(0o755)
    assert program.run(*shlex.split(REFUSED_LINES[name])).code == REFUSED


def rewritten(text: str) -> str:
    """Return the reference with what is generated written anew."""

    def anew(match: re.Match[str]) -> str:
        return f"<!-- generated: {match[1]} -->\n{generated(match[1])}\n<!-- end -->"

    return re.sub(r"<!-- generated: ([a-z ]+) -->\n.*?<!-- end -->", anew, text, flags=re.DOTALL)


if __name__ == "__main__":
    REFERENCE.write_text(rewritten(TEXT), encoding="utf-8")
