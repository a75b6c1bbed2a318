"""Instants and durations: RFC 3339 text to nanoseconds and back, read exactly as milk reads it.

The day arithmetic is our own, because `datetime` has no year 0, no nanoseconds, and costs more to import
than a pass over a small memory. An instant is an `int`: nanoseconds since the Unix epoch, so that
differences are exact.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

NANOSECONDS = 1_000_000_000
SECONDS_PER_DAY = 86_400

# What `all_valid` takes at a glance; whatever else milk accepts is left to `parse`.
_COMMON = (
    r"(?:[0-9]{4}-"
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?"
    r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])\n)*+"
)
# From this many texts on, compiling the pattern above costs less than it saves.
_MANY = 64

_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EPOCH_DAY = 719_468
_FIGURES = "0123456789"
_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": float(SECONDS_PER_DAY)}


def parse(text: str) -> int:
    """Return the instant that an RFC 3339 text names, in nanoseconds since the Unix epoch (F3).

    Years 0000 to 9999 with a zone. As in milk, an hour may have one digit, a comma may stand for the
    point, and digits after the ninth are dropped. Raises ValueError for every time milk would refuse (F7).
    """
    if text[12:13] == ":":
        text = f"{text[:11]}0{text[11:]}"
    clock = text[11:13] + text[14:16] + text[17:19]
    if text[10:17:3] != "T::" or len(clock) != len("hhmmss") or not _are_figures(clock):
        raise ValueError("not an RFC 3339 time")
    hour, minute, second = int(clock[:2]), int(clock[2:4]), int(clock[4:])
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("no such time of day")
    zone = text[19:]
    nanoseconds = 0
    if zone.startswith((".", ",")):
        fraction = zone[1:]
        zone = fraction.lstrip(_FIGURES)
        if zone == fraction:
            raise ValueError("a point without digits behind it")
        nanoseconds = int(fraction[: len(fraction) - len(zone)][:9].ljust(9, "0"))
    seconds = _midnight(text[:10]) + hour * 3_600 + minute * 60 + second
    if zone != "Z":
        seconds -= _offset(zone)
    return seconds * NANOSECONDS + nanoseconds


def all_valid(texts: list[str]) -> bool:
    """Return whether `parse` takes every one of `texts`; quick for very many (F7)."""
    if len(texts) >= _MANY:
        lines = "\n".join(texts) + "\n"
        if lines.count("\n") == len(texts) and re.fullmatch(_COMMON, lines):
            return True
    try:
        for text in texts:
            parse(text)
    except ValueError:
        return False
    return True


def format(instant: int) -> str:
    """Return the UTC text of an instant: `Z`, up to nine fraction digits without trailing zeros (18).

    Raises ValueError for an instant outside the years 0000 to 9999, which milk could not load (Z7).
    """
    seconds, nanoseconds = divmod(instant, NANOSECONDS)
    days, seconds = divmod(seconds, SECONDS_PER_DAY)
    year, month, day = _date(days)
    if not 0 <= year <= 9_999:
        raise ValueError("outside the years 0000 to 9999")
    hour, seconds = divmod(seconds, 3_600)
    minute, second = divmod(seconds, 60)
    fraction = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    return f"{year:04d}-{month:02d}-{day:02d}T{hour:02d}:{minute:02d}:{second:02d}{fraction}Z"


def parse_input(text: str) -> int:
    """Return the instant a person typed: RFC 3339, or `YYYY-MM-DD` for UTC midnight (X9).

    Raises ValueError, with words that say what is taken.
    """
    try:
        return parse(f"{text}T00:00:00Z" if len(text) == len("YYYY-MM-DD") else text)
    except ValueError as error:
        raise ValueError(f"{error}; a time is YYYY-MM-DD or like 2026-07-01T12:00:00Z") from None


def parse_duration(text: str) -> float:
    """Return the seconds of a duration such as `90s`, `15m`, `2h` or `1.5d` (R4).

    Raises ValueError, with words that say what is taken.
    """
    number, unit = text[:-1], text[-1:]
    whole, point, part = number.partition(".")
    if unit not in _UNITS or not _are_figures(whole) or (point and not _are_figures(part)):
        raise ValueError("a duration is a number and a unit: 90s, 15m, 2h or 1.5d")
    seconds = float(number) * _UNITS[unit]
    if not math.isfinite(seconds):
        raise ValueError("that duration is too long")
    return seconds


def _are_figures(text: str) -> bool:
    return text.isascii() and text.isdigit()


@lru_cache(maxsize=1024)  # the percepts of a memory share their days
def _midnight(date: str) -> int:
    """Return the seconds from the epoch to the UTC midnight of a `YYYY-MM-DD`."""
    figures = date[:4] + date[5:7] + date[8:]
    if date[4:8:3] != "--" or len(figures) != len("YYYYMMDD") or not _are_figures(figures):
        raise ValueError("not an RFC 3339 time")
    year, month, day = int(figures[:4]), int(figures[4:6]), int(figures[6:])
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1] + (leap and month == 2):
        raise ValueError("no such day")
    # Years begin in March here, so that the leap day ends them.
    year -= month <= 2
    days = year * 365 + year // 4 - year // 100 + year // 400 + (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return (days - _EPOCH_DAY) * SECONDS_PER_DAY


def _date(days: int) -> tuple[int, int, int]:
    """Return year, month and day; the inverse of the sum in `_midnight`."""
    era, day = divmod(days + _EPOCH_DAY, 146_097)
    year = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    day -= 365 * year + year // 4 - year // 100
    month = (5 * day + 2) // 153
    day -= (153 * month + 2) // 5
    month = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month <= 2), month, day + 1


def _offset(zone: str) -> int:
    """Return the seconds east of Greenwich.

    milk takes 60 minutes, but cannot write an offset of a whole day, so that is refused (18).
    """
    if len(zone) != len("+hh:mm") or zone[0] not in "+-" or zone[3] != ":":
        raise ValueError("no zone such as Z or +01:00")
    if not _are_figures(zone[1:3] + zone[4:]):
        raise ValueError("no zone such as Z or +01:00")
    minutes = int(zone[4:])
    seconds = int(zone[1:3]) * 3_600 + minutes * 60
    if minutes > 60 or seconds >= SECONDS_PER_DAY:
        raise ValueError("no such zone offset")
    return -seconds if zone[0] == "-" else seconds
