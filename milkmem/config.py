"""The configuration: the TOML file found, read, written and explained; `KNOBS` declares what it may say.

`load` is on the path of every hook, so it imports no TOML parser where there is no file and looks for
no line numbers. Whoever asks for those (an error, `origins`, `init`) pays for a scan of the text.
"""

from __future__ import annotations

import os

from milkmem import files, plain_toml
from milkmem.errors import BadConfig, BadData, BadUsage, Refused
from milkmem.knobs import KNOBS, RETIRED, Knobs
from milkmem.places import CONFIG_VARIABLE, user_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from milkmem.knobs import Value

    Path = tuple[str, ...]

FILE_NAME = "config.toml"

DATA_DIR = "data_dir"
SESSION = "session"
MEMORY = "memory"
HOOKS = "hooks"
INSTRUCTIONS = "instructions"
HOOKS_INSTRUCTIONS = f"{HOOKS}.{INSTRUCTIONS}"

# A configuration is a few kilobytes; what is far larger is something else.
LIMIT_BYTES = 1 << 20
# The TOML parser's time grows with the square of a dotted key's parts, its stack with brackets in brackets.
LIMIT_NESTING = 64
SHOWN_LETTERS = 60

_TOP = (DATA_DIR, SESSION, MEMORY, HOOKS)
_APART = f"{MEMORY}.prune_threshold must be below {MEMORY}.promote_threshold"
_MILK_PREFIX = "percept_"
_SHOW_KEYS = "milkmem config init --stdout"
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

# What matters where a TOML statement ends: strings, comments, brackets, line breaks.
_TOKEN = r"""
    \"{3} (?: \\. | [^\\] )*? \"{3,5} | '{3} .*? '{3,5}
    | " (?: \\. | [^"\\\n] )* " | ' [^'\n]* '
    | \# [^\n]* | [\[\]{}] | \n
"""
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


class Settings:
    """What a configuration says: the knobs in force and the keys beside them.

    `data_dir` is absolute with `~` expanded; it and `session` are None where the file does not set them.
    """

    __slots__ = ("document", "exists", "knobs", "path", "text")

    def __init__(self, path: str, text: str | None, document: dict[str, Any], knobs: Knobs) -> None:
        self.path = path
        self.exists = text is not None
        self.text = "" if text is None else text
        self.document = document
        self.knobs = knobs

    @property
    def data_dir(self) -> str | None:
        """The data directory that the file names."""
        named: str | None = self.document.get(DATA_DIR)
        return None if named is None else os.path.expanduser(named)

    @property
    def session(self) -> str | None:
        """The session that the file names, as it stands there."""
        named: str | None = self.document.get(SESSION)
        return named

    @property
    def instructions(self) -> bool:
        """Whether hooks tell the agent how to remember."""
        told: bool = self.document.get(HOOKS, {}).get(INSTRUCTIONS, True)
        return told

    @property
    def retired(self) -> list[tuple[str, int]]:
        """The retired keys that the file still sets, each with its line (K1)."""
        found = [key for key in self.document.get(MEMORY, {}) if key in RETIRED]
        if not found:
            return []
        lines = _lines(self.text)
        return [(key, lines[MEMORY, key]) for key in found]

    @property
    def warnings(self) -> list[str]:
        """What is allowed but hardly meant."""
        if self.knobs.reconfirm_cap >= self.knobs.promote_threshold:
            return []
        return [
            f"{self.path}: reconfirm_cap {self.knobs.reconfirm_cap} is below promote_threshold"
            f" {self.knobs.promote_threshold}: restatements alone never promote a percept"
        ]


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


# Finding and reading.


def default_path(environ: Mapping[str, str]) -> str:
    """Return where the configuration is unless `--config` names it: environment, then platform (section 3).

    Raises BadConfig for a relative path in the environment, and where no home directory is known.
    """
    variable = environ.get(CONFIG_VARIABLE, "")
    if variable != "":
        if not os.path.isabs(variable):
            raise BadConfig(
                f"{CONFIG_VARIABLE} is a relative path",
                "give an absolute one: hooks run in many working directories",
            )
        return variable
    return os.path.join(user_directory("config", environ), FILE_NAME)


def load(path: str, must_exist: bool) -> Settings:
    """Return what the configuration says, the defaults where there is no file (section 3, K1).

    Raises BadConfig, naming file, line and key, for anything but a valid configuration, and for a missing
    file if `must_exist`.
    """
    data = _read(path)
    if data is None:
        if must_exist:
            raise BadConfig(f"{path}: no such file", f"milkmem config init --config {_quoted(path)}")
        return Settings(path, None, {}, Knobs())
    return _settings(path, _decoded(path, data))


def _read(path: str) -> bytes | None:
    try:
        if os.stat(path).st_size > LIMIT_BYTES:
            raise BadConfig(f"{path}: is larger than {LIMIT_BYTES} bytes, so it is no configuration")
        found = files.read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise BadConfig(f"{path}: cannot be read: {error.strerror}") from error
    except BadData as error:
        raise BadConfig(error.message) from error
    return None if found is None else found[0]


def _decoded(path: str, data: bytes) -> str:
    try:
        return data.decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadConfig(f"{path}:{line}: is not UTF-8") from error


def _parsed(path: str, text: str) -> dict[str, Any]:
    plain = plain_toml.parse(text)
    if plain is not None:
        return plain
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > LIMIT_NESTING and not line.lstrip().startswith("#"):
            raise BadConfig(f"{path}:{number}: has more than {LIMIT_NESTING} dots in one line")
    try:
        document = tomllib.loads(text)
    except RecursionError as error:
        raise _too_deep(path) from error
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path}: is not TOML: {error}") from error
    except ValueError as error:
        raise BadConfig(f"{path}: holds a number of too many digits") from error
    if _is_deeper(document, LIMIT_NESTING):
        raise _too_deep(path)
    return document


def _too_deep(path: str) -> BadConfig:
    return BadConfig(f"{path}: is nested deeper than {LIMIT_NESTING}")


def _is_deeper(value: object, limit: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return limit < 0 or any(_is_deeper(each, limit - 1) for each in inner)


def _settings(path: str, text: str) -> Settings:
    document = _parsed(path, text)
    for key in document:
        if key not in _TOP:
            raise _unknown(path, text, (key,))
    memory = _table(path, text, document, MEMORY, (*KNOBS, *RETIRED))
    hooks = _table(path, text, document, HOOKS, (INSTRUCTIONS,))
    values: dict[str, Value] = {}
    for name, value in memory.items():
        if name in KNOBS:
            try:
                values[name] = KNOBS[name].read(value)
            except ValueError as words:
                raise _must(path, text, (MEMORY, name), str(words)) from None
    for key in (DATA_DIR, SESSION):
        if type(document.get(key, "")) is not str:
            raise _must(path, text, (key,), "a text in quotes")
    if type(hooks.get(INSTRUCTIONS, True)) is not bool:
        raise _must(path, text, (HOOKS, INSTRUCTIONS), "true or false")
    if DATA_DIR in document and not _is_absolute(document[DATA_DIR]):
        raise _must(path, text, (DATA_DIR,), "an absolute path; ~ is the home directory")
    knobs = Knobs(**values)
    if not apart(knobs):
        name = "prune_threshold" if "prune_threshold" in memory else "promote_threshold"
        raise BadConfig(f"{path}:{_lines(text)[MEMORY, name]}: {_APART}", _SHOW_KEYS)
    return Settings(path, text, document, knobs)


def apart(knobs: Knobs) -> bool:
    """Return whether the thresholds leave room between them: what is pruned could not be promoted."""
    return knobs.prune_threshold < knobs.promote_threshold


def _is_absolute(directory: str) -> bool:
    return "\0" not in directory and os.path.isabs(os.path.expanduser(directory))


def _table(
    path: str, text: str, document: dict[str, Any], name: str, known: tuple[str, ...]
) -> dict[str, Any]:
    table = document.get(name, {})
    if type(table) is not dict:
        raise _must(path, text, (name,), f"a table, [{name}]")
    for key in table:
        if key not in known:
            raise _unknown(path, text, (name, key))
    return table


def _must(path: str, text: str, at: Path, words: str) -> BadConfig:
    return BadConfig(f"{path}:{_lines(text)[at]}: {_dotted(at)} must be {words}", _SHOW_KEYS)


def _unknown(path: str, text: str, at: Path) -> BadConfig:
    import difflib

    valid = {name: f"{MEMORY}.{name}" for name in KNOBS}
    valid |= {INSTRUCTIONS: HOOKS_INSTRUCTIONS, **{name: name for name in _TOP}}
    (nearest,) = difflib.get_close_matches(at[-1][:SHOWN_LETTERS].lower(), valid, n=1, cutoff=0.0)
    return BadConfig(
        f"{path}:{_lines(text)[at]}: there is no key {_dotted(at)}; did you mean {valid[nearest]}?",
        _SHOW_KEYS,
    )


def _dotted(at: Iterable[str]) -> str:
    parts = (part[:SHOWN_LETTERS] for part in at)
    return ".".join(part if part.replace("-", "_").isidentifier() else repr(part) for part in parts)


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


# Where in the text a key stands.


class _Statement:
    """One statement of a TOML text, blank and comment lines too, with the paths of the keys that it sets."""

    __slots__ = ("header", "line", "paths", "text")

    def __init__(self, line: int, text: str, header: bool, paths: list[Path]) -> None:
        self.line = line
        self.text = text
        self.header = header
        self.paths = paths

    @property
    def blank(self) -> bool:
        return self.text.strip() == ""

    @property
    def comment(self) -> bool:
        return self.text.lstrip().startswith("#")


def _statements(text: str) -> list[_Statement]:
    """Split a text that is known to be TOML; the pieces joined are the text."""
    import tomllib

    statements = []
    line = 1
    table: Path = ()
    for piece in _pieces(text):
        paths = list(_paths(tomllib.loads(piece), ()))
        header = piece.lstrip().startswith("[")
        if header:
            table = paths[-1]
        else:
            paths = [table + path for path in paths]
        statements.append(_Statement(line, piece, header, paths))
        line += piece.count("\n")
    return statements


def _pieces(text: str) -> Iterator[str]:
    import re

    begin = depth = 0
    for token in re.finditer(_TOKEN, text, re.DOTALL | re.VERBOSE):
        depth += _DEPTH.get(token[0], 0)
        if token[0] == "\n" and depth == 0:
            yield text[begin : token.end()]
            begin = token.end()
    if begin < len(text):
        yield text[begin:]


def _paths(table: dict[str, Any], at: Path) -> Iterator[Path]:
    for key, value in table.items():
        yield (*at, key)
        if type(value) is dict:
            yield from _paths(value, (*at, key))


def _lines(text: str) -> dict[Path, int]:
    lines: dict[Path, int] = {}
    for statement in _statements(text):
        for path in statement.paths:
            lines.setdefault(path, statement.line)
    return lines


# Explaining.


def origins(settings: Settings) -> dict[str, Origin]:
    """Return where each setting comes from, by its name in `show`; scans the file's text."""
    lines = _lines(settings.text)
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
        text = _upgraded(_settings(path, _decoded(path, old)), taken, result)
        _settings(path, text)
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
        settings = _settings(path, _decoded(path, old))
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
        old = _read(path)
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
    statements = [each for each in _statements(settings.text) if retired.isdisjoint(each.paths)]
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
    statements = _statements(settings.text)
    if settings.session is None:
        _insert(statements, _end_of_table(statements, 0), line, newline)
    for statement in statements:
        if statement.paths == [(SESSION,)]:
            statement.text = line
    return _joined(statements)


def _add(statements: list[_Statement], table: str, entries: list[str], newline: str) -> None:
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


def _end_of_table(statements: list[_Statement], begin: int) -> int:
    """Return where the table that begins at `begin` ends: before the comment above the next header."""
    end = next((at for at in range(begin, len(statements)) if statements[at].header), len(statements))
    if end < len(statements):
        while end > begin and statements[end - 1].comment:
            end -= 1
    while end > begin and statements[end - 1].blank:
        end -= 1
    return end


def _insert(statements: list[_Statement], at: int, text: str, newline: str) -> None:
    if at > 0 and not statements[at - 1].text.endswith("\n"):
        statements[at - 1].text += newline
    statements.insert(at, _Statement(0, text, False, []))


def _joined(statements: list[_Statement]) -> str:
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

    data = _read(path)
    if data is None:
        raise BadConfig(f"{path}: no such file")
    try:
        document = json.loads(_decoded(path, data))
    except RecursionError as error:
        raise _too_deep(path) from error
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
            left_out.append(_dotted(at))
        elif value is not None:
            try:
                values[name] = KNOBS[name].read(value)
            except ValueError as words:
                raise BadConfig(f"{path}: {_dotted(at)} must be {words}") from None
    if not apart(Knobs(**values)):
        raise BadConfig(f"{path}: {_APART}")
    return values, left_out
