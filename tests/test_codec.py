"""milk's JSON dialect: what comes in goes out as it was, by either of the two ways through the codec."""

from __future__ import annotations

import json
import re
import struct
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milkmem import codec
from milkmem.percept import Malformed

MILK = Path(__file__).parent / "data" / "milk"
FILES = sorted(MILK.glob("*/*.json"))
FLOATS = json.loads((MILK / "json_floats.json").read_text(encoding="utf-8"))
OUT_OF_REACH = 10**12


@pytest.fixture(params=["standard library", "orjson"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Send every file and document one of the two ways, whatever its size."""
    limit = 0 if request.param == "orjson" else OUT_OF_REACH
    monkeypatch.setattr(codec, "LARGE_FILE", limit)
    monkeypatch.setattr(codec, "LARGE_DOCUMENT", limit)
    return str(request.param)


def name(path: Path) -> str:
    return f"{path.parent.name}/{path.name[:8]}"


def document(text: str) -> Any:
    return codec.decode(text.encode())


def rewritten(raw: bytes) -> bytes:
    return codec.encode(codec.decode(raw))


# What milk wrote


@pytest.mark.parametrize("path", FILES, ids=name)
def test_what_milk_wrote_comes_out_byte_for_byte(path: Path, way: str) -> None:
    """F4: a file in milk's own form comes out as it went in."""
    raw = path.read_bytes()
    assert rewritten(raw) == raw


@pytest.mark.parametrize("path", FILES, ids=name)
def test_one_change_shows_in_one_line(path: Path, way: str) -> None:
    """F4: a change to one percept leaves every other line as it was, byte for byte."""
    raw = path.read_bytes()
    percepts = codec.decode(raw).get("percepts") or []
    for at in range(len(percepts)):
        changed = codec.decode(raw)
        (changed["percepts"] or [])[at]["w"] = 0.123456789
        before, after = raw.split(b"\n"), codec.encode(changed).split(b"\n")
        assert [line for line, old in zip(after, before, strict=True) if line != old] == [
            b'      "w": 0.123456789,'
        ]


@pytest.mark.parametrize("path", FILES, ids=name)
def test_orjson_is_trusted_with_what_milk_wrote(path: Path) -> None:
    """F4: the quick way is taken for milk's own files, but for the one whose escapes it would lose."""
    raw = path.read_bytes()
    telling = rb"\ufffd" in raw
    assert (codec._decode_large(raw) is None) is telling
    assert (codec._encode_large(codec.decode(raw)) is None) is telling


@pytest.mark.parametrize("case", FLOATS, ids=lambda case: case["input"])
def test_floats_as_milk_writes_them(case: dict[str, str], way: str) -> None:
    """18: shortest digits, no `.0`, an exponent only below 1e-6 or from 1e21 on."""
    (value,) = struct.unpack(">d", bytes.fromhex(case["bits"]))
    written = codec.encode({"x": value, "list": [value], "last": value})  # type: ignore[typeddict-unknown-key]
    go = case["go"]
    assert written.decode() == f'{{\n  "x": {go},\n  "list": [\n    {go}\n  ],\n  "last": {go}\n}}'


# The layout and the spelling of texts


def test_the_layout(way: str) -> None:
    """18: two-space indent, empty lists and objects inline, no newline at the end, null stays null."""
    whole = {
        "percepts": [],
        "engrams": None,
        "edges": [{"from": "a", "roles": {}}, [[], [1, [True, False, None]]]],
        "x": {"y": {"z": ""}},
    }
    assert codec.encode(whole).decode() == LAYOUT  # type: ignore[arg-type]
    assert document(LAYOUT) == whole
    assert codec.encode({}) == b"{}"


LAYOUT = """\
{
  "percepts": [],
  "engrams": null,
  "edges": [
    {
      "from": "a",
      "roles": {}
    },
    [
      [],
      [
        1,
        [
          true,
          false,
          null
        ]
      ]
    ]
  ],
  "x": {
    "y": {
      "z": ""
    }
  }
}"""


TEXTS = {
    '"\\': rb"\"\\",
    "\b\f\n\r\t": rb"\b\f\n\r\t",
    "\0\x01\x0b\x1b\x1f": rb"\u0000\u0001\u000b\u001b\u001f",
    "<&>": rb"\u003c\u0026\u003e",
    "\u2028\u2029": rb"\u2028\u2029",
    "\u2027\u202a\u00a8\u00a9": "\u2027\u202a\u00a8\u00a9".encode(),
    "/'\x7f\x80\x9f": "/'\x7f\x80\x9f".encode(),
    "潮🌊\uffff\ufffe\U0010ffff\ufffd": "潮🌊\uffff\ufffe\U0010ffff\ufffd".encode(),
    "\ud800a\udc00": rb"\ud800a\udc00",
    "\udf0a\ud83c": rb"\udf0a\ud83c",
    "1.0,\n": rb"1.0,\n",
}


@pytest.mark.parametrize(("text", "spelled"), TEXTS.items())
def test_texts_as_milk_writes_them(text: str, spelled: bytes, way: str) -> None:
    """18: what is escaped and how, in values and in keys."""
    expected = b'{\n  "%b": "%b"\n}' % (spelled, spelled)
    assert codec.encode({text: text}) == expected  # type: ignore[misc]
    assert codec.decode(expected) == {text: text}
    assert codec.encode_text(text) == b'"%b"' % spelled


def test_escapes_are_found_in_every_chunk(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """18: escaping in chunks splits no character and leaves none out."""
    monkeypatch.setattr(codec, "_CHUNK", 1)
    texts = ["a<b\u2028", "\u2029", "plain", "&" * 9, "潮\u2028潮"]
    written = codec.encode({"x": texts})  # type: ignore[typeddict-unknown-key]
    inside = ",\n    ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    for character in "<&\u2028\u2029":
        inside = inside.replace(character, f"\\u{ord(character):04x}")
    assert written.decode() == f'{{\n  "x": [\n    {inside}\n  ]\n}}'


# What tells by its spelling


@pytest.mark.parametrize(
    "spelled",
    [
        r"\ufffd",
        "\ufffd",
        "\ufffd\\ufffd\ufffd\\ufffd\\ufffd",
        r"\\ufffd",
        r"\\\ufffd",
        r"\\\\ufffd\\\\\ufffd",
        r"\"\ufffd\u003c",
        r"\udfff\ufffd\udfff\udfff\ufffd\udffe",
        r"\ud800\ufffd\udc00",
    ],
)
def test_an_escaped_replacement_character_stays_escaped(spelled: str, way: str) -> None:
    r"""F4: milk's `\ufffd` for a bad byte and a real U+FFFD come out as they went in, whatever is changed."""
    raw = (
        f'{{\n  "percepts": [\n    {{\n      "content": "{spelled}",\n      "w": 1,\n'
        f'      "x": [\n        "{spelled}"\n      ]\n    }}\n  ]\n}}'
    ).encode()
    found = codec.decode(raw)
    percept: Any = (found["percepts"] or [])[0]
    assert percept["content"] == json.loads(f'"{spelled}"')
    assert codec.encode_text(percept["content"]) == f'"{spelled}"'.encode()
    percept["w"] = 0
    assert codec.encode(found) == raw.replace(b'"w": 1', b'"w": 0')


def test_spelling_is_remembered_for_values_only(way: str) -> None:
    """F4: a key with an escaped replacement character, which milk never writes, keeps its value."""
    assert codec.decode(rb'{"\ufffd": "\ufffd"}') == {"\ufffd": "\ufffd"}
    assert codec.encode(codec.decode(rb'{"\uFFFD": "\uFFFD"}')) == b'{\n  "\xef\xbf\xbd": "\\ufffd"\n}'


def test_an_escaped_time_is_told_from_a_plain_one(way: str) -> None:
    """F7: milk refuses a time with an escape in it, so its spelling is remembered; the text is the time's."""
    raw = (
        rb'{"percepts": [{"updated_at" : "2026-07-01T12:00:00\u005a",'
        rb' "created_at": "\u0032026-07-01T12:00:00Z", "x\"updated_at": "\u005a", "content": "\u005a",'
        rb' "last_used_at": "2026-07-01T12:00:00Z"}]}'
    )
    found: Any = codec.decode(raw)
    percept = found["percepts"][0]
    telling = {key for key, value in percept.items() if type(value) is codec.Spelled}
    assert telling == {"updated_at", "created_at"}
    assert percept["updated_at"] == percept["created_at"] == percept["last_used_at"]
    assert codec.encode(found).count(b'"2026-07-01T12:00:00Z"') == 3


# Numbers


INTEGERS = ["0", "-0", "-1", "9223372036854775807", "18446744073709551615", "18446744073709551616",
            "-9223372036854775809", "9" * 400, "-" + "9" * 4301, "1" + "0" * 100_000]  # fmt: skip


@pytest.mark.parametrize("figures", INTEGERS, ids=lambda figures: f"{figures[:21]}-{len(figures)}")
def test_integers_of_any_size_are_exact(figures: str, way: str) -> None:
    """18: integers of any size come out as they went in, minus zero too."""
    raw = f'{{\n  "x": {figures},\n  "y": [\n    {figures}\n  ]\n}}'.encode()
    assert rewritten(raw) == raw


def test_minus_zero_is_a_number_in_use(way: str) -> None:
    """18: `-0` counts as 0, and is not what 0 comes out as."""
    found: Any = document('{"a": -0, "b": -0.0, "c": 0}')
    assert found == {"a": 0, "b": 0, "c": 0}
    assert found["a"] + 1 == 1
    assert codec.encode(found) == b'{\n  "a": -0,\n  "b": -0,\n  "c": 0\n}'


def test_a_long_integer_is_known_by_its_digits() -> None:
    """18: an integer too long to convert equals one of the same digits only."""
    one, same, other = (codec.LongInteger(figures) for figures in ("1" * 5000, "1" * 5000, "2" * 5000))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != "1" * 5000


@pytest.mark.parametrize(
    ("given", "written"),
    [("1.0", "1"), ("0.70", "0.7"), ("9E-1", "0.9"), ("1e-400", "0"), ("1e22", "1e+22"),
     ("1e16", "1" + "0" * 16), ("1e-6", "0.000001"), ("1E-07", "1e-7"),
     ("123456789012345680000.0", "123456789012345680000")],
)  # fmt: skip
def test_other_spellings_of_numbers_come_out_in_milks(given: str, written: str, way: str) -> None:
    """F4: a number not spelled as milk spells it keeps its value and comes out in milk's form."""
    assert codec.encode(document(f'{{"x": {given}}}')).decode() == f'{{\n  "x": {written}\n}}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_json_has_no_number_for_is_not_written(value: float, way: str) -> None:
    """18: no NaN and no infinity, even by a defect."""
    with pytest.raises(ValueError, match="NaN"):
        codec.encode({"percepts": [{"w": value}]})  # type: ignore[typeddict-item]


@pytest.mark.parametrize("value", [{1}, ("a",), b"a", type("Name", (str,), {})("a")])
def test_what_is_no_json_value_is_not_written(value: object, way: str) -> None:
    """Z7: a value of a foreign type is a defect, not a guess."""
    with pytest.raises(TypeError, match="no JSON value"):
        codec.encode({"x": value})  # type: ignore[typeddict-unknown-key]


# What is refused


ROW = b'{"id": "1", "roles": {"theme": "t"}}'
DEEP = b"[" * 100_000
MALFORMED = {
    "empty": (b"", "byte 0", "empty"),
    "a mark only": (b"\xef\xbb\xbf", "byte 0", "empty"),
    "blank": (b" \r\n", "byte 0", "empty"),
    "a list": (b"[]", "line 1 column 1", "not an object"),
    "null": (b"null", "line 1 column 1", "not an object"),
    "a text": (b'"percepts"', "line 1 column 1", "not an object"),
    "a number": (b"1", "line 1 column 1", "not an object"),
    "NUL bytes": (b"\0" * 64, "byte 0", "NUL"),
    "UTF-16, marked": ('{"a": 1}'.encode("utf-16"), "byte 0", "not UTF-8"),
    "UTF-16, little end first": ('{"a": 1}'.encode("utf-16-le"), "byte 0", "not UTF-8"),
    "UTF-16, big end first": ('{"a": 1}'.encode("utf-16-be"), "byte 0", "not UTF-8"),
    "latin-1": (b'{"a": "caf\xe9"}', "byte 10", "not UTF-8"),
    "latin-1 behind a mark": (b'\xef\xbb\xbf{"a": "caf\xe9"}', "byte 13", "not UTF-8"),
    "overlong": (b'{"a": "\xc0\xaf"}', "byte 7", "not UTF-8"),
    "surrogate bytes": (b'{"a": "\xed\xa0\x80"}', "byte 7", "not UTF-8"),
    "two marks": (b"\xef\xbb\xbf\xef\xbb\xbf{}", "line 1 column 1", "not JSON"),
    "cut in a text": (b'{\n  "a": "x', "line 2 column 8", "too early"),
    "cut after a value": (b'{"a": 1', "line 1 column 8", "too early"),
    "cut after a line": (b'{"a": [1,\n', "line 2 column 1", "too early"),
    "trailing text": (b"{}\n{}", "line 2 column 1", "not JSON"),
    "trailing NUL": (b"{}\0", "line 1 column 3", "not JSON"),
    "trailing comma": (b'{"a": [1,]}', "line 1 column 10", "not JSON"),
    "a comment": (b"{} // no", "line 1 column 4", "not JSON"),
    "raw newline": (b'{"a": "x\ny"}', "line 1 column 9", "control character"),
    "bad escape": (rb'{"a": "x\q"}', "line 1 column 9", "escape"),
    "NaN": (b'{"a": NaN}', "line 1 column 7", "finite"),
    "infinity": (b'{"a": [1, Infinity]}', "line 1 column 11", "finite"),
    "minus infinity": (b'{"a": -Infinity}', "line 1 column 7", "finite"),
    "beyond a float": (b'{"a": 1e400}', "line 1 column 7", "finite"),
    "beyond a float, then no number": (b'{"a": 1e999e9}', "line 1 column 7", "finite"),
    "below a float": (b'{"a": -1.5E+999}', "line 1 column 7", "finite"),
    "beyond a float, behind a long integer": (
        b'{"b": -%b,\n"a": 1e400}' % (b"9" * 500),
        "line 2 column 6",
        "finite",
    ),
    "a key twice": (b'{"a": 1,\n "b": {"a": 1}, "a": 2}', "line 2 column 17", "twice"),
    "a key twice, spelled otherwise": (b'{"a": "a", "\\u0061" : 2}', "line 1 column 12", "twice"),
    "a key twice, telling": (b'{"\xef\xbf\xbd": 1, "\\ufffd": 2}', "line 1 column 10", "twice"),
    "a key twice, deep inside": (b'{"a": [[{"b": [], "b": []}]]}', "line 1 column 19", "twice"),
    "a section twice": (b'{"percepts": [%b], "percepts": [%b]}' % (ROW, ROW), "line 1 column 54", "twice"),
    "deep lists": (b'{"a": ' + DEEP, "line 1 column 70", "deeper than 64"),
    "deep closed lists": (b'{"a": ' + DEEP + b"]" * 100_000 + b"}", "line 1 column 70", "deeper than 64"),
    "deep objects": (b'{"a":\n' * 100_000, "line 65 column 1", "deeper than 64"),
    "65 levels": (b'{"a": ' + b"[" * 64 + b"]" * 64 + b"}", "line 1 column 70", "deeper than 64"),
    "65 levels, indented": (
        json.dumps({"a": json.loads("[" * 64 + "]" * 64)}, indent=2).encode(),
        "line 65 column 129",
        "deeper than 64",
    ),
    "65 levels, a text in": (b'{"a": ' * 64 + b'["x"]' + b"}" * 64, "line 1 column 385", "deeper than 64"),
    "300 levels": (b'{"a": ' + b"[" * 299 + b"]" * 299 + b"}", "line 1 column 70", "deeper than 64"),
}  # fmt: skip


@pytest.mark.parametrize(("raw", "where", "what"), MALFORMED.values(), ids=MALFORMED.keys())
def test_what_is_refused_and_where(raw: bytes, where: str, what: str, way: str) -> None:
    """F7: a file that is not valid JSON of this form is refused with the place and what is wrong."""
    with pytest.raises(Malformed) as caught:
        codec.decode(raw)
    assert caught.value.where == where
    assert what in caught.value.what
    assert str(caught.value) == f"{where}: {caught.value.what}"


FACT_OF_FEW_BYTES = (
    b'{"id":"%d","content":"a","producer":"user","w":0.5,"roles":{},"updated_at":"2026-12-02T12:00:00Z"}'
)


@pytest.mark.parametrize(
    "small", [b"[]", b"{}", b'"ab"', b"[1]", b'{"a":1}', b"[[[[]]]]", b'{"from":"a","to":"b"}', b"]", b"[]]"]
)
def test_what_would_fill_the_memory_is_refused(small: bytes, way: str) -> None:
    """F7: a file that would take over ten times its size in memory is refused before it does."""
    raw = b'{"engrams": [' + b",".join([small] * 80_000) + b"]}"
    tracemalloc.start()
    with pytest.raises(Malformed, match="more lists, objects and texts"):
        codec.decode(raw)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 4 * len(raw)


def test_a_text_that_is_no_json_is_refused_for_its_memory_too(way: str) -> None:
    """F7: the search for a better reason to refuse a large file takes any bytes."""
    for begin in (b'{"\\q": ', b'"a": ', b"}}]]", b"\xff", b"[1e999"):
        with pytest.raises(Malformed):
            codec.decode(begin + b"[]," * 80_000)


@pytest.mark.parametrize("small", [b"0.123456", b"123456789", b"null", b'"a text of some length"'])
def test_what_takes_little_memory_is_not_refused(small: bytes) -> None:
    """F7: long lists of other values, and facts of few bytes without a layout, are no reason to refuse."""
    whole = b'{"engrams": [' + b",".join([small] * 30_000) + b"]}"
    assert len(codec.decode(whole)["engrams"] or []) == 30_000
    facts = b",".join(FACT_OF_FEW_BYTES % number for number in range(2_000))
    assert len(codec.decode(b'{"percepts":[' + facts + b"]}")["percepts"] or []) == 2_000


@pytest.mark.parametrize("kind", ["[", "{"])
def test_nesting_of_64_is_taken(kind: str, way: str) -> None:
    """F7: nesting deeper than 64 is refused, 64 is not, and brackets in texts do not nest."""
    inside: Any = {"a": "[" * 100} if kind == "{" else ["{" * 100]
    for _ in range(62):
        inside = {"a": inside} if kind == "{" else [inside]
    whole = {"a": inside, "b": "]" * 70}
    assert codec.decode(json.dumps(whole).encode()) == whole
    assert codec.decode(json.dumps(whole, indent=2).encode()) == whole


def test_a_sound_text_has_no_faults() -> None:
    """F7: the search for a fault finds none where there is none."""
    text = '{"a": [1, -2.5e3, {"b": "c: \\"NaN\\" [", "d": {}}], "b": 1e308, "e": %s}' % ("9" * 400)
    assert list(codec._faults(text)) == []


def test_no_content_in_a_refusal(way: str) -> None:
    """Z6: where and what name places, never what a file holds."""
    for text in (
        '{"secret": "secret',
        '{"secret": 1, "secret": 2}',
        '{"secret": "secret\\q"}',
        '{"secret": secret}',
    ):
        with pytest.raises(Malformed) as caught:
            document(text)
        assert "secret" not in str(caught.value)


# What is taken


def test_a_byte_order_mark_is_dropped(way: str) -> None:
    """F7: a leading UTF-8 byte order mark is accepted."""
    raw = b'{\n  "percepts": null\n}'
    assert rewritten(b"\xef\xbb\xbf" + raw) == raw


def test_other_layouts_come_out_in_milks(way: str) -> None:
    """F4: value for value and in the same key order, in milk's form."""
    text = '\r\n{"z":1,\r\n"a":{"c":[],"b":{}},"percepts":null,"\\/":"\\u00e9\\/"}\n\n'
    assert list(document(text)) == ["z", "a", "percepts", "/"]
    assert codec.encode(document(text)).decode() == (
        '{\n  "z": 1,\n  "a": {\n    "c": [],\n    "b": {}\n  },\n  "percepts": null,\n  "/": "é/"\n}'
    )


UNTRUSTED = {
    "a key twice": b'{\n  "a": 1,\n  "a": 1\n}',
    "another layout": b'{"a": 1}',
    "more at the end": b'{\n  "a": 1\n}\n',
    "an integer of 65 bits": b'{\n  "a": 18446744073709551616\n}',
    "minus zero": b'{\n  "a": -0\n}',
    "a number spelled otherwise": b'{\n  "a": 0.70\n}',
    "a lone surrogate": b'{\n  "a": "\\ud800"\n}',
    "an escaped replacement character": b'{\n  "a": "\\ufffd"\n}',
    "a text spelled otherwise": b'{\n  "a": "\\u0041"\n}',
    "a raw angle bracket": b'{\n  "a": "<"\n}',
    "a list": b"[]",
    "nesting": b'{"a": ' + b"[" * 400 + b"]" * 400 + b"}",
    "indentation": b'{\n  "a": "%b"\n}' % (b"\n" + b" " * 128),
}


@pytest.mark.parametrize("raw", UNTRUSTED.values(), ids=UNTRUSTED.keys())
def test_orjson_is_not_trusted_with(raw: bytes) -> None:
    """F4: what orjson would lose or change goes the standard library's way."""
    assert codec._decode_large(raw) is None


# Any JSON at all


SPECIAL = st.sampled_from('<>&"\\\u2028\u2029\ufffd\x7f\0\n')
TEXT = st.text(st.characters(codec="utf-8") | SPECIAL, max_size=12)
NUMBER = st.integers() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")  # of which JSON makes one character
SURROGATES = st.text(st.characters(categories=["Cs", "Lu"]), max_size=6).filter(
    lambda text: not PAIR.search(text)
)


def objects(text: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    value = st.recursive(
        st.none() | st.booleans() | NUMBER | text,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
        max_leaves=20,
    )
    return st.dictionaries(text | st.sampled_from(["percepts", "edges"]), value, max_size=5)


def types(value: Any) -> Any:
    """Return the value with its types, so that 1, 1.0 and True differ."""
    if type(value) is dict:
        return [(key, types(item)) for key, item in value.items()]
    if type(value) is list:
        return [types(item) for item in value]
    return type(value), repr(value)


def in_floats(value: Any) -> Any:
    """Return the value with every number a float, since milk writes whole ones alike."""
    if type(value) is dict:
        return {key: in_floats(item) for key, item in value.items()}
    if type(value) is list:
        return [in_floats(item) for item in value]
    return float(value) if type(value) is int else value


def both_ways(call: Any, argument: Any) -> Any:
    results = []
    for limit in (OUT_OF_REACH, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(codec, "LARGE_FILE", limit)
            patch.setattr(codec, "LARGE_DOCUMENT", limit)
            results.append(call(argument))
    return results


@settings(derandomize=True, deadline=None, max_examples=150)
@given(objects(TEXT))
def test_both_ways_write_the_same(whole: dict[str, Any]) -> None:
    """F4: what is written does not depend on the size of the document."""
    standard, large = both_ways(codec.encode, whole)
    assert standard == large
    assert types(json.loads(standard, parse_int=float)) == types(in_floats(whole))


@settings(derandomize=True, deadline=None, max_examples=150)
@given(objects(TEXT), st.sampled_from([None, 2]), st.booleans())
def test_both_ways_read_the_same(whole: dict[str, Any], indent: int | None, plain: bool) -> None:
    """F4: what is read does not depend on the size of the file, nor on its layout."""
    raw = json.dumps(whole, indent=indent, ensure_ascii=plain).encode()
    standard, large = both_ways(codec.decode, raw)
    assert types(standard) == types(large)
    assert standard == whole
    assert list(standard) == list(whole)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(objects(TEXT | SURROGATES))
def test_milks_form_is_a_fixed_point(whole: dict[str, Any]) -> None:
    """F4: a file in milk's form comes out byte for byte, whatever it holds and whichever way it goes."""
    raw = codec.encode(whole)  # type: ignore[arg-type]
    assert both_ways(rewritten, raw) == [raw, raw]


SPELLINGS = [r"\ufffd", "\ufffd", r"\\", r"\"", r"\udfff", r"\udffe", r"\ud800", "u", "f", r"\u003c"]


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(SPELLINGS)))
def test_any_mixture_of_spellings_stays(parts: list[str]) -> None:
    """F4: escaped and raw replacement characters, backslashes and lone surrogates stay as they are."""
    spelled = "".join(parts).replace(r"\ud800\udff", r"\ud800u\udff")  # a pair would be one character
    raw = f'{{\n  "x": "{spelled}"\n}}'.encode()
    assert both_ways(rewritten, raw) == [raw, raw]
