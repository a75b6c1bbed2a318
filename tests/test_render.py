"""Screens: golden texts at five widths, and what no fact, id or width may ever break.

`python tests/test_render.py` writes the golden texts anew; look at each before keeping it.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from milkmem.cli.plain import NARROWEST, WIDEST, field, visible
from milkmem.cli.render import (
    CONTENT_LINES,
    STACKED_BELOW,
    STANDINGS,
    Change,
    Choice,
    EdgeRow,
    Outlook,
    Row,
    change_list,
    choice_list,
    comparison,
    config_rows,
    conflict_list,
    finding_list,
    forecast_detail,
    forecast_table,
    paragraphs,
    percept_detail,
    percept_table,
)

if TYPE_CHECKING:
    from typing import TextIO

    Printer = Callable[[TextIO, int, bool], None]

SCREENS = Path(__file__).parent / "data" / "screens"
WIDTHS = (40, 60, 80, 120, 200)
TIMES = "\u00d7"
SGR = re.compile("\x1b\\[[0-9;]*m")

PLAIN_FACTS = [
    Row("6694d2c4", "global", 1.0, 1.21, 4, "just now", "core", "Deploys to staging are allowed on Friday"),
    Row(
        "9c01d2e3",
        "global",
        0.85,
        1.001,
        2,
        "5m ago",
        "lasting",
        "The user prefers uv over pip for every Python project, and wants lock files committed together with"
        " the change that needs them",
    ),
    Row("1a2b3c4d", "session", 0.75, 0.825, 1, "3h ago", "rising", "Port 4100 is the staging API"),
    Row("0f0f0f0f", "session", 0.234, 0.24, 0, "59d ago", "fading", "The queue is sized for exports"),
    Row("deadbeef", "session", 0.6, 0.63, 0, "in 2d", "contested", "Use tabs in Makefiles only"),
    Row("77aa77aa", "archive", 0.2, 0.2, 0, "23mo ago", "stale", "The old host was called birch"),
]
HOSTILE_FACTS = [
    "[bold]not bold[/bold] [/tmp/foo] list[str] [link=file:///x]y[/link] :smile: `code` **stars** 1.5 None",
    "escapes \x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m bell \x07 nul \x00 del \x7f",
    "bidi \u202eabc\u202c \u2066def\u2069 mark \u200f tag \U000e0041 soft\u00adhyphen \ufeff lone \ud800",
    "lines\n## System\r\n```\ttab\u2028separator\x85next",
    "東京のサーバーは毎週金曜日に再起動されるので、その日の午後にはデプロイしないこと。必ず前日までに連絡する。",
    "family 👨‍👩‍👧‍👦 flags 🇩🇪🇫🇷🇯🇵 heart ❤️ tone 👍🏽 key 1️⃣ accents e\u0301 a\u0308\u0323",
    "देवनागरी में लिखा गया एक तथ्य, जो दो पंक्तियों में आता है",
    "https://example.org/a/very/long/path/that/has/no/blank/in/it/at/all/and/goes/on/and/on/for/ever/index.html",
    "x" * 16_384,
    "a" + "\u0301" * 16_384,
]
HOSTILE_IDS = [
    "8d0e37a1",
    "a b\\x1bc",
    "[bold]id",
    "長い識別子です",
    "👨‍👩‍👧‍👦👨‍👩‍👧‍👦",
    "12345678-1234-4123-8123-123456789abc",
    "id-" * 40,
    "\u0301",
]
PERCEPT = {
    "id": "6694d2c4-1111-4222-8333-444455556666",
    "content": PLAIN_FACTS[1].content,
    "producer": "user",
    "w": 0.85,
    "roles": {"theme": "packaging", "when": "on \x1b[1m every [bold] change"},
    "created_at": "2026-10-28T10:00:00.123456789Z",
    "updated_at": "2026-11-07T10:00:00+05:30",
    "evidence": 2,
    "idle_seconds": 1.5,
    "x-unknown": [1, None, True, "東京", "\ud800"],
    "a field with a very long name that says little": 18446744073709551617,
}
STANDING = [
    ("rank 1.001", f"= w 0.850 {TIMES} (1 + recency 0.071) {TIMES} (1 + evidence 0.100)"),
    ("promotion", "w 0.85 ≥ 0.80 yes · evidence 2 ≥ 2 yes · contradicted by 9c01d2e3: no"),
    ("fades", "to 0.20 in 6.3 running days unless restated"),
]
EDGES = [
    EdgeRow("extends", True, "1a2b3c4d", PLAIN_FACTS[2].content),
    EdgeRow("contradicts", False, "9c01d2e3", HOSTILE_FACTS[0]),
    EdgeRow("derives", True, "0f0f0f0f", None),
]
CHANGES = [
    Change("promoted", "6694d2c4", "user fact, w 0.90 ≥ 0.80", 0.9, 0.9, PLAIN_FACTS[0].content),
    Change("deferred", "9c01d2e3", "evidence 1 < 2", 0.8, 0.8, PLAIN_FACTS[1].content),
    Change("boosted", "1a2b3c4d", "extended by 9c01d2e3", 0.7, 0.75, HOSTILE_FACTS[4]),
    Change("penalized", "deadbeef", "", 0.7, 0.6, HOSTILE_FACTS[0]),
    Change("pruned", "0f0f0f0f", "w 0.20 ≤ 0.20", 0.21, 0.2, HOSTILE_FACTS[1]),
    Change("archived", "77aa77aa", "14.2 running days unused", 0.4, 0.4, PLAIN_FACTS[5].content),
    Change("evicted", "12121212", "lowest rank over the size cap", 0.3, 0.3, HOSTILE_FACTS[5]),
    Change("renamed", "34343434", "", 0.3, 0.3, "an event of a later version"),
]
COUNTS = {
    "decayed": 12,
    "global_decayed": 3,
    "pruned": 1,
    "archived": 1,
    "promoted": 1,
    "promotion_deferred": 1,
    "evicted": 1,
}
CONFLICTS = [
    (
        Choice("deadbeef", "session", PLAIN_FACTS[4].content),
        Choice("9c01d2e3", "global", HOSTILE_FACTS[0]),
        ["milkmem forget deadbeef", "milkmem unlink deadbeef 9c01d2e3 contradicts"],
    ),
    (Choice("a b\\x1bc", "session", HOSTILE_FACTS[1]), Choice("長い識別子です", "session", "東"), []),
]
SETTINGS = [
    ("data_dir", "/srv/memory/of/the/whole/team", "/home/someone/.config/milkmem/config.toml:1"),
    ("session_half_life_days", "3.0", "default"),
    ("global_archive_after_days", "-1", "/home/someone/.config/milkmem/config.toml:12"),
    ("percept_inject_max", "25", "/home/someone/.config/milkmem/config.toml:13 (0 means the default)"),
    ("edge_cadence", '"pass"', "default"),
]


def hostile_rows() -> list[Row]:
    """Return one row for each hostile fact and each hostile id."""
    rows = [
        Row(
            f"{at:08d}", "session", at / 10, at / 10, at, "3d ago", list(STANDINGS)[at % len(STANDINGS)], fact
        )
        for at, fact in enumerate(HOSTILE_FACTS)
    ]
    return rows + [Row(id, "global", 0.5, 0.5, 0, "3d ago", "lasting", "strange id") for id in HOSTILE_IDS]


def table_of(rows: list[Row]) -> Printer:
    """Return a printer of a table."""
    return lambda stream, width, color: percept_table(rows, stream=stream, width=width, color=color)


def detail_of(percept: dict[str, Any], lines: list[tuple[str, str]], edges: list[EdgeRow]) -> Printer:
    """Return a printer of one percept."""
    return lambda stream, width, color: percept_detail(
        percept,
        id="6694d2c4",
        scope="session",
        standing="contested",
        lines=lines,
        edges=edges,
        notes={"created_at": "3d ago", "updated_at": "2d ago"},
        stream=stream,
        width=width,
        color=color,
    )


def changes_of(changes: list[Change], counts: dict[str, int], dry_run: bool = False) -> Printer:
    """Return a printer of what a pass did."""
    return lambda stream, width, color: change_list(
        changes, counts, dry_run=dry_run, stream=stream, width=width, color=color
    )


def settings_of(rows: list[tuple[str, str, str]]) -> Printer:
    """Return a printer of the configuration."""
    return lambda stream, width, color: config_rows(rows, stream=stream, width=width, color=color)


def choices_of(choices: list[Choice]) -> Printer:
    """Return a printer of candidates."""
    return lambda stream, width, color: choice_list(choices, stream=stream, width=width, color=color)


def conflicts_of(pairs: list[tuple[Choice, Choice, list[str]]]) -> Printer:
    """Return a printer of contradictions."""
    return lambda stream, width, color: conflict_list(pairs, stream=stream, width=width, color=color)


def outlooks_of(rows: list[Outlook]) -> Printer:
    """Return a printer of what comes next."""
    return lambda stream, width, color: forecast_table(rows, stream=stream, width=width, color=color)


def forecast_of(
    content: str, lines: list[tuple[str, str]], points: list[tuple[float, float]], end: str
) -> Printer:
    """Return a printer of what is to come of one percept."""
    return lambda stream, width, color: forecast_detail(
        id="6694d2c4",
        scope="session",
        standing="fading",
        content=content,
        lines=lines,
        points=points,
        levels={"promote": 0.8, "prune": 0.2},
        end=end,
        stream=stream,
        width=width,
        color=color,
    )


def comparison_of(heads: list[str], groups: list[tuple[str, list[tuple[str, list[str]]]]]) -> Printer:
    """Return a printer of settings side by side."""
    return lambda stream, width, color: comparison(heads, groups, stream=stream, width=width, color=color)


def findings_of(findings: list[tuple[str, str, str, str]]) -> Printer:
    """Return a printer of findings."""
    return lambda stream, width, color: finding_list(findings, stream=stream, width=width, color=color)


def paragraphs_of(texts: list[str]) -> Printer:
    """Return a printer of paragraphs."""
    return lambda stream, width, color: paragraphs(texts, stream=stream, width=width, color=color)


OUTLOOKS = [
    Outlook("6694d2c4", "session", 0.9, "promoted", "next pass", PLAIN_FACTS[0].content),
    Outlook("0f0f0f0f", "session", 0.234, "pruned", "23h 12m", PLAIN_FACTS[1].content),
    Outlook("9c01d2e3", "global", 0.85, "archived", "13.9 days", HOSTILE_FACTS[4]),
    Outlook("77aa77aa", "global", 0.3, "evicted", "2h", HOSTILE_FACTS[0]),
    Outlook("deadbeef", "global", 1.0, "", "", HOSTILE_FACTS[1]),
]
COMING = [
    ("next pass", "held back: w 0.83 ≥ 0.80, but evidence < 2"),
    ("5.4 days", "pruned from the session: w 0.20 ≤ 0.20; milkmem restore brings it back"),
]
FADING = [(at / 10, 0.83 * 0.5 ** (at / 30)) for at in range(62)]
FATES = [
    (
        "user",
        [
            ("graduates", ["run 1 (day 1)", "run 1 (day 1)"]),
            ("at the end", ["global, w 0.90", "global, w 0.90"]),
        ],
    ),
    (
        "primary, escalation",
        [
            ("graduates", ["never: w at most 0.74, evidence 30", "run 4 (day 4)"]),
            ("at the end", ["session, w 0.63", "global, w 0.90"]),
        ],
    ),
    ("東京 \x1b[1m[bold]", [("graduates", ["no", "no"]), ("at the end", ["", ""])]),
]
FINDINGS = [
    ("ok", "files", "2 files, 11 percepts", ""),
    (
        "note",
        "changed",
        "/srv/memory/global.json was changed since milkmem's last command",
        "milkmem inspect",
    ),
    (
        "problem",
        "permissions",
        "/srv/memory/of/the/team is open to others (0755)",
        "chmod 700 /srv/memory/of/the/team",
    ),
    (
        "problem",
        "edges",
        "session: a \x1b[31m extends 東: an end is nowhere",
        "milkmem unlink -- 'a \x1b' 東 extends",
    ),
]

PRINTERS: dict[str, Printer] = {
    "table": table_of(PLAIN_FACTS),
    "hostile": table_of(hostile_rows()),
    "detail": detail_of(PERCEPT, STANDING, EDGES),
    "changes": changes_of(CHANGES, COUNTS),
    "config": settings_of(SETTINGS),
    "conflicts": conflicts_of(CONFLICTS),
    "outlooks": outlooks_of(OUTLOOKS),
    "forecast": forecast_of(PLAIN_FACTS[1].content, COMING, FADING, "6.1 days"),
    "comparison": comparison_of(["in force", "session_half_life_days=7, reconfirm_boost=0.1"], FATES),
    "findings": findings_of(FINDINGS),
    "choices": choices_of(
        [Choice(row.id, row.scope, row.content) for row in [*PLAIN_FACTS, *hostile_rows()]]
    ),
}


def printed(printer: Printer, width: int, color: bool = False) -> str:
    """Return what goes to a stream that holds all of Unicode."""
    stream = io.StringIO()
    printer(stream, width, color)
    return stream.getvalue()


def printed_as(encoding: str, printer: Printer, width: int) -> str:
    """Return what goes to a stream that raises for what its encoding does not hold."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="\n")
    printer(stream, width, False)
    stream.flush()
    return raw.getvalue().decode(encoding)


def most_cells(text: str) -> int:
    """Return the cells of a text on a terminal that joins nothing: each emoji stands for itself."""
    drawn = 0
    for character in text:
        if unicodedata.category(character) not in ("Mn", "Me", "Cf"):
            drawn += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return drawn


def unfit(output: str, width: int) -> list[str]:
    """Return the lines of an output that are too wide, hold something hidden, or end in a blank."""
    assert output == "" or output.endswith("\n")
    return [
        line
        for line in output.split("\n")
        if cell_len(line) > width or most_cells(line) > width or visible(line) != line or line.endswith(" ")
    ]


# Golden texts.


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PRINTERS)
def test_golden_screens(name: str, width: int) -> None:
    """X4, X5, cases 27, 28: each screen at each width is the text that was looked at and kept."""
    golden = (SCREENS / f"{name}-{width}.txt").read_text(encoding="utf-8")
    output = printed(PRINTERS[name], width)
    assert output == golden
    assert unfit(output, width) == []


@pytest.mark.parametrize("name", PRINTERS)
def test_golden_screens_of_a_terminal_without_unicode(name: str) -> None:
    """X5, case 31: what the encoding does not hold is an escape, our own signs have plain forms."""
    golden = (SCREENS / f"{name}-80-ascii.txt").read_text(encoding="ascii")
    output = printed_as("ascii", PRINTERS[name], 80)
    assert output == golden
    assert unfit(output, 80) == []


def test_a_latin_terminal_keeps_its_letters() -> None:
    """Case 31: only what the encoding lacks is escaped."""
    row = Row("6694d2c4", "global", 0.5, 0.5, 0, "3d ago", "lasting", "café → 東")
    assert "café \\u2192 \\u6771" in printed_as("latin-1", table_of([row]), 80)


# What nothing may break.

repeatable = settings(derandomize=True, deadline=None, max_examples=40)
widths = st.integers(NARROWEST, WIDEST)
pieces = st.sampled_from(
    [*HOSTILE_IDS[:5], "[/]", "\x1b[2J", "\n", " ", "東", "👩‍👩", "\u200d", "\ufe0f", "🇩", "word"]
)
texts = (
    st.text(st.characters(exclude_categories=()))
    | st.lists(pieces, max_size=30).map("".join)
    | st.text(max_size=3).map(lambda text: text * 100)
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
rows = st.builds(
    Row, texts, texts, numbers, numbers, st.integers(), texts, texts | st.sampled_from(list(STANDINGS)), texts
)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts, lambda inner: st.lists(inner) | st.dictionaries(texts, inner)
)


def check(printer: Printer, width: int) -> None:
    """Every line fits, on every terminal, and colour changes nothing but colour."""
    output = printed(printer, width)
    assert unfit(output, width) == []
    assert unfit(printed_as("ascii", printer, width), width) == []
    coloured = printed(printer, width, color=True)
    assert re.sub(" +$", "", SGR.sub("", coloured), flags=re.MULTILINE) == output


@repeatable
@given(st.lists(rows, max_size=4), widths)
def test_no_row_breaks_a_table(drawn: list[Row], width: int) -> None:
    """X4, X5: whatever percepts hold, a table fits its width and shows nothing hidden."""
    check(table_of(drawn), width)


@repeatable
@given(
    texts,
    st.dictionaries(texts, values, max_size=4),
    st.lists(st.tuples(texts, texts), max_size=3),
    st.lists(st.builds(EdgeRow, texts, st.booleans(), texts, st.none() | texts), max_size=3),
    widths,
)
def test_no_percept_breaks_its_screen(
    content: str, fields: dict[str, Any], lines: list[tuple[str, str]], edges: list[EdgeRow], width: int
) -> None:
    """X4, X5: whatever fields, reasons and edges hold, one percept in full fits the width."""
    check(detail_of({"content": content, **fields}, lines, edges), width)


@repeatable
@given(
    st.lists(
        st.builds(Change, texts | st.just("boosted"), texts, texts, numbers, numbers, texts), max_size=3
    ),
    widths,
)
def test_no_change_breaks_the_list(changes: list[Change], width: int) -> None:
    """X4, X5: whatever a pass changed, its sentences fit the width."""
    check(changes_of(changes, COUNTS, dry_run=True), width)


@repeatable
@given(st.lists(st.tuples(texts, texts, texts), max_size=4), widths)
def test_no_setting_breaks_the_list(drawn: list[tuple[str, str, str]], width: int) -> None:
    """X4, X5: whatever paths and values are, the configuration fits the width."""
    check(settings_of(drawn), width)


@repeatable
@given(st.lists(st.builds(Choice, texts, texts, texts), max_size=12), widths)
def test_no_candidate_breaks_the_list(choices: list[Choice], width: int) -> None:
    """X4, X5: whatever candidates hold, the list fits the width."""
    check(choices_of(choices), width)


@repeatable
@given(
    st.lists(
        st.tuples(
            st.builds(Choice, texts, texts, texts), st.builds(Choice, texts, texts, texts), st.lists(texts)
        ),
        max_size=3,
    ),
    widths,
)
def test_no_contradiction_breaks_the_list(pairs: list[tuple[Choice, Choice, list[str]]], width: int) -> None:
    """X4, X5: whatever contradicts each other, the list fits the width."""
    check(conflicts_of(pairs), width)


# Tables.


@pytest.mark.parametrize("width", range(NARROWEST, WIDEST + 1))
def test_a_table_fits_every_width(width: int) -> None:
    """X4: from 40 to 200 columns, stacked below 60 and with a head from there on."""
    output = printed(PRINTERS["table"], width)
    assert unfit(output, width) == []
    assert output.startswith("id ") == (width >= STACKED_BELOW)
    for row in PLAIN_FACTS:
        assert row.id in output
        assert f"{row.w:.2f}" in output
        assert row.standing in output


def test_columns_are_given_up_in_order() -> None:
    """X4: a narrow table keeps id, w, standing and content, and gives up the least telling columns first."""
    heads = {width: printed(PRINTERS["table"], width).splitlines()[0].split() for width in WIDTHS[1:]}
    assert heads == {
        60: ["id", "w", "standing", "content"],
        80: ["id", "w", "age", "standing", "content"],
        120: ["id", "scope", "w", "rank", "evidence", "age", "standing", "content"],
        200: ["id", "scope", "w", "rank", "evidence", "age", "standing", "content"],
    }


@pytest.mark.parametrize("width", WIDTHS)
def test_ids_are_never_cropped(width: int) -> None:
    """X7: an id too long for its column is folded, so that all of it can be read and typed."""
    id = "12345678-1234-4123-8123-123456789abc"
    for printer in (
        table_of([Row(id, "global", 0.5, 0.5, 0, "3d ago", "core", "x")]),
        choices_of([Choice(id, "global", "x")]),
        detail_of(PERCEPT, [], [EdgeRow("extends", True, id, "x")]),
        changes_of([Change("promoted", id, "", 0.5, 0.5, "x")], {}),
    ):
        folded = "".join(re.findall("[0-9a-f-]{4,}", printed(printer, width).replace(PERCEPT["id"], "")))  # type: ignore[arg-type]
        assert id in folded


def test_content_is_cropped_with_an_ellipsis() -> None:
    """X4: a table shows the beginning of a long fact and says that there is more."""
    output = printed(table_of([Row("6694d2c4", "global", 0.5, 0.5, 0, "3d ago", "core", "word " * 100)]), 80)
    assert len(output.splitlines()) == 1 + CONTENT_LINES
    assert re.search("wo?r?d?…\n$", output)


@pytest.mark.parametrize("joined", ["🇩🇪", "👍🏽", "👨‍👩‍👧", "e\u0301", "षि", "❤️"])
def test_what_is_drawn_as_one_stays_on_one_line(joined: str) -> None:
    """X4: no flag, tone, family or letter with its marks is torn apart at the end of a line."""
    for before in range(8):
        output = printed(detail_of({"content": "x" * before + joined * 60}, [], []), 40)
        lines = output.splitlines()[1:]
        assert len(lines) > 1
        assert [line.replace(joined, "").strip("x") for line in lines] == [""] * len(lines)


def test_words_move_to_the_next_line() -> None:
    """X4: lines end at blanks; only a word that fits no line is broken, and not for a few letters."""
    path = "https://example.org/" + "path/" * 10
    content = f"The documentation of the API is at {path} now"
    output = printed(detail_of({"content": content}, [], []), 40).splitlines()[1:]
    assert output == ["The documentation of the API is at", path[:40], path[40:] + " now"]
    content = f"The docs are at {path} now"
    output = printed(detail_of({"content": content}, [], []), 40).splitlines()[1:]
    assert output == [f"The docs are at {path[:24]}", path[24:64], path[64:] + " now"]


def test_a_line_that_just_fits_leaves_no_blank_line() -> None:
    """X4: a blank behind the last cell of a line does not start another one."""
    rows = [
        Row("6694d2c4", "global", 0.5, 0.5, 0, "3d ago", "core", "x" * 38 + end) for end in ("", " ", " y")
    ]
    contents = [printed(table_of([row]), 40).splitlines()[1:] for row in rows]
    assert contents == [["  " + "x" * 38], ["  " + "x" * 38], ["  " + "x" * 38, "  y"]]


def test_marks_without_end_are_cropped() -> None:
    """X4: a letter with thousands of marks on it is one cell wide and still cropped."""
    output = printed(
        table_of([Row("6694d2c4", "global", 0.5, 0.5, 0, "3d ago", "core", HOSTILE_FACTS[-1])]), 80
    )
    assert output.endswith("\u0301…\n")
    assert len(output) < 2000


@pytest.mark.parametrize(
    ("w", "bar"),
    [(0.0, ""), (0.01, ""), (0.02, "▏"), (0.2, "█"), (0.85, "████▎"), (1.0, "█████"), (7.0, "█████")],
)
def test_w_has_a_bar(w: float, bar: str) -> None:
    """X4: w is a bar of five cells, in eighths, and a number."""
    output = printed(table_of([Row("6694d2c4", "global", w, 0.5, 0, "3d ago", "core", "x")]), 40)
    assert output.startswith(f"6694d2c4 {bar:5} {w:.2f} core · 3d ago\n")


def test_nothing_to_show_prints_nothing() -> None:
    """X4: a head without rows says nothing."""
    assert printed(table_of([]), 80) == ""
    assert printed(settings_of([]), 80) == ""
    assert printed(choices_of([]), 80) == ""


def test_a_large_table_is_whole() -> None:
    """X4: many rows are written piece by piece, each once and in order."""
    many = [Row(f"{at:08d}", "global", 0.5, 0.5, 0, "3d ago", "core", "x") for at in range(5000)]
    output = printed(table_of(many), 80)
    assert [line[:8] for line in output.splitlines()[1:]] == [row.id for row in many]


@pytest.mark.parametrize(
    "text", ["[bold]", "[/tmp/foo]", "list[str]", ":smile:", "[link=x]", "\\[a]", "{0}", "%s"]
)
@pytest.mark.parametrize("name", ["id", "standing", "age", "scope", "content"])
def test_stored_text_is_shown_as_stored(name: str, text: str) -> None:
    """X5, case 27: no markup, no emoji codes, no formatting, in whatever field it stands."""
    fields: dict[str, Any] = {
        "id": "6694d2c4",
        "scope": "global",
        "age": "3d",
        "standing": "core",
        "content": "x",
    }
    fields[name] = text
    assert f"{text}" in printed(table_of([Row(w=0.5, rank=0.5, evidence=0, **fields)]), 200)


@repeatable
@given(st.lists(st.builds(Outlook, texts, texts, numbers, texts, texts, texts), max_size=4), widths)
def test_no_outlook_breaks_a_table(drawn: list[Outlook], width: int) -> None:
    """X4, X5: whatever percepts hold, what comes next for them fits the width."""
    check(outlooks_of(drawn), width)


@repeatable
@given(
    texts,
    st.lists(st.tuples(texts, texts), max_size=3),
    st.lists(st.tuples(st.floats(0, 1e6), st.floats(-0.1, 1.1)), max_size=9).map(sorted),
    st.sampled_from(["0s", "6.1 days", "100000.5 days"]),
    widths,
)
def test_no_curve_breaks_its_screen(
    content: str, lines: list[tuple[str, str]], points: list[tuple[float, float]], end: str, width: int
) -> None:
    """X4, X5: whatever becomes of a percept, what is told and drawn of it fits the width."""
    check(forecast_of(content, lines, points, end), width)


@repeatable
@given(
    st.lists(texts, min_size=1, max_size=4).flatmap(
        lambda heads: st.tuples(
            st.just(heads),
            st.lists(
                st.tuples(
                    texts,
                    st.lists(
                        st.tuples(
                            st.sampled_from(["graduates", "at the end"]),
                            st.lists(texts, min_size=len(heads), max_size=len(heads)),
                        ),
                        max_size=3,
                    ),
                ),
                max_size=3,
            ),
        )
    ),
    st.lists(st.tuples(st.sampled_from(["ok", "problem"]), texts, texts, texts), max_size=3),
    widths,
)
def test_no_setting_and_no_finding_breaks_a_screen(
    drawn: tuple[list[str], list[tuple[str, list[tuple[str, list[str]]]]]],
    findings: list[tuple[str, str, str, str]],
    width: int,
) -> None:
    """X4, X5: settings side by side or below each other, and findings, fit the width."""
    check(comparison_of(*drawn), width)
    check(findings_of(findings), width)
    check(paragraphs_of(drawn[0]), width)


def test_a_curve_shows_where_w_is() -> None:
    """Section 15: the curve begins and ends in the rows of its w, thresholds lie in theirs, time is below."""
    lines = printed(PRINTERS["forecast"], 80).splitlines()
    rows = {line[:4]: line[6:] for line in lines if line[4:6] in (" ┤", " │")}
    assert rows["0.80"].startswith("⢄")
    assert rows["0.80"].endswith("promote")
    assert rows["0.20"].endswith("prune")
    assert not rows["1.00"].strip()
    assert lines[-1].split() == ["0", "6.1", "days", "of", "running", "time"]


# One percept.


def test_a_percept_is_shown_whole() -> None:
    """Section 15: content and every stored field, known or not, is there to its last character."""
    output = printed(PRINTERS["detail"], 200)
    assert PERCEPT["content"] in output.splitlines()
    for name in PERCEPT:
        assert name == "content" or name.split()[0] in output
    assert "18446744073709551617" in output
    assert '[1, null, true, "東京", "\\ud800"]' in output


@pytest.mark.parametrize("width", WIDTHS)
def test_long_content_is_shown_to_its_end(width: int) -> None:
    """Section 15: in full means that nothing is cropped at any width."""
    for fact in HOSTILE_FACTS:
        output = printed(detail_of({"content": fact}, [], []), width)
        shown = "".join(output.splitlines()[1:])
        assert shown.replace(" ", "") == visible(fact).replace(" ", "")


def test_the_standing_block_reads_as_in_the_specification() -> None:
    """Section 15: labels and texts as the specification prints them."""
    output = printed(PRINTERS["detail"], 80).splitlines()
    assert f"rank 1.001 = w 0.850 {TIMES} (1 + recency 0.071) {TIMES} (1 + evidence 0.100)" in output
    assert "promotion  w 0.85 ≥ 0.80 yes · evidence 2 ≥ 2 yes · contradicted by 9c01d2e3: no" in output
    assert "fades      to 0.20 in 6.3 running days unless restated" in output


def test_an_edge_without_its_other_end_says_so() -> None:
    """E4: an edge that is not live is shown as such."""
    last = printed(PRINTERS["detail"], 80).splitlines()[-1]
    assert last == "└─ derives     → 0f0f0f0f  (not at hand)"


def test_times_have_their_age_behind_them() -> None:
    """X9: at a terminal a stored time also says how long ago it was."""
    output = printed(PRINTERS["detail"], 80)
    assert "created_at    2026-10-28T10:00:00.123456789Z (3d ago)\n" in output
    assert "updated_at    2026-11-07T10:00:00+05:30 (2d ago)\n" in output


# What a pass did.


def test_changes_are_sentences() -> None:
    """Section 10: a person reads what happened to which percept and why."""
    output = printed(PRINTERS["changes"], 120).splitlines()
    assert "promoted 6694d2c4 to global: user fact, w 0.90 ≥ 0.80" in output
    assert "held back 9c01d2e3: evidence 1 < 2" in output
    assert "boosted 1a2b3c4d: w 0.70 → 0.75, extended by 9c01d2e3" in output
    assert "penalized deadbeef: w 0.70 → 0.60" in output
    assert "pruned 0f0f0f0f from the session: w 0.20 ≤ 0.20" in output
    assert "archived 77aa77aa from global: 14.2 running days unused" in output
    assert "evicted 12121212 from global: lowest rank over the size cap" in output
    assert "renamed 34343434" in output


@pytest.mark.parametrize(
    ("counts", "dry_run", "said"),
    [
        ({}, False, "nothing changed\n"),
        (dict.fromkeys(COUNTS, 0), False, "nothing changed\n"),
        ({"decayed": 12, "pruned": 0}, False, "12 decayed in the session\n"),
        (
            {"global_decayed": 3, "promoted": 1},
            True,
            "dry run, nothing written: 1 promoted · 3 decayed in global\n",
        ),
        ({}, True, "dry run, nothing written: nothing changed\n"),
    ],
)
def test_counts_are_summed_up(counts: dict[str, int], dry_run: bool, said: str) -> None:
    """Section 10, C3: the counts of step 7 in one line, without the zeros."""
    assert printed(changes_of([], counts, dry_run), 80) == said


# Colour and streams.


def codes(output: str) -> set[str]:
    """Return the SGR parameters in an output."""
    return {code for found in SGR.findall(output) for code in found[2:-1].split(";")}


@pytest.mark.parametrize("name", PRINTERS)
def test_colours_are_those_of_the_terminal(name: str) -> None:
    """X4: bold, dim and standard foregrounds only: no background, nothing fixed to a light or dark screen."""
    used = codes(printed(PRINTERS[name], 80, color=True))
    assert used > {"0"}
    assert used <= {"0", "1", "2", "31", "32", "36"}


def test_standings_are_coloured_by_their_words() -> None:
    """X4: what needs a person stands out, what fades is dim."""
    output = printed(PRINTERS["table"], 80, color=True)
    assert "\x1b[1mcore" in output
    assert "\x1b[32mrising" in output
    assert "\x1b[2mfading" in output
    assert "\x1b[1;31mcontested" in output
    assert "\x1b[36m6694d2c4" in output
    assert not [line for line in output.splitlines() if re.match("\x1b\\[[0-9;]*m ", line)]


@pytest.mark.parametrize(
    "name", ["FORCE_COLOR", "GITHUB_ACTIONS", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"]
)
def test_no_variable_adds_colour(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 35: only the argument colours a screen."""
    monkeypatch.setenv(name, "1")
    assert "\x1b" not in printed(PRINTERS["table"], 80)


@pytest.mark.parametrize(
    ("name", "value"),
    [("NO_COLOR", "1"), ("TERM", "dumb"), ("COLUMNS", "20"), ("COLUMNS", "0"), ("JUPYTER_COLUMNS", "9")],
)
def test_no_variable_takes_colour_or_width(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """X4: colour and width are decided once, before a screen is printed."""
    asked = printed(PRINTERS["table"], 80, color=True)
    monkeypatch.setenv(name, value)
    assert printed(PRINTERS["table"], 80, color=True) == asked


def test_a_broken_pipe_is_left_to_the_caller() -> None:
    """X2, case 30: Rich's own exit code for a broken pipe never comes up."""

    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        PRINTERS["table"](Broken(), 80, True)


def test_printed_ids_are_shown_unchanged() -> None:
    """X7: the printed form of an id, escapes included, is not escaped a second time."""
    id = field("a\x1b\\b")
    assert f"{id}  " in printed(table_of([Row(id, "global", 0.5, 0.5, 0, "3d ago", "core", "x")]), 80)


if __name__ == "__main__":
    for screen, printer in PRINTERS.items():
        for columns in WIDTHS:
            (SCREENS / f"{screen}-{columns}.txt").write_text(printed(printer, columns), encoding="utf-8")
        (SCREENS / f"{screen}-80-ascii.txt").write_text(printed_as("ascii", printer, 80), encoding="ascii")
