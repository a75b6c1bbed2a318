"""Where in a TOML text each key stands: the statements of a text that is known to be TOML.

Only what names a line or changes a file in place needs this; a hook that reads its configuration does not.
"""

from __future__ import annotations

import re
import tomllib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Path = tuple[str, ...]

# What matters where a TOML statement ends: strings, comments, brackets, line breaks.
_TOKEN = r"""
    \"{3} (?: \\. | [^\\] )*? \"{3,5} | '{3} .*? '{3,5}
    | " (?: \\. | [^"\\\n] )* " | ' [^'\n]* '
    | \# [^\n]* | [\[\]{}] | \n
"""
_DEPTH = {"[": 1, "{": 1, "]": -1, "}": -1}


class Statement:
    """One statement of a TOML text, blank and comment lines too, with the paths of the keys that it sets."""

    __slots__ = ("header", "line", "paths", "text")

    def __init__(self, line: int, text: str, header: bool, paths: list[Path]) -> None:
        self.line = line
        self.text = text
        self.header = header
        self.paths = paths

    @property
    def blank(self) -> bool:
        """Whether there is nothing in it."""
        return self.text.strip() == ""

    @property
    def comment(self) -> bool:
        """Whether it says nothing to a parser."""
        return self.text.lstrip().startswith("#")


def statements_of(text: str) -> list[Statement]:
    """Split a text that is known to be TOML; the pieces joined are the text."""
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
        statements.append(Statement(line, piece, header, paths))
        line += piece.count("\n")
    return statements


def _pieces(text: str) -> Iterator[str]:
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


def lines_of(text: str) -> dict[Path, int]:
    """Return the line on which each key of a TOML text is first set."""
    lines: dict[Path, int] = {}
    for statement in statements_of(text):
        for path in statement.paths:
            lines.setdefault(path, statement.line)
    return lines
