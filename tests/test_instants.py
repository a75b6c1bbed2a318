"""Instants and durations: what milk reads as a time, and no more."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milkmem import instants

TIMES = json.loads((Path(__file__).parent / "data" / "milk" / "json_times.json").read_text(encoding="utf-8"))
TAKEN = [case for case in TIMES if case["result"] == "ok"]
REFUSED = [case["input"] for case in TIMES if case["result"] != "ok"]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
PLAIN = "2026-07-01T12:00:00Z"
FIRST = instants.parse("0000-01-01T00:00:00Z")
LAST = instants.parse("9999-12-31T23:59:59.999999999Z")

MORE_REFUSED = [
    "2026-07-01T12:00:00+24:59",
    "2026-07-01T12:00:00+23:60",  # milk would write +24:00, which it cannot
    "2026-07-01T12:00:00-24:00",
    "2026-07-01T12:00:00+05:61",
    "2026-07-01T12:00:00+25:00",
    "2026-07-01T12:00:00*05:30",
    "2026-07-01T12:00:00+0a:30",
    "2026-07-01T12:00:00+05-30",
    "2026-07-01T12:00:00,Z",
    "2026-07-01T12:00:00.5",
    "2026-07-01T12:00:00.5.5Z",
    "2026-07-01T12:00:00.\u0665Z",
    "2026-07-01T12:60:00Z",
    "2026-07-01T12:00:60Z",
    "2026-07-01T:0:00:00Z",
    "2026-07-01T12:0:00Z",
    "2026-07-01T12:00:0Z",
    "2026-07-01T12:00:0\u0660Z",
    "2026-07-01T-1:00:00Z",
    "2026-07-01T12-00:00Z",
    "2026-07-01T12:00:00ZZ",
    "2026-07-01T12:00:00Z\n",
    "2026-00-01T12:00:00Z",
    "2026-07-00T12:00:00Z",
    "2026-07-32T12:00:00Z",
    "2026-06-31T12:00:00Z",
    "2024-06-31T12:00:00Z",
    "2024-01-32T12:00:00Z",
    "1900-02-29T12:00:00Z",
    "2026/07/01T12:00:00Z",
    "2026-7-01T12:00:00Z",
    "+026-07-01T12:00:00Z",
    "20_6-07-01T12:00:00Z",
]


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case["input"])
def test_reads_what_milk_reads(case: dict[str, str]) -> None:
    """F7: a time that milk loads is read, as the same instant as what milk writes for it."""
    assert instants.parse(case["input"]) == instants.parse(case["saved"])


@pytest.mark.parametrize("text", REFUSED + MORE_REFUSED)
def test_refuses_what_milk_refuses(text: str) -> None:
    """F7: a time that milk would refuse is refused, in words without the text (Z6)."""
    with pytest.raises(ValueError, match=r"^(not|no|a) ") as caught:
        instants.parse(text)
    assert text == "" or text not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999999Z", -1),
        ("2026-07-01T12:00:00Z", 1_782_907_200_000_000_000),
        ("2026-07-01T12:00:00.000000001Z", 1_782_907_200_000_000_001),
        ("2026-07-01T12:00:00,5Z", 1_782_907_200_500_000_000),
        ("2026-07-01T12:00:00.9999999999Z", 1_782_907_200_999_999_999),
        ("2026-07-01T12:00:00+05:30", 1_782_887_400_000_000_000),
        ("2026-07-01T12:00:00-04:00", 1_782_921_600_000_000_000),
        ("2026-07-01T9:00:00Z", 1_782_896_400_000_000_000),
        ("0000-02-29T00:00:00Z", -62_162_121_600_000_000_000),
        ("2000-02-29T00:00:00Z", 951_782_400_000_000_000),
    ],
)
def test_an_instant_is_nanoseconds_since_the_epoch(text: str, instant: int) -> None:
    """F3: nine fraction digits and zone offsets count exactly, before 1970 and in year 0 too."""
    assert instants.parse(text) == instant


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.datetimes(timezones=st.just(UTC)))
def test_agrees_with_the_standard_library(moment: datetime) -> None:
    """F3: where `datetime` can say it, both say the same."""
    text = moment.isoformat().replace("+00:00", "Z")
    assert instants.parse(text) == (moment - EPOCH) // timedelta(microseconds=1) * 1_000


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.integers(FIRST, LAST))
def test_what_is_written_is_read_back(instant: int) -> None:
    """18: a written time is read back exactly, in milk's form, which milk can load (Z7)."""
    text = instants.format(instant)
    assert instants.parse(text) == instant
    assert instants.all_valid([text] * 64)
    assert ".0Z" not in text
    assert not text.endswith("0Z") or "." not in text


@pytest.mark.parametrize("case", TAKEN, ids=lambda case: case["input"])
def test_writes_what_milk_writes(case: dict[str, str]) -> None:
    """18: times in UTC are written as milk writes them."""
    if case["saved"].endswith("Z"):
        assert instants.format(instants.parse(case["saved"])) == case["saved"]


@pytest.mark.parametrize("instant", [FIRST - 1, LAST + 1])
def test_writes_no_time_beyond_the_years_of_four_digits(instant: int) -> None:
    """Z7: a year that milk could not load is not written."""
    with pytest.raises(ValueError, match="years"):
        instants.format(instant)


@pytest.mark.parametrize("text", [*(case["input"] for case in TIMES), *MORE_REFUSED, f"{PLAIN}\n{PLAIN}"])
@pytest.mark.parametrize("others", [0, 100])
def test_many_times_are_judged_as_each_is(text: str, others: int) -> None:
    """F7: a time among very many is taken or refused as it would be alone."""
    try:
        instants.parse(text)
        alone = True
    except ValueError:
        alone = False
    assert instants.all_valid([*[PLAIN] * others, text, *[PLAIN] * others]) is alone


def test_no_times_are_all_valid() -> None:
    """F7: there is nothing wrong with no times."""
    assert instants.all_valid([])


def test_a_typed_day_is_its_utc_midnight() -> None:
    """X9: input is RFC 3339 or `YYYY-MM-DD`."""
    assert instants.parse_input("2026-07-01") == instants.parse("2026-07-01T00:00:00Z")
    assert instants.parse_input("2026-07-01T12:00:00+05:30") == instants.parse("2026-07-01T12:00:00+05:30")


@pytest.mark.parametrize("text", ["", "now", "2026-07-01T12:00", "2026-02-30", "01.07.2026", "1782907200"])
def test_a_wrongly_typed_time_says_what_is_taken(text: str) -> None:
    """X9: what is no time is refused in words that say what is."""
    with pytest.raises(ValueError, match="YYYY-MM-DD"):
        instants.parse_input(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90.0),
        ("15m", 900.0),
        ("2h", 7_200.0),
        ("1.5d", 129_600.0),
        ("0s", 0.0),
        ("0.25m", 15.0),
        ("007s", 7.0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """R4: a duration is a number and one of the units s, m, h, d."""
    assert instants.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "s", "90", "-1s", "+1s", "1e3s", "nans", "infd", "1 h", " 1h", "1h ", "1.s", ".5s", "1.2.3s", "1w",
     "1H", "1_0s", "\u0661s", "1.\u0661s", "1h30m", "9" * 400 + "d"],
)  # fmt: skip
def test_wrong_durations(text: str) -> None:
    """R4: what is no finite duration of at least 0 is refused in words."""
    with pytest.raises(ValueError, match="duration"):
        instants.parse_duration(text)
