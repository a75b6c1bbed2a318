"""The configuration: the TOML file found and read; `KNOBS` declares what it may say.

`load` is on the path of every hook, so it imports no TOML parser where none is needed and looks for no line
numbers: an error pays for a scan of the text. What writes and explains the file is in `config_file`.
"""

from __future__ import annotations

import os

from milkmem import files, plain_toml
from milkmem.errors import BadConfig, BadData
from milkmem.knobs import KNOBS, RETIRED, Knobs
from milkmem.places import CONFIG_VARIABLE, user_directory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
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
APART = f"{MEMORY}.prune_threshold must be below {MEMORY}.promote_threshold"
_SHOW_KEYS = "milkmem config init --stdout"


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
    data = read_file(path)
    if data is None:
        if must_exist:
            raise BadConfig(f"{path}: no such file", f"milkmem config init --config {_quoted(path)}")
        return Settings(path, None, {}, Knobs())
    return settings_of(path, text_of(path, data))


def read_file(path: str) -> bytes | None:
    """Return the bytes of a configuration, None where there is none; raises BadConfig."""
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


def text_of(path: str, data: bytes) -> str:
    """Return the text of a configuration's bytes; raises BadConfig, naming the line that is not UTF-8."""
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
        raise too_deep(path) from error
    except tomllib.TOMLDecodeError as error:
        raise BadConfig(f"{path}: is not TOML: {error}") from error
    except ValueError as error:
        raise BadConfig(f"{path}: holds a number of too many digits") from error
    if _is_deeper(document, LIMIT_NESTING):
        raise too_deep(path)
    return document


def too_deep(path: str) -> BadConfig:
    """Return the error for nesting that no configuration needs."""
    return BadConfig(f"{path}: is nested deeper than {LIMIT_NESTING}")


def _is_deeper(value: object, limit: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return limit < 0 or any(_is_deeper(each, limit - 1) for each in inner)


def settings_of(path: str, text: str) -> Settings:
    """Return what a configuration's text says; raises BadConfig, naming line and key (K1)."""
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
        raise BadConfig(f"{path}:{_lines(text)[MEMORY, name]}: {APART}", _SHOW_KEYS)
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
    return BadConfig(f"{path}:{_lines(text)[at]}: {dotted(at)} must be {words}", _SHOW_KEYS)


def _unknown(path: str, text: str, at: Path) -> BadConfig:
    import difflib

    valid = {name: f"{MEMORY}.{name}" for name in KNOBS}
    valid |= {INSTRUCTIONS: HOOKS_INSTRUCTIONS, **{name: name for name in _TOP}}
    (nearest,) = difflib.get_close_matches(at[-1][:SHOWN_LETTERS].lower(), valid, n=1, cutoff=0.0)
    return BadConfig(
        f"{path}:{_lines(text)[at]}: there is no key {dotted(at)}; did you mean {valid[nearest]}?",
        _SHOW_KEYS,
    )


def dotted(at: Iterable[str]) -> str:
    """Return the path of a key as it is printed, no part of it longer than a few words."""
    parts = (part[:SHOWN_LETTERS] for part in at)
    return ".".join(part if part.replace("-", "_").isidentifier() else repr(part) for part in parts)


def _quoted(path: str) -> str:
    import shlex

    return shlex.quote(path)


def _lines(text: str) -> dict[Path, int]:
    from milkmem.config_text import lines_of

    return lines_of(text)
