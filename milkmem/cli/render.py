"""Screens: tables, one percept in full, lists of changes and choices; the only module that imports Rich.

Every function takes data, a stream, a width in cells and whether to colour, lays lines out itself and lets
Rich's console colour them. No line is wider than the width, whatever a fact contains: stored text becomes
visible escapes before it is measured (X5), it is measured as the widest terminal would draw it, and content
stands in the last column, so that a terminal which draws it narrower moves nothing. What the stream's
encoding cannot hold becomes an escape as well, before the layout and not after it.

Colours are those that the terminal's own theme defines, and only beside words that say the same.
"""

from __future__ import annotations

import codecs
import io
import json
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.cells import get_character_cell_size
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from milkmem.cli import curve, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TextIO

# Below this many columns a percept is stacked: its facts on one line, its content under them (X4).
STACKED_BELOW = 60
GAP = 2
BAR_CELLS = 5
CONTENT_LINES = 2
# Only content is cropped: what is longer than this in another column, or as a label, is folded.
LONGEST_CELL = 12
LONGEST_NAME = 30
# A table gives up columns before its content gets less than this share of the width.
CONTENT_SHARE = 0.4
# An id is to be copied, so it is folded only where it would take more of the width than this.
ID_SHARE = 0.45
LEAST_CONTENT = 8
# A word too long for any line is broken where at least this share of a line is left for its beginning.
PIECE_SHARE = 0.25
# How many characters are looked at to fill one cell: more would all be marks upon the same letter.
CHARACTERS_PER_CELL = 8
SEGMENTS_HELD = 20_000
# Settings stand side by side where each gets so many columns, and take no more than so many.
LEAST_SETTING = 18
WIDEST_SETTING = 48

PLAIN = Style()
DIM = Style(dim=True)
BOLD = Style(bold=True)
ID = Style(color="cyan")
GOOD = Style(color="green")
BAD = Style(color="red", bold=True)

STANDINGS = {
    "core": BOLD,
    "lasting": PLAIN,
    "rising": GOOD,
    "fading": DIM,
    "contested": BAD,
    "stale": DIM,
}


@dataclass(frozen=True, slots=True)
class Row:
    """One percept in a list: its printed id (X7), numbers, age in words, standing word and content."""

    id: str
    scope: str
    w: float
    rank: float
    evidence: int
    age: str
    standing: str
    content: str


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """One edge as seen from one of its ends: where it points, the printed id and content of the other end.

    `content` is None where the other end is not at hand, so that the edge is not live.
    """

    relation: str
    outgoing: bool
    id: str
    content: str | None


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that a pass did: an event of section 16, the printed id, why, and w before and after."""

    event: str
    id: str
    reason: str
    w_before: float
    w_after: float
    content: str


@dataclass(frozen=True, slots=True)
class Choice:
    """One candidate to choose from: its printed id, its scope, its content."""

    id: str
    scope: str
    content: str


@dataclass(frozen=True, slots=True)
class Outlook:
    """What comes next for one percept: an event of section 16 and when, in words, "" where nothing does."""

    id: str
    scope: str
    w: float
    event: str
    when: str
    content: str


class _Glyphs(NamedTuple):
    ellipsis: str
    between: str
    outgoing: str
    incoming: str
    branch: str
    last_branch: str
    stem: str
    bar: str


_UNICODE = _Glyphs("…", " · ", "→", "←", "├─", "└─", "│", "▏▎▍▌▋▊▉█")
_ASCII = _Glyphs("...", " - ", "->", "<-", "|-", "`-", "|", "#")
_ASCII_WORDS = str.maketrans(
    {"…": "...", "·": "-", "→": "->", "←": "<-", "\u00d7": "x", "≥": ">=", "≤": "<="}
)


class _Screen:
    """What is being printed: styled pieces of lines for one stream, width and choice of colour."""

    def __init__(self, stream: TextIO, width: int, color: bool) -> None:
        self.width = width
        self._color = color
        self._stream = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._holds_all = codecs.lookup(self._encoding).name.startswith("utf")
        self.glyphs = _UNICODE if self._holds_all else _ASCII
        self._line: list[Segment] = []
        self._segments: list[Segment] = []

    def stored(self, text: str) -> str:
        """Return stored text as it may be shown: one line, nothing invisible, nothing unencodable (X5)."""
        shown = plain.visible(text)
        if self._holds_all:
            return shown
        return shown.encode(self._encoding, "backslashreplace").decode(self._encoding)

    def glance(self, text: str, cells: int) -> str:
        """Return as much of stored text as could fill so many cells, as it may be shown."""
        enough = cells * CHARACTERS_PER_CELL
        if len(text) <= enough:
            return self.stored(text)
        return self.stored(text[:enough]) + self.glyphs.ellipsis

    def words(self, text: str) -> str:
        """Return words of our own, which may quote stored text, as they may be shown."""
        return self.stored(text if self._holds_all else text.translate(_ASCII_WORDS))

    def fill(self, text: str, width: int, most: int | None = None) -> list[str]:
        """Wrap shown text to `width` cells, in at most so many lines; what is cropped ends in an ellipsis."""
        return _fill(text, width, most, self.glyphs.ellipsis)

    def bar(self, share: float) -> str:
        """Return a bar for a share from 0 to 1, `BAR_CELLS` wide."""
        steps = len(self.glyphs.bar)
        full, part = divmod(round(min(max(share, 0.0), 1.0) * BAR_CELLS * steps), steps)
        return (self.glyphs.bar[-1] * full + self.glyphs.bar[:part][-1:]).ljust(BAR_CELLS)

    def put(self, text: str, style: Style = PLAIN) -> None:
        """Add a piece to the line."""
        self._line.append(Segment(text, style))

    def end_line(self) -> None:
        """End the line, without blanks at its end; many lines are written before more are held."""
        while len(self._line) > 0:
            text, style, _ = self._line.pop()
            text = text.rstrip(" ")
            if text != "":
                self._line.append(Segment(text, style))
                break
        self._segments += self._line
        self._segments.append(Segment.line())
        self._line = []
        if len(self._segments) >= SEGMENTS_HELD:
            self.show()

    def phrase(self, *pieces: tuple[str, Style]) -> None:
        """Add differently styled texts as lines of their own, wrapped as one."""
        text = "".join(piece for piece, _ in pieces)
        end = 0
        for line in self.fill(text, self.width):
            start = text.index(line, end)
            end = start + len(line)
            at = 0
            for piece, style in pieces:
                self.put(piece[max(0, start - at) : max(0, end - at)], style)
                at += len(piece)
            self.end_line()

    def paragraph(self, text: str, style: Style = PLAIN, *, most: int | None = None, indent: int = 0) -> None:
        """Add shown text as lines of their own."""
        for line in self.fill(text, self.width - indent, most):
            self.put(" " * indent)
            self.put(line, style)
            self.end_line()

    def side_by_side(self, cells: Sequence[_Cell], gap: int = GAP) -> None:
        """Add wrapped texts beside each other, each padded to its width."""
        for lines in zip_longest(*(cell.lines for cell in cells), fillvalue=""):
            for text, cell in zip(lines, cells, strict=True):
                padding = " " * (cell.width - _cells(text) + gap)
                self.put(text + padding, cell.style if text != "" else PLAIN)
            self.end_line()

    def show(self) -> None:
        """Write the lines. Rich itself must not: it ends the program at a broken pipe, with a code (X2)."""
        painted = io.StringIO()
        console = _console(painted, self.width, self._color)
        console.print(Segments(self._segments), end="", crop=False)
        self._segments = []
        self._stream.write(painted.getvalue())


class _Cell(NamedTuple):
    lines: list[str]
    width: int
    style: Style = PLAIN


def _console(file: TextIO, width: int, color: bool) -> Console:
    """Return a console that adds nothing to what it is given, and colours it only if told to (X4, X5)."""
    return Console(
        file=file,
        width=width,
        color_system="standard" if color else None,
        force_terminal=color,
        no_color=not color,
        force_interactive=False,
        force_jupyter=False,
        legacy_windows=False,
        soft_wrap=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def percept_table(rows: Sequence[Row], *, stream: TextIO, width: int, color: bool) -> None:
    """Print percepts as a table fitted to the width, stacked below `STACKED_BELOW` columns (X4).

    Content takes up to `CONTENT_LINES` lines and is cropped with an ellipsis. Columns that would leave it
    too little are left out, the least telling first. Without rows nothing is printed.
    """
    screen = _Screen(stream, width, color)
    if len(rows) > 0 and width < STACKED_BELOW:
        _stacked(screen, rows, _row_facts)
    elif len(rows) > 0:
        _table(screen, rows, _COLUMNS, _GIVEN_UP)
    screen.show()


class _Column(NamedTuple):
    """A column of a table of anything that has an id and content, and where two share one, of both."""

    head: str
    text: Callable[[_Screen, Any], str]
    style: Callable[[Any], Style] = lambda row: PLAIN
    is_number: bool = False


def _standing_style(row: Row) -> Style:
    return STANDINGS.get(row.standing, PLAIN)


_COLUMNS = (
    _Column("id", lambda screen, row: screen.stored(row.id), lambda row: ID),
    _Column("scope", lambda screen, row: screen.stored(row.scope)),
    _Column("w", lambda screen, row: f"{screen.bar(row.w)} {row.w:.2f}"),
    _Column("rank", lambda screen, row: f"{row.rank:.3f}", is_number=True),
    _Column("evidence", lambda screen, row: str(row.evidence), is_number=True),
    _Column("age", lambda screen, row: screen.stored(row.age), lambda row: DIM),
    _Column("standing", lambda screen, row: screen.stored(row.standing), _standing_style),
)
_GIVEN_UP = ("scope", "evidence", "rank", "age")


def _table(
    screen: _Screen, rows: Sequence[Row | Outlook], of: Sequence[_Column], given_up: Sequence[str]
) -> None:
    texts = {column.head: [column.text(screen, row) for row in rows] for column in of}
    longest = dict.fromkeys(texts, LONGEST_CELL) | {"id": max(LONGEST_CELL, int(screen.width * ID_SHARE))}
    widths = {head: max(len(head), min(longest[head], max(map(_cells, texts[head])))) for head in texts}
    for head in given_up:
        if _left(screen, widths) >= screen.width * CONTENT_SHARE:
            break
        del widths[head]
    widths["id"] -= min(widths["id"] - 1, max(0, LEAST_CONTENT - _left(screen, widths)))
    content_width = _left(screen, widths)
    columns = [column for column in of if column.head in widths]

    def cell(column: _Column, text: str, style: Style) -> _Cell:
        width = widths[column.head]
        return _Cell(screen.fill(text.rjust(width) if column.is_number else text, width), width, style)

    heads = [cell(column, column.head, DIM) for column in columns]
    screen.side_by_side([*heads, _Cell(["content"], content_width, DIM)])
    for at, row in enumerate(rows):
        cells = [cell(column, texts[column.head][at], column.style(row)) for column in columns]
        content = screen.glance(row.content, content_width * CONTENT_LINES)
        cells.append(_Cell(screen.fill(content, content_width, CONTENT_LINES), content_width))
        screen.side_by_side(cells)


def _left(screen: _Screen, widths: Mapping[str, int]) -> int:
    return screen.width - sum(width + GAP for width in widths.values())


def _row_facts(screen: _Screen, row: Row) -> tuple[tuple[str, Style], ...]:
    return (
        (f"{screen.bar(row.w)} {row.w:.2f} ", PLAIN),
        (screen.stored(row.standing), _standing_style(row)),
        (screen.glyphs.between + screen.stored(row.age), DIM),
    )


def _stacked(
    screen: _Screen,
    rows: Sequence[Row | Outlook],
    facts_of: Callable[[_Screen, Any], tuple[tuple[str, Style], ...]],
) -> None:
    for row in rows:
        id = screen.stored(row.id)
        facts = facts_of(screen, row)
        if _cells(id) + 1 + sum(_cells(text) for text, _ in facts) <= screen.width:
            screen.phrase((id, ID), (" ", PLAIN), *facts)
        else:
            screen.phrase((id, ID))
            screen.phrase(*facts)
        content = screen.glance(row.content, screen.width * CONTENT_LINES)
        screen.paragraph(content, most=CONTENT_LINES, indent=GAP)


def forecast_table(rows: Sequence[Outlook], *, stream: TextIO, width: int, color: bool) -> None:
    """Print what comes next for percepts, fitted to the width as `percept_table` is."""
    screen = _Screen(stream, width, color)
    if len(rows) > 0 and width < STACKED_BELOW:
        _stacked(screen, rows, _outlook_facts)
    elif len(rows) > 0:
        _table(screen, rows, _OUTLOOK_COLUMNS, ("scope",))
    screen.show()


_NOTHING_COMES = "nothing"


def _event_style(row: Outlook) -> Style:
    return _EVENTS[row.event][1] if row.event in _EVENTS else DIM


_OUTLOOK_COLUMNS = (
    *_COLUMNS[:3],
    _Column("next", lambda screen, row: screen.stored(row.event or _NOTHING_COMES), _event_style),
    _Column("in", lambda screen, row: screen.stored(row.when), is_number=True),
)


def _outlook_facts(screen: _Screen, row: Outlook) -> tuple[tuple[str, Style], ...]:
    return (
        (f"{screen.bar(row.w)} {row.w:.2f} ", PLAIN),
        (screen.stored(row.event or _NOTHING_COMES), _event_style(row)),
        (screen.glyphs.between + screen.stored(row.when) if row.when != "" else "", DIM),
    )


def forecast_detail(
    *,
    id: str,
    scope: str,
    standing: str,
    content: str,
    lines: Sequence[tuple[str, str]],
    points: Sequence[tuple[float, float]],
    levels: Mapping[str, float],
    end: str,
    stream: TextIO,
    width: int,
    color: bool,
) -> None:
    """Print what is to come of one percept: a time and an event a line, and w over running days as a curve.

    `points` are running time and w, `end` is the last time in words; `levels` are the thresholds to draw in,
    by their names.
    """
    screen = _Screen(stream, width, color)
    _title(screen, id, scope, standing, content)
    _pairs(screen, [(screen.words(label), screen.words(text)) for label, text in lines], GAP)
    if len(points) > 1:
        screen.end_line()
        for line in curve.draw(
            points, levels, width, end, " of running time", braille=screen.glyphs is _UNICODE
        ):
            screen.put(line)
            screen.end_line()
    screen.show()


def comparison(
    heads: Sequence[str],
    groups: Sequence[tuple[str, Sequence[tuple[str, Sequence[str]]]]],
    *,
    stream: TextIO,
    width: int,
    color: bool,
) -> None:
    """Print settings side by side: groups of rows, each with a label and a text for each setting.

    Where a setting would get too little room, they stand below each other.
    """
    screen = _Screen(stream, width, color)
    labels = max((_cells(label) for _, rows in groups for label, _ in rows), default=0)
    room = width - GAP - labels
    longest = max((_cells(screen.words(word)) for head in heads for word in head.split()), default=0)
    beside = room // len(heads) - GAP >= max(LEAST_SETTING, longest)
    parts = [range(len(heads))] if beside else [range(at, at + 1) for at in range(len(heads))]
    for part in parts:
        column = min(room // len(part) - GAP, WIDEST_SETTING)

        def row(
            label: str, texts: Sequence[str], style: Style, part: range = part, column: int = column
        ) -> None:
            cells = [_Cell(screen.fill(screen.words(texts[at]), column), column, style) for at in part]
            screen.side_by_side([_Cell([""], 0), _Cell([label], labels, DIM), *cells])

        if part.start > 0:
            screen.end_line()
        row("", heads, BOLD)
        for title, rows in groups:
            screen.phrase((screen.stored(title), BOLD))
            for label, texts in rows:
                row(screen.stored(label), texts, PLAIN)
    screen.show()


def paragraphs(texts: Sequence[str], *, stream: TextIO, width: int, color: bool) -> None:
    """Print texts, each wrapped as a paragraph of its own."""
    screen = _Screen(stream, width, color)
    for text in texts:
        screen.paragraph(screen.words(text))
    screen.show()


def finding_list(
    findings: Sequence[tuple[str, str, str, str]], *, stream: TextIO, width: int, color: bool
) -> None:
    """Print what was looked at: how it is, what it is about, in words, and the command that comes next."""
    screen = _Screen(stream, width, color)
    level_width = max((_cells(level) for level, *_ in findings), default=0)
    abouts = [screen.stored(about) for _, about, _, _ in findings]
    about_width = min(LONGEST_CELL, max(map(_cells, abouts), default=0))
    text_width = width - level_width - about_width - 2 * GAP
    for (level, _, text, command), about in zip(findings, abouts, strict=True):
        screen.side_by_side(
            [
                _Cell([level], level_width, _LEVELS.get(level, PLAIN)),
                _Cell(screen.fill(about, about_width), about_width),
                _Cell(screen.fill(screen.words(text), text_width), text_width),
            ]
        )
        if command != "":
            screen.paragraph(screen.stored(command), ID, indent=level_width + GAP)
    screen.show()


_LEVELS = {"ok": GOOD, "problem": BAD}


def _title(screen: _Screen, id: str, scope: str, standing: str, content: str) -> None:
    screen.phrase(
        (screen.stored(id), ID),
        (" " * GAP + screen.stored(scope) + screen.glyphs.between, DIM),
        (screen.stored(standing), STANDINGS.get(standing, PLAIN)),
    )
    screen.paragraph(screen.stored(content), BOLD)


def percept_detail(
    percept: Mapping[str, object],
    *,
    id: str,
    scope: str,
    standing: str,
    lines: Sequence[tuple[str, str]],
    edges: Sequence[EdgeRow],
    notes: Mapping[str, str],
    stream: TextIO,
    width: int,
    color: bool,
) -> None:
    """Print one percept in full: its content, every stored field, its standing, its edges (section 15).

    `percept` is the stored object, `id` the printed id, `standing` the standing word. `lines` are the labels
    and texts that explain it, the rank itself in its label: `("rank 1.001", "= w 0.850 …")`,
    `("promotion", "w 0.85 ≥ …")`. `notes` are words to show behind fields: `{"updated_at": "3d ago"}`.
    """
    screen = _Screen(stream, width, color)
    _title(screen, id, scope, standing, str(percept["content"]))
    fields = [
        (screen.stored(name), screen.stored(_as_text(value)) + screen.words(_note(notes, name)))
        for name, value in percept.items()
        if name != "content"
    ]
    _pairs(screen, fields, GAP)
    _pairs(screen, [(screen.words(label), screen.words(text)) for label, text in lines], 1)
    if len(edges) > 0:
        screen.end_line()
        _edge_tree(screen, edges)
    screen.show()


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _note(notes: Mapping[str, str], name: str) -> str:
    return f" ({notes[name]})" if name in notes else ""


def _pairs(screen: _Screen, pairs: Sequence[tuple[str, str]], gap: int) -> None:
    """Print a blank line, then labels and texts side by side, both wrapped."""
    if len(pairs) == 0:
        return
    screen.end_line()
    label_width = min(LONGEST_CELL, max(_cells(label) for label, _ in pairs))
    text_width = screen.width - label_width - gap
    for label, text in pairs:
        label_cell = _Cell(screen.fill(label, label_width), label_width, DIM)
        screen.side_by_side([label_cell, _Cell(screen.fill(text, text_width), text_width)], gap)


def _edge_tree(screen: _Screen, edges: Sequence[EdgeRow]) -> None:
    """Print the edges as branches: relation, direction, other end, and its content, beside it or below."""
    glyphs = screen.glyphs
    screen.paragraph("edges", DIM)
    relations = [screen.stored(edge.relation) for edge in edges]
    ids = [screen.stored(edge.id) for edge in edges]
    relation_width = min(LONGEST_CELL, max(map(_cells, relations)))
    id_width = min(LONGEST_CELL, max(map(_cells, ids)))
    indent = len(glyphs.branch) + 1
    beside = screen.width - indent - relation_width - 1 - len(glyphs.outgoing) - 1 - id_width - GAP
    for edge, relation, id in zip(edges, relations, ids, strict=True):
        is_last = edge is edges[-1]
        facts = [
            _Cell(screen.fill(relation, relation_width), relation_width),
            _Cell([glyphs.outgoing if edge.outgoing else glyphs.incoming], len(glyphs.outgoing), DIM),
            _Cell(screen.fill(id, id_width), id_width + GAP - 1, ID),
        ]
        content = "(not at hand)" if edge.content is None else screen.glance(edge.content, screen.width)
        style = DIM if edge.content is None else PLAIN
        if screen.width < STACKED_BELOW:
            below = screen.width - indent
            rows = [facts, [_Cell(screen.fill(content, below, 1), below, style)]]
        else:
            rows = [[*facts, _Cell(screen.fill(content, beside, 1), beside, style)]]
        branch = glyphs.last_branch if is_last else glyphs.branch
        stem = "" if is_last else glyphs.stem
        for cells in rows:
            height = max(len(cell.lines) for cell in cells)
            screen.side_by_side([_Cell([branch, *[stem] * (height - 1)], len(branch), DIM), *cells], 1)
            branch = stem.ljust(len(branch))


def change_list(
    changes: Sequence[Change],
    counts: Mapping[str, int],
    *,
    dry_run: bool,
    stream: TextIO,
    width: int,
    color: bool,
) -> None:
    """Print what a pass did: a sentence and the content for each change, then the counts (section 10).

    `counts` are those of step 7 by their names; the ones that are 0 are not mentioned.
    """
    screen = _Screen(stream, width, color)
    for change in changes:
        verb, style, rest = _EVENTS.get(change.event, (change.event, PLAIN, ""))
        because = _with_weights(change.event, change.reason, change.w_before, change.w_after)
        screen.phrase(
            (f"{screen.stored(verb)} ", style),
            (screen.stored(change.id), ID),
            (screen.words(f"{rest}: {because}" if because != "" else rest), PLAIN),
        )
        content = screen.glance(change.content, width)
        screen.paragraph(content, DIM, most=1, indent=GAP)
    counted = [f"{counts[name]} {words}" for name, words in _COUNTED.items() if counts.get(name, 0) != 0]
    summary = screen.glyphs.between.join(counted) if len(counted) > 0 else "nothing changed"
    screen.paragraph(f"dry run, nothing written: {summary}" if dry_run else summary)
    screen.show()


def told(event: str, because: str, w_before: float, w_after: float) -> str:
    """Return an event of section 16 in words, without whom it befalls."""
    verb, _, rest = _EVENTS.get(event, (event, PLAIN, ""))
    because = _with_weights(event, because, w_before, w_after)
    return f"{verb}{rest}: {because}" if because != "" else f"{verb}{rest}"


def _with_weights(event: str, because: str, w_before: float, w_after: float) -> str:
    if event not in _MOVES_WEIGHT:
        return because
    weights = f"w {w_before:.2f} → {w_after:.2f}"
    return f"{weights}, {because}" if because != "" else weights


# What is said of each event of section 16: the verb, its colour, and where the percept went.
_EVENTS = {
    "promoted": ("promoted", GOOD, " to global"),
    "deferred": ("held back", PLAIN, ""),
    "pruned": ("pruned", BAD, " from the session"),
    "archived": ("archived", PLAIN, " from global"),
    "evicted": ("evicted", BAD, " from global"),
    "boosted": ("boosted", PLAIN, ""),
    "penalized": ("penalized", PLAIN, ""),
}
_MOVES_WEIGHT = ("boosted", "penalized")

_COUNTED = {
    "promoted": "promoted",
    "promotion_deferred": "held back",
    "pruned": "pruned",
    "archived": "archived",
    "evicted": "evicted",
    "decayed": "decayed in the session",
    "global_decayed": "decayed in global",
}


def config_rows(rows: Sequence[tuple[str, str, str]], *, stream: TextIO, width: int, color: bool) -> None:
    """Print each setting's name, value and origin, the origin below where it does not fit beside."""
    screen = _Screen(stream, width, color)
    shown = [tuple(map(screen.stored, row)) for row in rows]
    name_width = min(LONGEST_NAME, max((_cells(name) for name, _, _ in shown), default=0))
    value_width = min(LONGEST_CELL, max((_cells(value) for _, value, _ in shown), default=0))
    for name, value, origin in shown:
        beside = [
            _Cell([name], name_width),
            _Cell([value], value_width, BOLD),
            _Cell([origin], width - name_width - value_width - 2 * GAP, DIM),
        ]
        if all(_cells(cell.lines[0]) <= cell.width for cell in beside):
            screen.side_by_side(beside)
        else:
            screen.phrase((name.ljust(name_width) + " " * GAP, PLAIN), (value, BOLD))
            screen.paragraph(origin, DIM, indent=2 * GAP)
    screen.show()


def choice_list(choices: Sequence[Choice], *, stream: TextIO, width: int, color: bool) -> None:
    """Print candidates with numbers from 1 on, each with its content in one line (G2)."""
    screen = _Screen(stream, width, color)
    shown = [(screen.stored(choice.id), screen.stored(choice.scope)) for choice in choices]
    number_width = len(str(len(choices)))
    id_width = min(LONGEST_CELL, max((_cells(id) for id, _ in shown), default=0))
    scope_width = min(LONGEST_CELL, max((_cells(scope) for _, scope in shown), default=0))
    content_width = width - number_width - id_width - scope_width - 3 * GAP
    for at, (choice, (id, scope)) in enumerate(zip(choices, shown, strict=True)):
        number = str(at + 1).rjust(number_width)
        if width < STACKED_BELOW:
            screen.phrase((number + " " * GAP, PLAIN), (id, ID), (" " * GAP + scope, DIM))
            content = screen.glance(choice.content, width)
            screen.paragraph(content, most=1, indent=number_width + GAP)
        else:
            content = screen.glance(choice.content, content_width)
            screen.side_by_side(
                [
                    _Cell([number], number_width),
                    _Cell(screen.fill(id, id_width), id_width, ID),
                    _Cell(screen.fill(scope, scope_width), scope_width, DIM),
                    _Cell(screen.fill(content, content_width, 1), content_width),
                ]
            )
    screen.show()


def conflict_list(
    pairs: Sequence[tuple[Choice, Choice, Sequence[str]]], *, stream: TextIO, width: int, color: bool
) -> None:
    """Print live contradictions as pairs, each with the commands that would end it (P3)."""
    screen = _Screen(stream, width, color)
    for one, other, commands in pairs:
        screen.end_line()
        screen.phrase(
            ("contradiction ", BAD),
            (screen.stored(one.id), ID),
            (" and ", PLAIN),
            (screen.stored(other.id), ID),
        )
        for side in (one, other):
            screen.paragraph(screen.glance(side.content, width), most=1, indent=GAP)
        for command in commands:
            screen.paragraph(screen.stored(command), DIM, indent=GAP)
    screen.show()


def _fill(text: str, width: int, most: int | None, ellipsis: str) -> list[str]:
    lines: list[str] = []
    while True:
        end = _fit(text, width)
        if end == len(text):
            return lines if text == "" and len(lines) > 0 else [*lines, text]
        if most is not None and len(lines) == most - 1:
            return [*lines, text[: _fit(text, width - len(ellipsis))].rstrip(" ") + ellipsis]
        end, start = _break(text, end, width)
        lines.append(text[:end])
        text = text[start:]


def _break(text: str, end: int, width: int) -> tuple[int, int]:
    """Return where the line that can reach to `end` ends, and where the next one starts.

    That is at a blank. A word that does not fit a line of its own either is broken, if what it gets of this
    line is worth it.
    """
    if text[end] == " ":
        return end, end + 1
    blank = text.rfind(" ", 0, end)
    word = text[blank + 1 :].partition(" ")[0]
    if blank <= 0 or (_fit(word, width) < len(word) and end - blank > width * PIECE_SHARE):
        return end, end
    return blank, blank + 1


def _fit(text: str, width: int) -> int:
    """Return how many characters of `text` fit `width` cells: at least one, what is drawn as one whole."""
    if text[: width + 1].isascii():
        return min(len(text), width)
    end = cells = 0
    for at, character in enumerate(text):
        if at > 0 and not _joined(text, at):
            end = at
        cells += _size(character)
        if cells > width:
            return end if end > 0 else max(at, 1)
    return len(text)


_JOINER = "\u200d"
_EMOJI_STYLE = "\ufe0f"
_SKIN_TONES = ("\U0001f3fb", "\U0001f3ff")
_FLAG_LETTERS = ("\U0001f1e6", "\U0001f1ff")


def _joined(text: str, at: int) -> bool:
    """Return whether the character at `at` is drawn as one with the one before it."""
    character = text[at]
    if character.isascii():
        return False
    if unicodedata.category(character) in ("Mn", "Me", "Mc", "Cf") or text[at - 1] == _JOINER:
        return True
    if _FLAG_LETTERS[0] <= character <= _FLAG_LETTERS[1]:
        letters = 0
        while letters < at and _FLAG_LETTERS[0] <= text[at - letters - 1] <= _FLAG_LETTERS[1]:
            letters += 1
        return letters % 2 == 1
    return _SKIN_TONES[0] <= character <= _SKIN_TONES[1]


def _cells(text: str) -> int:
    """Return the most cells that a terminal may need for the text."""
    return len(text) if text.isascii() else sum(map(_size, text))


@lru_cache(maxsize=4096)
def _size(character: str) -> int:
    """Return the most cells a terminal may need for a character, joined or not.

    Rich knows the width of what is drawn as one (a family, a letter with its vowel signs, a skin tone);
    terminals that do not join need more, and the Unicode version of each is its own.
    """
    if character == _EMOJI_STYLE:
        return 1
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        least = 0
    else:
        least = 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return max(least, get_character_cell_size(character))
