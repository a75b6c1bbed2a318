"""The configuration file written, changed in place, taken over from milk, and explained (sections 3, 15)."""

from __future__ import annotations

import os

from milkmem import files
from milkmem.config import (
    APART,
    DATA_DIR,
    HOOKS,
    HOOKS_INSTRUCTIONS,
    INSTRUCTIONS,
    MEMORY,
    SESSION,
    apart,
    dotted,
    read_file,
    settings_of,
    text_of,
    too_deep,
)
from milkmem.config_text import Statement, lines_of, statements_of
from milkmem.errors import BadConfig, BadUsage, Refused
from milkmem.knobs import KNOBS, RETIRED, Knobs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from milkmem.config import Settings
    from milkmem.config_text import Path
    from milkmem.knobs import Value

_MILK_PREFIX = "percept_"
_MARK = "config"

_HEADER = """\
# The configuration of milkmem. A knob that is missing or 0 stands at its default;
# `milkmem config show` prints what is in force and where it was set.

# Where the memory lies: an absolute path, ~ is the home directory.
{data_dir}
# The session whose file is used; "@cwd" keeps one for each project.
{session}
"""
_EXAMPLES = {DATA_DIR: "~/memory", SESSION: "@cwd"}
_INSTRUCTIONS_MEANING = "Whether a session's first context tells the agent how to remember. (true or false)"


class Origin:
    """Where a setting comes from: a line of the file, or None for the default."""

    __slots__ = ("line", "zero")

    def __init__(self, line: int | None, zero: bool) -> None:
        self.line = line
        self.zero = zero

    def words(self, path: str) -> str:
        """Return the origin as `config show` prints it."""
        if self.line is None:
            return "default"
        return f"{path}:{self.line}{' (0 means the default)' if self.zero else ''}"


class Row:
    """One line of `config show`: a setting, its value (None: not set, or ignored) and its origin."""

    __slots__ = ("name", "origin", "value")

    def __init__(self, name: str, value: object, origin: str) -> None:
        self.name = name
        self.value = value
        self.origin = origin


class InitResult:
    """What `init` did.

    `added` and `dropped` name the keys that an upgrade changed, `taken` and `left_out` those of milk's
    configuration; `in_place` is False where an upgrade had to write the file afresh, without its comments.
    """

    __slots__ = ("added", "backup", "dropped", "in_place", "left_out", "path", "taken", "written")

    def __init__(self, path: str, taken: Iterable[str], left_out: Iterable[str]) -> None:
        self.path = path
        self.written = False
        self.backup: str | None = None
        self.added: tuple[str, ...] = ()
        self.dropped: tuple[str, ...] = ()
        self.in_place = True
        self.taken = tuple(taken)
        self.left_out = tuple(left_out)


# Explaining.


def origins(settings: Settings) -> dict[str, Origin]:
    """Return where each setting comes from, by its name in `show`; scans the file's text."""
    lines = lines_of(settings.text)
    memory = settings.document.get(MEMORY, {})
    found = {}
    for name in (DATA_DIR, SESSION):
        found[name] = Origin(lines.get((name,)), False)
    for name, knob in KNOBS.items():
        line = lines.get((MEMORY, name))
        # Where the default itself is 0, a 0 says what it means.
        zero = line is not None and knob.default != 0 and type(memory[name]) is not bool and memory[name] == 0
        found[name] = Origin(line, zero)
    found[HOOKS_INSTRUCTIONS] = Origin(lines.get((HOOKS, INSTRUCTIONS)), False)
    return found


def show(settings: Settings) -> list[Row]:
    """Return the lines of `config show`: every setting, then the retired keys that are ignored (K1)."""
    values: dict[str, object] = {DATA_DIR: settings.data_dir, SESSION: settings.session}
    values |= {name: getattr(settings.knobs, name) for name in KNOBS}
    values[HOOKS_INSTRUCTIONS] = settings.instructions
    where = origins(settings)
    rows = [Row(name, value, where[name].words(settings.path)) for name, value in values.items()]
    for name, line in settings.retired:
        rows.append(Row(name, None, f"{Origin(line, False).words(settings.path)} (retired: ignored)"))
    return rows


def reference_table() -> str:
    """Return the Markdown table of all knobs for the docs (K1)."""
    rows = ["| knob | default | bound | meaning |", "|---|---|---|---|"]
    rows += [
        f"| `{name}` | `{_assignment('', knob.default)}` | {knob.bound.words} | {knob.meaning} |"
        for name, knob in KNOBS.items()
    ]
    return "\n".join(rows) + "\n"


# Writing.


def render(values: Mapping[str, object] | None = None) -> str:
    """Return the annotated TOML that `config init` writes: every knob, at its default unless `values` has it.

    The keys of `values` are the names that `show` gives; an unknown one raises TypeError.
    """
    given = {} if values is None else dict(values)
    top = {
        name: _assignment(name, given.pop(name)) if name in given else f"# {_assignment(name, example)}"
        for name, example in _EXAMPLES.items()
    }
    memory = [_entry(MEMORY, name, given.pop(name, knob.default)) for name, knob in KNOBS.items()]
    hooks = _entry(HOOKS, INSTRUCTIONS, given.pop(HOOKS_INSTRUCTIONS, True))
    if given:
        raise TypeError(f"no such setting: {', '.join(given)}")
    return "\n".join((_HEADER.format(**top), f"[{MEMORY}]\n" + "\n".join(memory), f"[{HOOKS}]\n" + hooks))


def _entry(table: str, name: str, value: object) -> str:
    """Return a key with its meaning and bound as a comment above it."""
    if table == HOOKS:
        return f"# {_INSTRUCTIONS_MEANING}\n{_assignment(name, value)}\n"
    knob = KNOBS[name]
    return f"# {knob.meaning} ({knob.bound.words})\n{_assignment(name, value)}\n"


def _assignment(name: str, value: object) -> str:
    """Return a key and its value as TOML, the value alone for an empty name."""
    import tomli_w

    line = tomli_w.dumps({"_": value}).rstrip("\n").removeprefix("_ = ")
    return line if name == "" else f"{name} = {line}"


def init(
    path: str, *, force: bool = False, upgrade: bool = False, from_milk: str | None = None
) -> InitResult:
    """Write the configuration: a new file, a fresh one (`force`), or what an old one lacks (`upgrade`).

    An old file is kept beside it as `.bak`; where nothing changes nothing is written. `from_milk` is milk's
    JSON configuration, whose values stand where an upgraded file sets none (section 15). Raises Refused for
    an existing file without `force` or `upgrade`, BadConfig for one that is no configuration, CannotWrite.
    """
    if force and upgrade:
        raise BadUsage("--force and --upgrade exclude each other")
    if not (force or upgrade) and os.path.exists(path):
        raise _exists(path)
    taken, left_out = ({}, []) if from_milk is None else read_milk(from_milk)
    result = InitResult(path, taken, left_out)

    def compose(old: bytes | None) -> str:
        if old is None or force:
            return render(taken)
        if not upgrade:
            raise _exists(path)
        text = _upgraded(settings_of(path, text_of(path, old)), taken, result)
        settings_of(path, text)
        return text

    _rewrite(path, compose, result)
    return result


def set_session(path: str, session: str) -> InitResult:
    """Set `session` in the configuration and leave the rest as it is; a missing file is written in full.

    An old file is kept beside it as `.bak`. Raises BadConfig and CannotWrite as `init` does.
    """
    result = InitResult(path, (), ())

    def compose(old: bytes | None) -> str:
        if old is None:
            return render({SESSION: session})
        settings = settings_of(path, text_of(path, old))
        if settings.session == session:
            return settings.text
        return _with_session(settings, session)

    _rewrite(path, compose, result)
    return result


def _exists(path: str) -> Refused:
    return Refused(
        f"{path} exists",
        f"milkmem config init --upgrade, or --force for a fresh one; {files.BACKUP_SUFFIX} keeps the old",
    )


def _rewrite(path: str, compose: Callable[[bytes | None], str], result: InitResult) -> None:
    """Replace the file by what `compose` makes of its bytes, under a lock on the directory it lies in."""
    lock = files.lock_directory_of(path)
    try:
        old = read_file(path)
        data = compose(old).encode()
        if data == old:
            return
        if old is not None:
            result.backup = files.back_up(path, old, _MARK)
        files.replace(path, data, _MARK)
        result.written = True
    finally:
        os.close(lock)


# Changing a text in place.


def _upgraded(settings: Settings, fill: Mapping[str, Value], result: InitResult) -> str:
    """Return the text without retired keys and with the missing ones, `fill` before the defaults."""
    old: dict[str, Value] = settings.document.get(MEMORY, {})
    kept = {name: value for name, value in old.items() if name not in RETIRED}
    missing = {name: fill.get(name, knob.default) for name, knob in KNOBS.items() if name not in kept}
    told = {INSTRUCTIONS: settings.instructions}
    untold = {} if INSTRUCTIONS in settings.document.get(HOOKS, {}) else told
    result.added = (*missing, *(f"{HOOKS}.{name}" for name in untold))
    result.dropped = tuple(name for name in old if name in RETIRED)

    retired = {(MEMORY, name) for name in RETIRED}
    statements = [each for each in statements_of(settings.text) if retired.isdisjoint(each.paths)]
    newline = _newline(settings.text)
    _add(statements, MEMORY, [_entry(MEMORY, name, value) for name, value in missing.items()], newline)
    _add(statements, HOOKS, [_entry(HOOKS, name, value) for name, value in untold.items()], newline)
    text = _joined(statements)
    if _says(text, {**settings.document, MEMORY: kept | missing, HOOKS: told}):
        return text
    # The file writes a table in another form than under a header: nothing can be added to it.
    result.in_place = False
    top = {name: value for name, value in settings.document.items() if name in _EXAMPLES}
    return render({**top, **kept, **missing, HOOKS_INSTRUCTIONS: settings.instructions})


def _with_session(settings: Settings, session: str) -> str:
    newline = _newline(settings.text)
    line = _assignment(SESSION, session) + newline
    statements = statements_of(settings.text)
    if settings.session is None:
        _insert(statements, _end_of_table(statements, 0), line, newline)
    for statement in statements:
        if statement.paths == [(SESSION,)]:
            statement.text = line
    return _joined(statements)


def _add(statements: list[Statement], table: str, entries: list[str], newline: str) -> None:
    """Put entries at the end of a table, blank lines between; a table that is missing goes to the end."""
    if entries == []:
        return
    text = "\n".join(entries)
    headers = [at for at, each in enumerate(statements) if each.header and each.paths == [(table,)]]
    if headers == []:
        end = len(statements)
        text = f"[{table}]\n{text}"
    else:
        end = _end_of_table(statements, headers[0] + 1)
    if end > 0 and end - 1 not in headers:
        text = f"\n{text}"
    _insert(statements, end, text.replace("\n", newline), newline)


def _end_of_table(statements: list[Statement], begin: int) -> int:
    """Return where the table that begins at `begin` ends: before the comment above the next header."""
    end = next((at for at in range(begin, len(statements)) if statements[at].header), len(statements))
    if end < len(statements):
        while end > begin and statements[end - 1].comment:
            end -= 1
    while end > begin and statements[end - 1].blank:
        end -= 1
    return end


def _insert(statements: list[Statement], at: int, text: str, newline: str) -> None:
    if at > 0 and not statements[at - 1].text.endswith("\n"):
        statements[at - 1].text += newline
    statements.insert(at, Statement(0, text, False, []))


def _joined(statements: list[Statement]) -> str:
    return "".join(each.text for each in statements)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _says(text: str, document: dict[str, Any]) -> bool:
    import tomllib

    try:
        return tomllib.loads(text) == document
    except tomllib.TOMLDecodeError:
        return False


# milk's configuration.


def read_milk(path: str) -> tuple[dict[str, Value], list[str]]:
    """Return the knobs that milk's JSON configuration sets, and the names of what is left out.

    Knobs are looked for in `memory` and, by their prefix, at the top level. Left out are retired and unknown
    ones. Raises BadConfig, naming file and key, for a value out of bounds. (section 15)
    """
    import json

    data = read_file(path)
    if data is None:
        raise BadConfig(f"{path}: no such file")
    try:
        document = json.loads(text_of(path, data))
    except RecursionError as error:
        raise too_deep(path) from error
    except json.JSONDecodeError as error:
        raise BadConfig(f"{path}: is not JSON: {error}") from error
    except ValueError as error:
        raise BadConfig(f"{path}: holds a number of too many digits") from error
    if type(document) is not dict:
        raise BadConfig(f"{path}: must be a JSON object")
    memory = document.get(MEMORY)
    if memory is not None and type(memory) is not dict:
        raise BadConfig(f"{path}: {MEMORY} must be an object")
    found: dict[Path, Any] = {} if memory is None else {(MEMORY, name): memory[name] for name in memory}
    found |= {(name,): value for name, value in document.items() if name.startswith(_MILK_PREFIX)}
    values: dict[str, Value] = {}
    left_out = []
    for at, value in found.items():
        name = at[-1]
        if name not in KNOBS:
            left_out.append(dotted(at))
        elif value is not None:
            try:
                values[name] = KNOBS[name].read(value)
            except ValueError as words:
                raise BadConfig(f"{path}: {dotted(at)} must be {words}") from None
    if not apart(Knobs(**values)):
        raise BadConfig(f"{path}: {APART}")
    return values, left_out
