"""A curve of w over time in text: one line a row, braille dots where the encoding has them, else stars."""

from __future__ import annotations

from itertools import pairwise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ROWS = 10
_BRAILLE = 0x2800
# The bits of a braille cell: four rows of a left and a right dot.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
# A level is drawn dashed: so many columns of dots on, as many off.
_DASH = 2


def draw(
    points: Sequence[tuple[float, float]],
    levels: Mapping[str, float],
    width: int,
    end: str,
    unit: str,
    *,
    braille: bool,
) -> list[str]:
    """Return the lines of a curve through points of time and w in [0,1], at least two, times rising.

    `levels` are drawn as dashed lines, their value before and their name behind them; `end` stands at the end
    of the axis, and `unit` behind it where there is room. No line is wider than `width` columns.
    """
    across, down = (len(_DOTS[0]), len(_DOTS)) if braille else (1, 1)
    names = _by_row(levels)
    gutter = len("0.00 ┤")
    behind = max((len(name) for name in names.values()), default=0)
    columns = width - gutter - behind - (1 if behind > 0 else 0)
    rows = ROWS * down
    canvas = [[0] * (columns * across) for _ in range(rows)]
    for level in levels.values():
        for x in range(columns * across):
            if x // _DASH % 2 == 0:
                canvas[_row(level, rows)][x] = 1
    for x, y in _dots(points, columns * across, rows):
        canvas[y][x] = 2
    labels = {0: "1.00", ROWS - 1: "0.00", **{_row(level, ROWS): f"{level:.2f}" for level in levels.values()}}
    tick, side, corner, axis = ("┤", "│", "└", "─") if braille else ("+", "|", "+", "-")
    lines = []
    for row in range(ROWS):
        cells = canvas[row * down : (row + 1) * down]
        body = "".join(_cell(cells, column * across, across, braille) for column in range(columns))
        label = f"{labels.get(row, ''):4} {tick if row in labels else side}"
        lines.append(f"{label}{body} {names.get(row, '')}".rstrip())
    lines.append(" " * (gutter - 1) + corner + axis * columns)
    begin = "0"
    if len(begin) + 1 + len(end) + len(unit) <= columns:
        end += unit
    lines.append((" " * gutter + begin + end.rjust(columns - len(begin))).rstrip())
    return lines


def _by_row(levels: Mapping[str, float]) -> dict[int, str]:
    """Return the names of the levels by the row that each is in; of two in one row, both."""
    names: dict[int, str] = {}
    for name, level in levels.items():
        row = _row(level, ROWS)
        names[row] = f"{names[row]}, {name}" if row in names else name
    return names


def _row(w: float, rows: int) -> int:
    """Return the row of a weight, from the top."""
    return min(rows - 1, max(0, int((1 - w) * rows)))


def _dots(points: Sequence[tuple[float, float]], columns: int, rows: int) -> list[tuple[int, int]]:
    """Return the dots of the curve, those that join one column to the next among them."""
    begin, end = points[0][0], points[-1][0]
    dots = []
    before: int | None = None
    for x in range(columns):
        y = _row(_between(points, begin + (end - begin) * x / max(1, columns - 1)), rows)
        reach = (
            [y] if before is None else range(min(y, before + (y > before)), max(y, before - (y < before)) + 1)
        )
        dots += [(x, each) for each in reach]
        before = y
    return dots


def _between(points: Sequence[tuple[float, float]], at: float) -> float:
    for (before, w_before), (after, w_after) in pairwise(points):
        if at <= after:
            share = (at - before) / (after - before) if after > before else 1.0
            return w_before + (w_after - w_before) * share
    return points[-1][1]


def _cell(cells: Sequence[Sequence[int]], column: int, across: int, braille: bool) -> str:
    if not braille:
        return " -*"[cells[0][column]]
    drawn = max(max(row[column : column + across]) for row in cells)  # the curve goes before a level
    bits = 0
    for y, row in enumerate(cells):
        for x in range(across):
            if row[column + x] == drawn > 0:
                bits |= _DOTS[y][x]
    return " " if bits == 0 else chr(_BRAILLE + bits)
