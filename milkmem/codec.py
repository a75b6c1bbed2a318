"""milk's JSON dialect (section 18): bytes in, the document as it is; the document in, milk's bytes.

Whatever is not changed comes out as it went in (F4). Where a JSON value has several spellings that milk
tells apart or that Python cannot hold, the value remembers: `Spelled`, `MinusZero`, `LongInteger`.

The standard library's scanner and the encoder below define what is right. Large files go through orjson,
whose import only they repay, and only where its answer provably is the same.
"""

from __future__ import annotations

import math
import re
from json.decoder import JSONDecodeError, JSONDecoder
from json.encoder import encode_basestring as quote

from milkmem.percept import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from milkmem.percept import Document

DEEPEST = 64
# A file of so many bytes, a document of so many percepts, edges and engrams: from there on orjson saves
# more than its import costs.
LARGE_FILE = 2_000_000
LARGE_DOCUMENT = 4_500
# What a file may take in memory, as a multiple of its size.
MOST_MEMORY = 10

_BOM = b"\xef\xbb\xbf"
_CHUNK = 1 << 18
# A file of fewer bytes takes little memory whatever it holds.
_WEIGHED = 1 << 16
# In so much of one that is refused for its memory another reason is looked for.
_SEARCHED = 1 << 18
# The longest integer that Python converts without being told to.
_LONGEST_INTEGER = 4_300
# From here to there orjson of any version writes a float as milk does, but for the `.0` of a whole one.
_PLAIN_FROM, _PLAIN_TO = 1e-4, 1e15
# Powers of ten that milk writes without an exponent.
_PLAIN_POWERS = range(-6, 21)


class Spelled(str):
    r"""A text that remembers how its file spelled it; in use, a text like any other.

    milk writes `\ufffd` for a byte that was no UTF-8, and a replacement character as it is. And it refuses a
    time with an escape in it.
    """

    json: str


class MinusZero(int):
    """The whole number `-0`, which is 0 in use and `-0` in the file."""


class LongInteger:
    """A whole number with more digits than Python converts; known only by them."""

    __slots__ = ("digits",)

    def __init__(self, digits: str) -> None:
        self.digits = digits

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same digits."""
        return isinstance(other, LongInteger) and other.digits == self.digits

    def __hash__(self) -> int:
        """Return the digits' hash."""
        return hash(self.digits)


def decode(raw: bytes, *, sound: bool = False) -> Document:
    """Return the document that the bytes of a memory file hold, a leading byte order mark allowed (F7).

    Raises Malformed for bytes that are no JSON object in UTF-8, for numbers beyond a float, for a key twice
    in an object and for nesting deeper than `DEEPEST`. What the object holds is for `check` to say. `sound`
    says that the same bytes were decoded before, so that none of this needs looking for.
    """
    body = raw.removeprefix(_BOM)
    if len(body) >= _WEIGHED and not sound:
        _refuse_bomb(body)
    document = _decode_large(body) if len(body) >= LARGE_FILE else None
    if document is None:
        text = _text(body, len(raw) - len(body))
        document = _scan_again(text) if sound else _decode(text)
        if "\\u" in text and re.search(_TELLING_ESCAPE, text):
            _remember_spelling(document, text)
    return document


def encode(document: Document) -> bytes:
    """Return the document in milk's form, byte for byte as milk would write it (section 18, F4).

    Any object of JSON values will do. Raises ValueError for a float that is not finite.
    """
    entries = sum(len(entry) for entry in document.values() if type(entry) is list)
    written = _encode_large(document) if entries >= LARGE_DOCUMENT else None
    if written is None:
        pieces: list[str] = []
        _write(document, "\n", _Names(), pieces.append)
        # A lone surrogate is all that UTF-8 lacks, and Python's escape for it is JSON's.
        written = b"".join(_escaped("".join(pieces).encode("utf-8", "backslashreplace")))
    return written


def encode_text(text: str) -> bytes:
    """Return a text as it stands in a file, with its quotes (section 18)."""
    return b"".join(_escaped(_SCALARS[type(text)](text).encode("utf-8", "backslashreplace")))


# Reading


def _refuse_bomb(body: bytes) -> None:
    """Raise Malformed for a file that would take many times its size in memory, before it does (F7).

    What Python needs for objects, lists, texts but keys, and numbers is reckoned from what begins or parts
    them; the bytes and their text come to that.
    """
    objects = 232 * body.count(b"{") - 168 * body.count(b"{}")
    texts = 72 * (body.count(b'"') // 2 - body.count(b'":'))
    needed = objects + 88 * body.count(b"[") + texts + 32 * body.count(b",")
    if needed > (MOST_MEMORY - 2) * len(body):
        bomb = Malformed("byte 0", "more lists, objects and texts than a memory of this size has")
        raise next(_faults(body[:_SEARCHED].decode("utf-8", "replace")), bomb)


class _Refused(Exception):  # as `Malformed`
    """The scanner met what JSON allows and we do not; `_faults` finds where."""


def _text(body: bytes, skipped: int) -> str:
    if body == b"" or body.isspace():
        raise Malformed("byte 0", "the file is empty")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise Malformed(f"byte {error.start + skipped}", "not UTF-8") from None
    if "\0" in text[:2]:
        raise Malformed("byte 0", "NUL bytes: not UTF-8, or not written out")
    return text


def _decode(text: str) -> Document:
    try:
        document = _scan(text)
    except JSONDecodeError as error:
        cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        what = "the file ends too early" if cut else f"not JSON: {error.msg.lower().rstrip(': ')}"
        raise Malformed(f"line {error.lineno} column {error.colno}", what) from None
    except (_Refused, RecursionError):
        raise next(_faults(text)) from None
    if type(document) is not dict:
        raise Malformed("line 1 column 1", "not an object")
    if _is_deep(document):
        raise next(_faults(text))
    return document  # type: ignore[return-value]  # an object; `check` says whether of this form


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Measured: of the ways to find a key twice, this one costs least.
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Refused
    return found


def _float(figures: str) -> float:
    value = float(figures)
    if math.isinf(value):
        raise _Refused
    return value


def _integer(figures: str) -> int | LongInteger:
    if figures == "-0":
        return MinusZero()
    return int(figures) if len(figures) <= _LONGEST_INTEGER else LongInteger(figures)


def _constant(name: str) -> None:
    raise _Refused


_scan = JSONDecoder(
    object_pairs_hook=_object, parse_float=_float, parse_int=_integer, parse_constant=_constant
).decode
# Without what only refuses, half of the time.
_scan_again = JSONDecoder(parse_int=_integer).decode


def _is_deep(document: dict[str, Any]) -> bool:
    level: list[Any] = [document]
    for _ in range(DEEPEST):
        level = [item for item in _inside(level) if type(item) is dict or type(item) is list]
        if not level:
            return False
    return True


def _inside(containers: list[Any]) -> list[Any]:
    """Return what lists and objects hold but for what is nearly all of a document: texts and the like."""
    return [
        item
        for container in containers
        for item in (container.values() if type(container) is dict else container)
        if type(item) not in _LEAVES
    ]


_LEAVES = frozenset((str, int, bool, type(None)))


_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = (
    rf"(?P<key>{_STRING})\s*:|{_STRING}|[][{{}}]|NaN|-?Infinity|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
)


def _faults(text: str) -> Iterator[Malformed]:
    """Find what `_scan` and `_is_deep` refuse; what is no JSON is not looked for."""
    keys: list[set[str]] = []  # of each object we are in; empty for a list
    for token in re.finditer(_TOKEN, text, re.DOTALL):
        start = token.start()
        first = text[start]
        what = ""
        if first in "[{":
            keys.append(set())
            what = f"nesting deeper than {DEEPEST}" if len(keys) > DEEPEST else ""
        elif first in "]}":
            del keys[-1:]
        elif token["key"] is not None and keys:
            try:
                key = _scan(token["key"])
            except JSONDecodeError:
                return
            what = "a key twice in one object" if key in keys[-1] else ""
            keys[-1].add(key)
        elif first != '"':
            whole = token[0].lstrip("-").isdigit()
            what = "" if whole or math.isfinite(float(token[0])) else "not a finite number"
        if what:
            line = text.count("\n", 0, start) + 1
            yield Malformed(f"line {line} column {start - text.rfind(chr(10), 0, start)}", what)


_TELLING_ESCAPE = r"\\u(?:[fF]{3}[dD]|00(?:2[b-eB-E]|3[0-9aA]|5[4aA]))"  # U+FFFD, or what a time is made of
_REPLACEMENT = r"(?<!\\)((?:\\\\)*)\\u[fF]{3}[dD]"
_TIME_BEFORE_ESCAPE = r'((?<!\\)"(?:created_at|updated_at|last_used_at)"\s*:\s*"[^"\\]*)(?=\\)'


def _remember_spelling(document: Any, text: str) -> None:
    """Make the texts that tell by their spelling `Spelled`, by reading `text` again with marks in it."""
    # No text of the document has the marks in it: they begin with one surrogate more than it escapes.
    mark = "\udfff" * (len(re.findall(r"\\udfff", text, re.IGNORECASE)) + 1)
    replacement, time = mark + "\udffe", mark + "\udffd"
    text = re.sub(_REPLACEMENT, rf"\1{replacement}", text)
    text = re.sub(_TIME_BEFORE_ESCAPE, rf"\1{time}", text)

    def compare(found: Any, marked: Any) -> None:
        places = found if type(found) is dict else range(len(found))
        for place, other in zip(places, marked.values() if type(found) is dict else marked, strict=True):
            value = found[place]
            if type(value) is dict or type(value) is list:
                compare(value, other)
            elif type(value) is str and value != other:
                spelled = Spelled(value)
                spelled.json = quote(other).replace(replacement, r"\ufffd").replace(time, "")
                found[place] = spelled

    compare(document, _scan(text))


def _decode_large(body: bytes) -> Document | None:
    """Return what orjson makes of the bytes, None unless it is what `_decode` would.

    That is so when encoding it gives the same bytes back: keys lost or moved, integers turned to floats and
    texts spelled otherwise would all show.
    """
    import orjson

    # In this layout nothing lies deeper than its indentation; where it could, `_is_deep` is to say.
    if b"\n" + b"  " * DEEPEST in body:
        return None
    try:
        document = orjson.loads(body)
        written = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):  # the second where nesting is too deep for it
        return None
    at = 0
    for chunk in _escaped(written):
        if not body.startswith(chunk, at):
            return None
        at += len(chunk)
    if at < len(body) or type(document) is not dict:
        return None
    return document  # type: ignore[return-value]  # as in `_decode`


# Writing


class _Names(dict[str, str]):
    """Keys as they are written, each quoted once."""

    def __missing__(self, key: str) -> str:
        name = self[key] = f"{quote(key)}: "
        return name


def _write(value: Any, newline: str, names: _Names, put: Callable[[str], None]) -> None:
    """Put the pieces of an object or list; `newline` ends a line and indents the next as the value is."""
    inner = f"{newline}  "
    comma = f",{inner}"
    if type(value) is dict:
        before = f"{{{inner}"
        for key, item in value.items():
            kind = type(item)
            if kind is str:
                put(f"{before}{names[key]}{quote(item)}")
            elif (write := _SCALARS.get(kind)) is not None:
                put(f"{before}{names[key]}{write(item)}")
            else:
                put(f"{before}{names[key]}")
                _write(item, inner, names, put)
            before = comma
        put(f"{newline}}}" if value else "{}")
    elif type(value) is list:
        before = f"[{inner}"
        for item in value:
            put(before)
            write = _SCALARS.get(type(item))
            if write is not None:
                put(write(item))
            else:
                _write(item, inner, names, put)
            before = comma
        put(f"{newline}]" if value else "[]")
    else:
        raise TypeError(f"no JSON value: {type(value).__name__}")


def _number(value: float) -> str:
    """Return the shortest digits that round-trip, as Go writes them."""
    figures = repr(value)
    if figures[-2:] == ".0":
        return figures[:-2]
    if "e" in figures:
        return _without_exponent(figures)
    if "n" in figures:
        raise ValueError("JSON has no NaN and no infinity")
    return figures


def _without_exponent(figures: str) -> str:
    mantissa, _, exponent = figures.partition("e")
    power = int(exponent)
    if power not in _PLAIN_POWERS:
        return f"{mantissa}e{power:+d}"
    sign = "-" if mantissa[0] == "-" else ""
    digits = mantissa.lstrip("-").replace(".", "")
    return f"{sign}{digits:0<{power + 1}}" if power > 0 else f"{sign}0.{digits:0>{len(digits) - power - 1}}"


_SCALARS: dict[type, Callable[[Any], str]] = {
    str: quote,
    Spelled: lambda value: value.json,
    float: _number,
    int: int.__repr__,
    MinusZero: lambda value: "-0",
    LongInteger: lambda value: value.digits,
    bool: lambda value: "true" if value else "false",
    type(None): lambda value: "null",
}


def _escaped(written: bytes) -> Iterator[bytes]:
    """Yield the bytes in chunks, with what milk escapes besides: `<`, `>`, `&`, U+2028 and U+2029."""
    if not any(byte in written for byte in (b"<", b">", b"&", b"\xa8", b"\xa9")):
        yield written
        return
    start = 0
    while start < len(written):
        end = written.find(b"\n", start + _CHUNK)
        chunk = written[start : end if end >= 0 else len(written)]
        start += len(chunk)
        chunk = chunk.replace(b"<", b"\\u003c").replace(b">", b"\\u003e").replace(b"&", b"\\u0026")
        if b"\xa8" in chunk or b"\xa9" in chunk:
            chunk = chunk.replace(b"\xe2\x80\xa8", b"\\u2028").replace(b"\xe2\x80\xa9", b"\\u2029")
        yield chunk


def _encode_large(document: Document) -> bytes | None:
    """Return what `_write` would, made by orjson; None where it might differ."""
    import orjson

    floats = _floats(document)
    if floats is None or not _are_plain(floats):
        return None
    try:
        written = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:  # an integer of more than 64 bits, a lone surrogate
        return None
    if any(map(float.is_integer, floats)):
        written = re.sub(_WHOLE, b"", written)
    return b"".join(_escaped(written))


# A line that ends so ends in a number: a text would end in its quote.
_WHOLE = rb"\.0(?=,?\n)"


def _are_plain(floats: list[float]) -> bool:
    """Return whether orjson writes all of the floats as milk does, but for the `.0` of whole ones."""
    if min(floats, default=1.0) >= _PLAIN_FROM and max(floats, default=1.0) < _PLAIN_TO:
        return True
    return all(_PLAIN_FROM <= abs(value) < _PLAIN_TO or value == 0 for value in floats)


_NO_LEAVES = frozenset((float, dict, list))
_BLOCK = 512


def _floats(document: Document) -> list[float] | None:
    """Return every float of the document, None if it holds a value that only `_write` can write."""
    floats: list[float] = []
    for block in _blocks(list(document.values())):
        level: list[Any] = [block]
        while level:
            rest = _inside(level)
            if not {*map(type, rest)} <= _NO_LEAVES:
                return None
            floats += [item for item in rest if type(item) is float]
            level = [item for item in rest if item and type(item) is not float]
    return floats


def _blocks(sections: list[Any]) -> Iterator[list[Any]]:
    """Cut the lists into blocks that fit the processor's cache, which halves the time of a walk."""
    yield [section for section in sections if type(section) is not list]
    for section in sections:
        if type(section) is list:
            for start in range(0, len(section), _BLOCK):
                yield section[start : start + _BLOCK]
