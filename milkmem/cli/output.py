"""How results leave the program: JSON documents, tab-separated lines, or a screen for a person (X3, X4)."""

from __future__ import annotations

import os
import sys

from milkmem import rules
from milkmem.cli.plain import json_text, line, terminal_width, use_color

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO, TypedDict

    from milkmem.cli.declare import Call
    from milkmem.knobs import Knobs
    from milkmem.percept import Percept

    class Layout(TypedDict):
        """How to lay text out: for what stream, how wide in cells, and whether with colour."""

        stream: TextIO
        width: int
        color: bool


SCHEMA_VERSION = 1


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document with its schema version (section 16)."""
    print(json_text({"schema_version": SCHEMA_VERSION, **document}))


def percept_json(percept: Percept, scope: str, now: int, knobs: Knobs) -> dict[str, Any]:
    """Return a percept as output shows it: the stored object, its scope and rank_score (section 16)."""
    return {**percept, "scope": scope, "rank_score": rules.rank_score(percept, now, knobs)}


def print_lines(rows: list[tuple[Percept, str]], now: int, knobs: Knobs) -> None:
    """Print one tab-separated line a percept (X4)."""
    for percept, scope in rows:
        print(line(percept, scope, rules.rank_score(percept, now, knobs)))


class Screen:
    """The terminal a person looks at: the stream, its width, and whether it takes colour (X4)."""

    __slots__ = ("color", "stream", "width")

    def __init__(self, call: Call, stream: TextIO | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        self.width = terminal_width(os.environ, self.stream)
        self.color = use_color(call.given("color"), os.environ, self.stream)

    def layout(self) -> Layout:
        """Return the keyword arguments that every function of `render` takes."""
        return {"stream": self.stream, "width": self.width, "color": self.color}


def count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
