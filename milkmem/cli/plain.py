"""Text for pipes, scripts and both kinds of screen, without Rich: escapes, short ids, times, JSON.

Stored text is untrusted (X5): `visible` stands between every fact and a screen, `field` between it and a
tab-separated line, `json_text` between it and a JSON document. All three pass printable text through
unchanged and look at single characters only where something is not printable.
"""

from __future__ import annotations

import os
from json.encoder import encode_basestring

from milkmem.percept import evidence, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import TextIO

    from milkmem.percept import Percept

ALWAYS = "always"
AUTO = "auto"

SHORT_ID = 8

NARROWEST = 40
WIDEST = 200
USUAL_WIDTH = 80

# What a JSON document always escapes (section 16), beside what JSON itself asks for: C0, DEL and C1, bidi
# controls, line and paragraph separator, surrogates on their own, tag characters.
_JSON_ESCAPED = (
    (0x00, 0x1F),
    (0x7F, 0x9F),
    (0x061C, 0x061C),
    (0x200E, 0x200F),
    (0x2028, 0x202E),
    (0x2066, 0x2069),
    (0xD800, 0xDFFF),
    (0xE0000, 0xE007F),
)

# What a screen or a line shows as an escape (X5): the same, and what is invisible without being part of a
# script or an emoji: soft hyphen, zero width space, joiners of words, deprecated and interlinear controls,
# byte order mark, shorthand and musical controls, unassigned code points that are never drawn. Zero width
# joiner and non-joiner and the variation selectors are left out on purpose.
_ESCAPED = (
    *_JSON_ESCAPED,
    (0x00AD, 0x00AD),
    (0x180E, 0x180E),
    (0x200B, 0x200B),
    (0x2060, 0x2065),
    (0x206A, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF0, 0xFFFB),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0080, 0xE00FF),
    (0xE01F0, 0xE0FFF),
)


class _Escapes(dict[int, "str | int"]):
    """A table for `str.translate` that works out each code point once, when it is first met."""

    __slots__ = ("_escape", "_ranges")

    def __init__(
        self, ranges: tuple[tuple[int, int], ...], escape: Callable[[int], str], known: dict[int, str]
    ) -> None:
        super().__init__(known)
        self._ranges = ranges
        self._escape = escape

    def __missing__(self, code: int) -> str | int:
        hidden = any(first <= code <= last for first, last in self._ranges)
        self[code] = shown = self._escape(code) if hidden else code
        return shown


def _screen_escape(code: int) -> str:
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _json_escape(code: int) -> str:
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    above = code - 0x10000
    return f"\\u{0xD800 + (above >> 10):04x}\\u{0xDC00 + (above & 0x3FF):04x}"


_LINE_ESCAPES = {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_VISIBLE = _Escapes(_ESCAPED, _screen_escape, _LINE_ESCAPES)
_FIELD = _Escapes(_ESCAPED, _screen_escape, {**_LINE_ESCAPES, ord("\\"): "\\\\"})
_JSON = _Escapes(_JSON_ESCAPED, _json_escape, {})


def visible(text: str) -> str:
    r"""Return the text with each control or invisible format character as an escape (X5).

    Tab, line feed and carriage return become `\t`, `\n`, `\r`, the others `\x1b`, `\u202e` or
    `\U000e0041`. The result is one line. A backslash stays single: this is for eyes, `field` is for
    programs.
    """
    return text if text.isprintable() else text.translate(_VISIBLE)


def field(text: str) -> str:
    r"""Return the text as one field of a tab-separated line (X4, X5).

    As `visible`, and a backslash is doubled, so that the field can be turned back into the text. Ids are
    printed in this form everywhere: two ids never look the same, and an ordinary id is unchanged.
    """
    return text if "\\" not in text and text.isprintable() else text.translate(_FIELD)


def line(percept: Percept, scope: str, rank: float) -> str:
    """Return a percept as one tab-separated line without its line end (X4).

    The fields are full id, scope, w, rank, evidence, producer, whole content. w is exact: the shortest
    digits that give the stored number back, clamped to [0,1] (F7); rank has six decimals.
    """
    return "\t".join(
        (
            field(percept["id"]),
            scope,
            repr(float(weight(percept))),
            f"{rank:.6f}",
            str(evidence(percept)),
            field(percept["producer"]),
            field(percept["content"]),
        )
    )


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Return for each id what is printed for it: its shortest unique prefix of `SHORT_ID` or more (X7).

    Prefixes are of the id as `field` writes it and are unique without regard to case, as targets are
    looked up (G2). An id that is the beginning of another is printed whole. A prefix never ends in a
    blank that could not be seen.
    """
    printed = sorted((shown.casefold(), shown, id) for id, shown in ((id, field(id)) for id in set(ids)))
    short = {}
    shared_before = 0
    last = len(printed) - 1
    for at, (folded, shown, id) in enumerate(printed):
        shared_after = _shared(folded, printed[at + 1][0]) if at < last else 0
        length = max(SHORT_ID, shared_before + 1, shared_after + 1)
        if len(folded) != len(shown):
            length = _unfolded_length(shown, length)
        while shown[length - 1 : length].isspace():
            length += 1
        short[id] = shown[:length]
        shared_before = shared_after
    return short


def _shared(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their beginning, 0 where below SHORT_ID."""
    if one[:SHORT_ID] != other[:SHORT_ID]:
        return 0
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


def _unfolded_length(text: str, folded_length: int) -> int:
    """Return how many characters of `text` fold to at least `folded_length`."""
    folded = 0
    for at, character in enumerate(text):
        if folded >= folded_length:
            return max(at, SHORT_ID)
        folded += len(character.casefold())
    return len(text)


# From how many seconds on a unit is used, its own seconds, and its letter. Months and years are mean ones
# and are named late: "45d ago" says more than "1mo ago".
_DAY = 86_400
_AGO_UNITS = (
    (2 * 365.25 * _DAY, 365.25 * _DAY, "y"),
    (60 * _DAY, 30.4375 * _DAY, "mo"),
    (_DAY, _DAY, "d"),
    (3_600, 3_600, "h"),
    (60, 60, "m"),
)


def ago(ns_then: int, ns_now: int) -> str:
    """Return how long ago a moment was, or how soon it will be, in one rounded-down unit (X9).

    Both in nanoseconds since the epoch: "just now" (less than a minute either way), "5m ago", "3d ago",
    "in 2d".
    """
    seconds = abs(ns_now - ns_then) // 1_000_000_000
    for start, size, unit in _AGO_UNITS:
        if seconds >= start:
            amount = f"{int(seconds // size)}{unit}"
            return f"{amount} ago" if ns_then < ns_now else f"in {amount}"
    return "just now"


def duration(seconds: float) -> str:
    """Return running time in words: "42s", "5m", "2h 5m", "6.3 days".

    Rounded down to the second and, from a day on, to the nearest tenth of a day. `seconds` is finite and
    not negative.
    """
    if seconds >= _DAY:
        days = f"{seconds / _DAY:.1f}".removesuffix(".0")
        return f"{days} day" if days == "1" else f"{days} days"
    minutes, second = divmod(int(seconds), 60)
    hour, minute = divmod(minutes, 60)
    if hour > 0:
        return f"{hour}h {minute}m" if minute > 0 else f"{hour}h"
    if minute > 0:
        return f"{minute}m {second}s" if second > 0 else f"{minute}m"
    return f"{second}s"


def json_text(document: object) -> str:
    """Return a JSON document as printed (section 16), without a final line end.

    Two spaces of indent, keys in their order, text raw but for what a terminal must not see, floats in
    their shortest digits. Takes dicts with text keys, lists, tuples, str, int, float, bool and None, and
    raises ValueError for a float that JSON has no form for, TypeError for anything else.
    """
    return _json_value(document, "\n", {})


def _json_value(value: object, newline: str, keys: dict[str, str]) -> str:
    scalar = _JSON_SCALARS.get(type(value))
    if scalar is not None:
        return scalar(value)
    inner = newline + "  "
    if isinstance(value, dict):
        if len(value) == 0:
            return "{}"
        members = []
        for key, member in value.items():
            if key not in keys:
                keys[key] = f"{_quoted(key)}: "
            scalar = _JSON_SCALARS.get(type(member))
            members.append(keys[key] + (scalar(member) if scalar else _json_value(member, inner, keys)))
        return f"{{{inner}{f',{inner}'.join(members)}{newline}}}"
    if isinstance(value, list | tuple):
        if len(value) == 0:
            return "[]"
        items = [_json_value(item, inner, keys) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{newline}]"
    return _remembered(value)


def _remembered(value: object) -> str:
    """Return the JSON of a value that remembers its spelling in the file: by what it stands for."""
    if isinstance(value, str):
        return _quoted(str(value))
    if isinstance(value, int):
        return repr(int(value))
    from milkmem.codec import LongInteger

    if isinstance(value, LongInteger):
        return value.digits
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _quoted(text: str) -> str:
    quoted = encode_basestring(text)
    return quoted if quoted.isprintable() else quoted.translate(_JSON)


def _json_float(value: float) -> str:
    if value - value != 0:
        raise ValueError("a number that is not finite has no JSON form")
    return repr(value)


_JSON_SCALARS: dict[type, Callable[[object], str]] = {
    str: _quoted,  # type: ignore[dict-item]  # each is called with values of its own key's type only
    float: _json_float,  # type: ignore[dict-item]
    int: repr,
    bool: {True: "true", False: "false"}.__getitem__,  # type: ignore[dict-item]
    type(None): lambda _: "null",
}


def terminal_width(environ: Mapping[str, str], stream: TextIO) -> int:
    """Return the columns to lay out for, from `NARROWEST` to `WIDEST` (X4).

    `COLUMNS` counts if it is a whole number above 0, else the terminal that `stream` is, else
    `USUAL_WIDTH`.
    """
    stated = environ.get("COLUMNS", "")
    columns = int(stated) if stated.isdecimal() and len(stated) < len(str(10**9)) else 0
    if columns == 0:
        try:
            columns = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            columns = 0
    if columns == 0:
        columns = USUAL_WIDTH
    return min(max(columns, NARROWEST), WIDEST)


def use_color(choice: str, environ: Mapping[str, str], stream: TextIO) -> bool:
    """Return whether to colour what goes to `stream`, for `--color` of `choice` (X4).

    On `auto`, only at a terminal that is not dumb, and not if `NO_COLOR` is set to anything; what other
    programs read (`FORCE_COLOR`, `GITHUB_ACTIONS`) has no say.
    """
    if choice != AUTO:
        return choice == ALWAYS
    if environ.get("NO_COLOR", "") != "" or environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
