"""The part of TOML that `config init` writes: tables of plain keys with texts, numbers, true and false.

`tomllib` defines what a configuration means. Its import costs as much as a bare start of Python, at every
hook, so a file of nothing else is read here, with the same outcome; any other is left to it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Scalar = str | int | float | bool

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_WORDS = {"true": True, "false": False}
# No number of a configuration has more figures in front of its point.
_MOST_FIGURES = 15


def parse(text: str) -> dict[str, Any] | None:
    """Return what `tomllib.loads` returns, None for a text that it may refuse or that says more than this."""
    document: dict[str, Any] = {}
    table = document
    for whole_line in text.replace("\r\n", "\n").split("\n"):
        line = whole_line.strip(" \t")
        if not line.isprintable():
            return None
        if line == "" or line[0] == "#":
            continue
        if line[0] == "[":
            name = line[1:-1]
            if line[-1] != "]" or not _is_plain_key(name) or name in document:
                return None
            document[name] = table = {}
            continue
        name, _, words = line.partition("=")
        name = name.rstrip(" \t")
        value = _scalar(words.lstrip(" \t"))
        if value is None or not _is_plain_key(name) or name in table:
            return None
        table[name] = value
    return document


def _is_plain_key(name: str) -> bool:
    return name != "" and _LETTERS.issuperset(name)


def _scalar(words: str) -> Scalar | None:
    quote = words[:1]
    if quote in ('"', "'"):
        inner = words[1:-1]
        plain = len(words) > 1 and words[-1] == quote and quote not in inner and "\\" not in inner
        return inner if plain else None
    words = words.partition("#")[0].rstrip(" \t")
    if words in _WORDS:
        return _WORDS[words]
    whole, point, part = words[words[:1] in ("+", "-") :].partition(".")
    if not _are_figures(whole) or len(whole) > _MOST_FIGURES or (len(whole) > 1 and whole[0] == "0"):
        return None
    if point == "":
        return int(words)
    return float(words) if _are_figures(part) else None


def _are_figures(text: str) -> bool:
    return text.isascii() and text.isdigit()
