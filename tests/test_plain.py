"""Text for pipes, scripts and screens: escapes, lines, short ids, times, JSON documents, width and colour."""

from __future__ import annotations

import fcntl
import io
import json
import os
import random
import re
import struct
import subprocess
import sys
import termios
import unicodedata
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milkmem.cli.plain import (
    ALWAYS,
    AUTO,
    NARROWEST,
    SHORT_ID,
    USUAL_WIDTH,
    WIDEST,
    ago,
    duration,
    field,
    json_text,
    line,
    short_ids,
    terminal_width,
    use_color,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from milkmem.percept import Percept

repeatable = settings(derandomize=True, deadline=None, max_examples=100)
any_text = st.text(st.characters(exclude_categories=()))
hostile = "ab\\ \t\n\r\x00\x1b\x7f\x9b\u061c\u202e\u2028\u2066\U000e0041\ud800é東"
texts = any_text | st.text(st.sampled_from(hostile))

C0 = [chr(code) for code in range(0x20)]
DEL = "\x7f"
C1 = [chr(code) for code in range(0x80, 0xA0)]
BIDI = list("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
SEPARATORS = ["\u2028", "\u2029"]
TAGS = [chr(code) for code in range(0xE0000, 0xE0080)]
SURROGATES = ["\ud800", "\udbff", "\udc00", "\udfff"]
JSON_HIDDEN = [*C0, DEL, *C1, *BIDI, *SEPARATORS, *TAGS, *SURROGATES]
# Format characters that are drawn, or that belong to a script or an emoji.
KEPT_FORMATS = (
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\u200c\u200d"
)

ASTRAL = 0x10000


def as_escape(character: str) -> str:
    """Return what stands for a hidden character, by the letter of the rule, not by the code tested."""
    named = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
    if character in named:
        return named[character]
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < ASTRAL else f"\\U{code:08x}"


def unescaped(shown: str) -> str:
    """Return what a field stands for."""
    named = {"\\t": "\t", "\\n": "\n", "\\r": "\r", "\\\\": "\\"}
    pattern = r"\\(?:[tnr\\]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})"
    return re.sub(pattern, lambda match: named.get(match[0]) or chr(int(match[0][2:], 16)), shown)


class Stream(io.StringIO):
    """A text stream that says whether it is a terminal."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def resize(terminal: int, columns: int) -> None:
    """Make a terminal so many columns wide."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


@pytest.fixture
def terminal() -> Iterator[io.TextIOWrapper]:
    """Open a real terminal, 123 columns wide."""
    controller, end = os.openpty()
    with open(end, "w", encoding="utf-8") as stream:
        resize(end, 123)
        yield stream
    os.close(controller)


# Escapes.


@pytest.mark.parametrize("character", JSON_HIDDEN)
def test_hidden_characters_are_shown_as_escapes(character: str) -> None:
    """X5: C0, C1, DEL, bidi controls, separators, tags and surrogates are visible escapes."""
    assert visible(f"a{character}b") == f"a{as_escape(character)}b"


@pytest.mark.parametrize("kind", ["Cc", "Cf", "Cs", "Zl", "Zp"])
def test_no_control_or_format_character_is_forgotten(kind: str) -> None:
    """X5: all that Unicode calls control, format, surrogate or separator is shown, what is drawn raw."""
    found = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) == kind]
    wrong = [each for each in found if visible(each) != (each if each in KEPT_FORMATS else as_escape(each))]
    assert wrong == []


def test_unassigned_invisible_code_points_are_shown() -> None:
    """X5: what no terminal draws is shown although Unicode has no character there."""
    assert visible("\u2065\ufff0\U000e0080\U000e0fff") == "\\u2065\\ufff0\\U000e0080\\U000e0fff"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "[bold]x[/bold] [/tmp/foo] list[str] :smile:",
        "東京のサーバー",
        "👨‍👩‍👧‍👦 🇩🇪 ❤️ 👍🏽 1️⃣",
        "می‌خواهم",
        "क्ष e\u0301",
        "葛\U000e0100",
        "back\\slash",
        "no\u00a0break\u3000wide",
    ],
)
def test_what_can_be_seen_is_unchanged(text: str) -> None:
    """X5, case 27: printable text, joiners and variation selectors pass, also beside something hidden."""
    assert visible(text) == text
    assert visible(f"{text}\n") == f"{text}\\n"


@repeatable
@given(texts)
def test_visible_text_is_one_printable_line(text: str) -> None:
    """X5: what is shown can be encoded, is one line, has nothing hidden, and is not escaped twice."""
    shown = visible(text)
    shown.encode("utf-8")
    assert len(shown.splitlines()) <= 1
    assert not [each for each in shown if each in JSON_HIDDEN]
    assert visible(shown) == shown


@repeatable
@given(texts)
def test_a_field_is_one_cell_and_can_be_read_back(text: str) -> None:
    """X4: no field holds a tab or a line end, and a program gets the text back."""
    shown = field(text)
    assert visible(shown) == shown
    assert unescaped(shown) == text


def test_a_field_escapes_as_the_rule_says() -> None:
    r"""X4: tab, line ends and backslash are two characters each."""
    assert field("a\tb\nc\rd\\e") == r"a\tb\nc\rd\\e"
    assert field("\\") == r"\\"
    assert field("\x1b\\") == r"\x1b\\"


# Lines.


def percept(**fields: Any) -> Percept:
    """Return a percept with some fields set."""
    made: Percept = {
        "id": "6694d2c4-1111-4222-8333-444455556666",
        "content": "Deploys go out on Friday",
        "producer": "user",
        "w": 0.85,
        "updated_at": "2026-10-28T10:00:00Z",
    }
    made.update(fields)  # type: ignore[typeddict-item]  # any field, by its name
    return made


def test_a_line_has_seven_fields() -> None:
    """X4: id, scope, w, rank, evidence, producer, content, tab-separated, id and content whole."""
    content = "x" * 5000
    assert line(percept(evidence=2, content=content), "global", 1.0012345678) == (
        f"6694d2c4-1111-4222-8333-444455556666\tglobal\t0.85\t1.001235\t2\tuser\t{content}"
    )


@pytest.mark.parametrize(
    ("w", "shown"), [(0.1 + 0.2, "0.30000000000000004"), (1, "1.0"), (0, "0.0"), (1.5, "1.0"), (-0.5, "0.0")]
)
def test_w_is_exact_and_clamped(w: float, shown: str) -> None:
    """X4, F7: a script gets the w that the program computes with."""
    assert line(percept(w=w), "session", 0.5).split("\t")[2] == shown


@pytest.mark.parametrize("fields", [{}, {"evidence": None}])
def test_missing_evidence_is_zero(fields: dict[str, Any]) -> None:
    """F3: evidence that is missing or null is 0."""
    assert line(percept(**fields), "session", 0.5).split("\t")[4] == "0"


@repeatable
@given(texts, texts, texts)
def test_no_content_adds_a_field_or_a_line(id: str, producer: str, content: str) -> None:
    """X4, case 28: whatever a percept holds, it is one line of seven fields that give it back."""
    fields = line(percept(id=id, producer=producer, content=content), "archive", 0.0).split("\t")
    assert len(fields) == 7
    assert [unescaped(fields[at]) for at in (0, 5, 6)] == [id, producer, content]
    assert "\n" not in "".join(fields)


# Short ids.

ids = st.text(st.sampled_from("aAbß\u017f \\\x1b-東"), min_size=1, max_size=14)


def accepted(target: str, among: list[str]) -> list[str]:
    """Return what a printed id stands for: the whole id, else those that begin with it in any case (G2)."""
    whole = [each for each in among if field(each) == target]
    return whole or [each for each in among if field(each).casefold().startswith(target.casefold())]


@repeatable
@given(st.lists(ids, max_size=12))
def test_a_printed_id_stands_for_one_percept(among: list[str]) -> None:
    """X7, case 23: every printed id is accepted back and means the id it was printed for."""
    short = short_ids(among)
    assert set(short) == set(among)
    for id, printed in short.items():
        assert field(id).startswith(printed)
        assert accepted(printed, list(short)) == [id]


@repeatable
@given(st.lists(ids, max_size=12))
def test_a_printed_id_is_no_longer_than_it_must_be(among: list[str]) -> None:
    """X7: one character less is too short, means another percept too, or ends in a blank."""
    short = short_ids(among)
    for id, printed in short.items():
        less = printed[:-1]
        if len(printed) > SHORT_ID and less.strip() == less:
            assert accepted(less, list(short)) != [id]


@pytest.mark.parametrize(
    ("among", "printed"),
    [
        ([], []),
        (["6694d2c4-1111-4222-8333-444455556666"], ["6694d2c4"]),
        (["6694d2c4-1", "6694d2c4-2"], ["6694d2c4-1", "6694d2c4-2"]),
        (["6694d2c4-1x", "6694D2C4-1y"], ["6694d2c4-1x", "6694D2C4-1y"]),
        (["abc", "abcdefghij"], ["abc", "abcdefgh"]),
        (["abcdefgh", "abcdefghij"], ["abcdefgh", "abcdefghi"]),
        (["ab", "ab"], ["ab", "ab"]),
        (["\x1b[31mred-1", "\x1b[31mred-2"], [r"\x1b[31mred-1", r"\x1b[31mred-2"]),
        (["        long", "short"], ["        l", "short"]),
        (["東京の長い識別子一", "東京の長い識別子二"], ["東京の長い識別子一", "東京の長い識別子二"]),
        (["ßßßßßßßßßß", "ßßßßßßßßß-"], ["ßßßßßßßßßß", "ßßßßßßßßß-"]),
        (["ßßßßßßßßßßßß"], ["ßßßßßßßß"]),
        (["straßenname-1", "strassenname-2"], ["straßenname-1", "strassenname-2"]),
    ],
)
def test_the_shortest_unique_prefix_is_printed(among: list[str], printed: list[str]) -> None:
    """X7: at least eight characters, more only where others begin alike in any letter case."""
    assert [short_ids(among)[id] for id in among] == printed


def test_a_hundred_thousand_ids() -> None:
    """X7: a large memory is no quadratic wait, and its ids stay unique."""
    source = random.Random(90)
    among = [f"{source.getrandbits(128):032x}" for _ in range(100_000)]
    short = short_ids(among)
    assert len(set(short.values())) == len(among)
    assert max(map(len, short.values())) <= 2 * SHORT_ID


# Times.

SECOND = 1_000_000_000
DAY = 86_400


@pytest.mark.parametrize(
    ("seconds", "past", "future"),
    [
        (0, "just now", "just now"),
        (59, "just now", "just now"),
        (60, "1m ago", "in 1m"),
        (3_599, "59m ago", "in 59m"),
        (3_600, "1h ago", "in 1h"),
        (DAY - 1, "23h ago", "in 23h"),
        (DAY, "1d ago", "in 1d"),
        (3 * DAY + 5, "3d ago", "in 3d"),
        (60 * DAY - 1, "59d ago", "in 59d"),
        (61 * DAY, "2mo ago", "in 2mo"),
        (730 * DAY, "23mo ago", "in 23mo"),
        (731 * DAY, "2y ago", "in 2y"),
        (3653 * DAY, "10y ago", "in 10y"),
    ],
)
def test_ages_are_relative(seconds: int, past: str, future: str) -> None:
    """X9: at a terminal a time is how long ago it was, rounded down, or how soon it will be."""
    now = 1_800_000_000 * SECOND
    assert ago(now - seconds * SECOND, now) == past
    assert ago(now + seconds * SECOND, now) == future


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0s"),
        (0.9, "0s"),
        (42.7, "42s"),
        (60, "1m"),
        (303, "5m 3s"),
        (3_600, "1h"),
        (3_659, "1h"),
        (7_500, "2h 5m"),
        (DAY - 0.1, "23h 59m"),
        (DAY, "1 day"),
        (1.04 * DAY, "1 day"),
        (1.5 * DAY, "1.5 days"),
        (6.28 * DAY, "6.3 days"),
        (60 * DAY, "60 days"),
    ],
)
def test_running_time_in_words(seconds: float, words: str) -> None:
    """Running time reads as a person would say it."""
    assert duration(seconds) == words


# JSON documents.

# Two surrogates that make a pair are one character once they are read back: no JSON text says otherwise.
json_texts = texts.filter(lambda text: re.search("[\ud800-\udbff][\udc00-\udfff]", text) is None)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | json_texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(json_texts, inner, max_size=4),
    max_leaves=12,
)


@repeatable
@given(json_values)
def test_json_comes_back_as_it_went(value: Any) -> None:
    """Section 16: any document can be read back, floats to the last digit, ints whole, surrogates too."""
    back = json.loads(json_text(value))
    assert back == value
    assert repr(back) == repr(value)


@repeatable
@given(json_values)
def test_json_shows_a_terminal_nothing_hidden(value: Any) -> None:
    """Section 16, case 28: hidden characters are always escaped, and line feeds are only the layout's."""
    written = json_text(value)
    written.encode("utf-8")
    assert not [each for each in written if each in JSON_HIDDEN and each != "\n"]


@repeatable
@given(st.recursive(st.text(st.characters(categories=["L", "N", "P", "S"])), st.lists, max_leaves=5))
def test_json_keeps_other_text_raw(value: Any) -> None:
    """Section 16: two spaces of indent, text beyond ASCII as it is."""
    assert json_text(value) == json.dumps(value, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("character", JSON_HIDDEN)
def test_json_escapes_each_hidden_character(character: str) -> None:
    r"""Section 16: as `\u…` in lower case, above the basic plane as a surrogate pair, in keys too."""
    short = {"\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    escape = short.get(character) or json.dumps(character)[1:-1]
    if character == DEL:
        escape = "\\u007f"
    assert json_text([character]) == f'[\n  "{escape}"\n]'
    assert json_text({f"é{character}": "é"}) == f'{{\n  "é{escape}": "é"\n}}'


def test_json_layout() -> None:
    """Section 16: keys keep their order, empty lists and objects stay on one line, tuples are lists."""
    document = {
        "schema_version": 1,
        "b": {"z": True, "a": None, "m": {}},
        "a": [[], (1.0, 1e-7, 1e22), 18446744073709551617],
        "no": False,
        "z": "\u00e9 \u200d \U0001f600 / ' \" \\ < >",
    }
    assert json_text(document) == json.dumps(document, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_json_has_no_form_for_what_is_not_finite(value: float) -> None:
    """Section 16: no NaN or infinity is ever written."""
    with pytest.raises(ValueError, match="not finite"):
        json_text({"w": value})


@pytest.mark.parametrize("value", [{1, 2}, b"bytes", object()])
def test_json_refuses_other_types(value: object) -> None:
    """Section 16: a value that JSON does not know is a defect, not a guess."""
    with pytest.raises(TypeError, match="no JSON form"):
        json_text([value])


# The terminal.


@pytest.mark.parametrize(
    ("columns", "width"),
    [
        ("100", 100),
        ("1", NARROWEST),
        ("39", NARROWEST),
        ("201", WIDEST),
        ("999999999", WIDEST),
        ("9" * 5000, USUAL_WIDTH),
        ("0", USUAL_WIDTH),
        ("-5", USUAL_WIDTH),
        ("wide", USUAL_WIDTH),
        ("²", USUAL_WIDTH),
        ("", USUAL_WIDTH),
    ],
)
def test_columns_decide_the_width_where_they_are_sane(columns: str, width: int) -> None:
    """X4: a stated width is kept to what a table can be fitted to; 0 and nonsense do not count."""
    assert terminal_width({"COLUMNS": columns}, io.StringIO()) == width


def test_a_terminal_is_asked_for_its_width(terminal: io.TextIOWrapper) -> None:
    """X4: without `COLUMNS` the terminal decides, with it `COLUMNS` does."""
    assert terminal_width({}, terminal) == 123
    assert terminal_width({"COLUMNS": "77"}, terminal) == 77


def test_a_terminal_that_does_not_know_its_width(terminal: io.TextIOWrapper) -> None:
    """X4: a terminal of 0 columns, as some are at their start, is taken for a usual one."""
    resize(terminal.fileno(), 0)
    assert terminal_width({}, terminal) == USUAL_WIDTH


def test_a_pipe_has_the_usual_width() -> None:
    """X4: what is no terminal has no width of its own, closed or not."""
    with open(os.devnull, "w", encoding="utf-8") as stream:
        assert terminal_width({}, stream) == USUAL_WIDTH
    assert terminal_width({}, stream) == USUAL_WIDTH


@pytest.mark.parametrize(
    ("choice", "environ", "is_terminal", "expected"),
    [
        (AUTO, {}, True, True),
        (AUTO, {}, False, False),
        (AUTO, {"NO_COLOR": "1"}, True, False),
        (AUTO, {"NO_COLOR": "0"}, True, False),
        (AUTO, {"NO_COLOR": ""}, True, True),
        (AUTO, {"TERM": "dumb"}, True, False),
        (AUTO, {"TERM": "xterm"}, True, True),
        (AUTO, {"NO_COLOR": ""}, False, False),
        (AUTO, {"FORCE_COLOR": "0"}, False, False),
        (AUTO, {"FORCE_COLOR": "1"}, False, False),
        (AUTO, {"GITHUB_ACTIONS": "1"}, False, False),
        (ALWAYS, {"NO_COLOR": "1", "TERM": "dumb"}, False, True),
        ("never", {"FORCE_COLOR": "1"}, True, False),
    ],
)
def test_when_to_colour(choice: str, environ: dict[str, str], is_terminal: bool, expected: bool) -> None:
    """X4, case 35: auto is a terminal that wants it; only `--color always` colours a pipe."""
    assert use_color(choice, environ, Stream(is_terminal)) is expected


def test_printing_to_a_pipe_loads_no_rich() -> None:
    """Hooks pay for every import: neither Rich nor `typing` and its like are loaded for plain text."""
    heavy = ("rich", "typing", "dataclasses", "datetime", "enum", "pathlib", "unicodedata")
    asked = f"print([name for name in {heavy!r} if name in set(sys.modules) - before])"
    program = "import json, sys; before = set(sys.modules); import milkmem.cli.plain; " + asked
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
