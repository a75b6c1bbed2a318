"""Runs and the running time they measure: sittings, named runs, Δt, the records kept of them (section 4)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from builders import DAY, HOUR, NOW, SECOND, WORK, moment, run
from milkmem.knobs import PLACES_KEPT
from milkmem.percept import GLOBAL
from milkmem.runs import (
    Book,
    Moment,
    Run,
    elapsed,
    is_forgotten,
    is_over,
    measured_from,
    passed,
    sitting_at,
    touch,
)

if TYPE_CHECKING:
    from collections.abc import Callable

GAP = 120.0
MINUTE = 60.0


def sitting(book: Book, now: Moment, session: str = WORK, gap: float = GAP) -> Run:
    """Return the sitting that a command at this moment belongs to, as the store begins and notes it."""
    found = sitting_at(book, now, gap) or Run(f"sitting-{now.monotonic}", True, now)
    touch(book, found, session, now, gap)
    return found


def named(book: Book, name: str, now: Moment, session: str = WORK) -> Run:
    """Return a run that a caller named and that begins now."""
    begun = Run(name, False, now)
    touch(book, begun, session, now, GAP)
    return begun


def measured(book: Book, of: Run, now: Moment, session: str = WORK) -> tuple[float, float]:
    """Do a pass; return the Δt of the global store and of the session."""
    touch(book, of, session, now, GAP)
    found = elapsed(book, of, GLOBAL, now)[0], elapsed(book, of, session, now)[0]
    passed(book, session, now)
    return found


# Sittings


def test_no_sitting_yet() -> None:
    """R1: without an earlier command there is no sitting."""
    assert sitting_at(Book(), moment(0), GAP) is None


def test_sitting_goes_on() -> None:
    """R1: commands at most run_gap_minutes apart are one sitting, however long it gets."""
    book = Book()
    first = sitting(book, moment(0))
    for turn in range(1, 6):
        assert sitting(book, moment(turn * 120 * MINUTE)) is first
    assert first.started.monotonic == 0
    assert first.active.monotonic == 600 * 60 * SECOND


def test_sitting_ends() -> None:
    """R1: a silence longer than the gap begins a new sitting, which may award anew."""
    book = Book()
    first = sitting(book, moment(0))
    first.award("a")
    second = sitting(book, moment(120 * MINUTE + 0.001))
    assert second is not first
    assert book.sitting is second
    assert second.award("a")


def test_new_sitting_takes_over_nonces() -> None:
    """R3: a new sitting takes over the nonces of the one before; its own stand; a named run has its own."""
    book = Book()
    sitting(book, moment(0)).nonces = {"a": "1", "b": "2"}
    assert named(book, "agent", moment(10)).nonces == {}
    second = Run("sitting", True, moment(5 * HOUR))
    second.nonces = {"b": "3"}
    touch(book, second, WORK, second.started, GAP)
    assert second.nonces == {"a": "1", "b": "3"}
    assert second.awarded == set()


def test_gap_is_a_knob() -> None:
    """R1: the gap is run_gap_minutes."""
    book = Book()
    first = sitting(book, moment(0), gap=5.0)
    assert sitting_at(book, moment(5 * MINUTE), 5.0) is first
    assert sitting_at(book, moment(5 * MINUTE + 1), 5.0) is None


def test_sitting_over_sessions() -> None:
    """R1: the sitting belongs to the data directory, whatever session a command names."""
    book = Book()
    first = sitting(book, moment(0), "one")
    assert sitting(book, moment(10), "two") is first
    assert {name: begun.monotonic for name, begun in first.named.items()} == {"one": 0, "two": 10 * SECOND}


def test_first_naming_stays() -> None:
    """R4: a session counts from where this run first named it, not from later commands."""
    book = Book()
    first = sitting(book, moment(0))
    sitting(book, moment(10))
    assert first.named[WORK].monotonic == 0


@pytest.mark.parametrize(
    "later",
    [moment(60, boot="other"), moment(1), moment(60, boot="")],
    ids=["another boot", "a clock that begins anew", "a boot without a name"],
)
def test_reboot_ends_sitting(later: Moment) -> None:
    """R1: a reboot begins a new sitting, however soon."""
    book = Book()
    sitting(book, moment(30))
    assert sitting_at(book, later, GAP) is None


def test_suspend_is_no_silence() -> None:
    """R4: with a boot id only the monotonic clock counts: suspend and clock steps are no silence."""
    book = Book()
    first = sitting(book, moment(0))
    assert sitting(book, moment(60, wall=9 * HOUR)) is first
    assert sitting(book, moment(120, wall=-9 * HOUR)) is first


def test_named_run_keeps_sitting() -> None:
    """R1: the commands of a named run keep the sitting going, and do not become it."""
    book = Book()
    first = sitting(book, moment(0))
    other = named(book, "agent", moment(100 * MINUTE))
    assert book.sitting is first
    assert other.active.monotonic == 100 * 60 * SECOND
    assert sitting(book, moment(200 * MINUTE)) is first


def test_named_run_is_active() -> None:
    """R3, R5: every command of a named run dates its record, or the record would be forgotten under it."""
    book = Book()
    other = named(book, "agent", moment(0))
    touch(book, other, WORK, moment(40 * DAY), GAP)
    assert (other.started.monotonic, other.active.monotonic) == (0, 40 * 86_400 * SECOND)
    assert not is_forgotten(other, moment(41 * DAY))


def test_named_run_revives_no_sitting() -> None:
    """R1: a named run's command does not bring a sitting back that the silence has ended, nor begin one."""
    book = Book()
    named(book, "early", moment(0))
    assert book.sitting is None
    first = sitting(book, moment(0))
    named(book, "agent", moment(130 * MINUTE))
    assert first.active.monotonic == 0
    assert sitting(book, moment(131 * MINUTE)) is not first


# Named runs


def test_named_run_lasts() -> None:
    """R2: no silence ends a named run."""
    assert not is_over(run(seconds=5), moment(29 * DAY))


@pytest.mark.parametrize("later", [moment(60, boot="other"), moment(1)])
def test_reboot_ends_named_run(later: Moment) -> None:
    """R2: a reboot ends a named run."""
    assert is_over(run(seconds=30), later)


def test_forgotten_runs() -> None:
    """R5: a record unused for thirty days may go, by the wall clock, since reboots lie between."""
    old = run()
    assert not is_forgotten(old, moment(0, wall=29.99 * DAY))
    assert is_forgotten(old, moment(0, wall=30.01 * DAY, boot="other"))
    assert not is_forgotten(old, moment(40 * DAY, wall=10 * DAY))
    old.active = moment(20 * DAY)
    assert not is_forgotten(old, moment(0, wall=45 * DAY))


# Awards


def test_one_award_a_run() -> None:
    """R3: a run awards evidence to a percept once, and to each percept."""
    one = run()
    assert [one.award("a"), one.award("a"), one.award("b"), one.award("a")] == [True, False, True, False]
    assert one.awarded == {"a", "b"}
    assert run().award("a")


# Δt


def test_first_pass() -> None:
    """R4: before any pass Δt counts from the run's start, for a session from where it was first named."""
    book = Book()
    first = sitting(book, moment(0), "one")
    touch(book, first, WORK, moment(40), GAP)
    assert measured(book, first, moment(100)) == (100.0, 60.0)


def test_time_between_runs() -> None:
    """R4: time between two runs is no running time."""
    book = Book()
    assert measured(book, sitting(book, moment(0)), moment(60)) == (60.0, 60.0)
    later = moment(5 * HOUR)
    assert measured(book, sitting(book, later), later) == (0.0, 0.0)
    assert measured(book, sitting(book, moment(5 * HOUR + 30)), moment(5 * HOUR + 30)) == (30.0, 30.0)


def test_overlapping_runs_count_once() -> None:
    """R4: two runs side by side measure no more than the time that went by, in either store."""
    book = Book()
    one, two = named(book, "one", moment(0)), named(book, "two", moment(10))
    turns = [(one, 20), (two, 30), (one, 40), (one, 40), (two, 100)]
    found = [measured(book, of, moment(seconds)) for of, seconds in turns]
    assert found == [(20.0, 20.0), (10.0, 10.0), (10.0, 10.0), (0.0, 0.0), (60.0, 60.0)]


def test_later_run_does_not_count_twice() -> None:
    """R4: a run older than another's pass counts from that pass, a younger one from its start."""
    book = Book()
    one, two = named(book, "one", moment(0)), named(book, "two", moment(0))
    assert measured(book, one, moment(50)) == (50.0, 50.0)
    three = named(book, "three", moment(70))
    assert measured(book, three, moment(75)) == (5.0, 5.0)
    assert measured(book, two, moment(80)) == (5.0, 5.0)


def test_sessions_have_their_clocks() -> None:
    """R4: the global store counts once over all sessions; each session counts its own passes."""
    book = Book()
    one = named(book, "agent", moment(0), "one")
    touch(book, one, "two", moment(60), GAP)
    assert measured(book, one, moment(100), "one") == (100.0, 100.0)
    assert measured(book, one, moment(120), "two") == (20.0, 60.0)
    assert measured(book, one, moment(150), "one") == (30.0, 50.0)


def test_sessions_of_overlapping_runs() -> None:
    """R4: two runs with a session each share only the global clock."""
    book = Book()
    one, two = named(book, "one", moment(0), "a"), named(book, "two", moment(0), "b")
    assert measured(book, one, moment(30), "a") == (30.0, 30.0)
    assert measured(book, two, moment(40), "b") == (10.0, 40.0)


@pytest.mark.parametrize(
    ("seconds", "found"),
    [(DAY - 1, (DAY - 1, False)), (DAY, (DAY, False)), (DAY + 0.001, (DAY, True)), (30 * DAY, (DAY, True))],
)
def test_cut(seconds: float, found: tuple[float, bool]) -> None:
    """R4: a measured Δt over 24 h is cut to 24 h, and said to be."""
    book = Book()
    begun = named(book, "agent", moment(0))
    assert elapsed(book, begun, GLOBAL, moment(seconds)) == found
    assert elapsed(book, begun, WORK, moment(seconds)) == found


def test_suspend_and_clock_steps() -> None:
    """R4: with a boot id the wall clock does not matter, whichever way it went."""
    book = Book()
    begun = named(book, "agent", moment(0))
    assert measured(book, begun, moment(10, wall=8 * HOUR)) == (10.0, 10.0)
    assert measured(book, begun, moment(20, wall=-8 * HOUR)) == (10.0, 10.0)


@pytest.mark.parametrize(("wall", "seconds"), [(50, 50.0), (100, 100.0), (400, 100.0), (-50, 0.0)])
def test_no_boot_id(wall: float, seconds: float) -> None:
    """R4: without a boot id Δt is the smaller of the monotonic and the wall difference, never negative."""
    assert moment(100, wall=wall, boot="").seconds_since(moment(0, boot="")) == seconds


def test_never_negative() -> None:
    """R4: Δt is never negative, even if the clock of the same boot went back."""
    assert moment(5).seconds_since(moment(9)) == 0.0


@pytest.mark.parametrize("boot", ["other", "boot"])
def test_clocks_of_another_boot(boot: str) -> None:
    """R4: a pass before a reboot says nothing about running time after it."""
    book = Book()
    measured(book, named(book, "before", moment(50)), moment(80))
    after = named(book, "after", moment(20, boot=boot))
    now = moment(70, boot=boot)
    assert measured_from(book, after, GLOBAL, now) is after.started
    assert measured(book, after, now) == (50.0, 50.0)


def test_clocks_do_not_pile_up() -> None:
    """R4: a pass drops the clocks of earlier boots and keeps those of other sessions."""
    book = Book()
    measured(book, named(book, "old", moment(0)), moment(10), "gone")
    measured(book, named(book, "one", moment(0, boot="b2"), "kept"), moment(10, boot="b2"), "kept")
    measured(book, named(book, "two", moment(20, boot="b2")), moment(30, boot="b2"))
    clocks = {store: last.monotonic // SECOND for store, last in book.clocks.items()}
    assert clocks == {GLOBAL: 30, WORK: 30, "kept": 10}


# Records


def full_run() -> Run:
    """Return a run with something in every part."""
    made = run("agent", seconds=1.5)
    made.active = moment(3.000000001, wall=7)
    made.named = {WORK: moment(2), "other": moment(2.5)}
    made.awarded = {"b", "a"}
    made.applied = {("extends", "b", "a"), ("contradicts", "a", "b")}
    made.injected = {"2", "1"}
    made.nonces["digest"] = "n"
    return made


def full_book() -> Book:
    """Return a book with something in every part."""
    book = Book()
    book.clocks = {GLOBAL: moment(1, at=NOW + 1), WORK: moment(2)}
    book.sitting = full_run()
    book.files = {GLOBAL: (1, 2, 3, 4), WORK: None}
    return book


def decoded(record: object) -> Any:
    """Return a record as it comes back from a file."""
    return json.loads(json.dumps(record))


def test_run_round_trip() -> None:
    """R3: a run's record keeps all of it."""
    made = full_run()
    kept = Run.from_json(decoded(made.to_json()))
    assert kept.to_json() == made.to_json()
    assert (kept.id, kept.implicit, kept.nonces) == ("agent", False, {"digest": "n"})
    assert (kept.awarded, kept.applied, kept.injected) == (made.awarded, made.applied, made.injected)
    assert (kept.active.monotonic, kept.active.wall) == (3_000_000_001, NOW + 7 * SECOND)
    assert list(kept.named) == [WORK, "other"]
    assert kept.named["other"].monotonic == 2_500_000_000


def test_moment_round_trip() -> None:
    """R3: a moment keeps both clocks, the boot and the stored instant to the nanosecond."""
    made = Moment(123, -5, "", NOW + 987_654_321)
    kept = Moment.from_json(decoded(made.to_json()))
    assert (kept.monotonic, kept.wall, kept.boot, kept.at) == (123, -5, "", NOW + 987_654_321)


@pytest.mark.parametrize("book", [full_book(), Book()])
def test_book_round_trip(book: Book) -> None:
    """R3: the book keeps the clocks, the sitting and the fingerprints."""
    kept = Book.from_json(decoded(book.to_json()))
    assert decoded(kept.to_json()) == decoded(book.to_json())
    assert kept.files == book.files
    assert (kept.sitting is None) == (book.sitting is None)
    assert [last.at for last in kept.clocks.values()] == [last.at for last in book.clocks.values()]


def test_equal_runs_have_equal_bytes() -> None:
    """R3: sets are written in order."""
    record = json.dumps(full_run().to_json())
    assert '"awarded": ["a", "b"]' in record
    assert '"applied": [["contradicts", "a", "b"], ["extends", "b", "a"]]' in record
    assert '"injected": ["1", "2"]' in record


def changed(record: Any, path: tuple[str, ...], value: object) -> Any:
    """Return a record with one part replaced; `Ellipsis` takes it out."""
    at = record
    for key in path[:-1]:
        at = at[key]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return record


RUN_FAULTS: list[tuple[tuple[str, ...], object]] = [
    *(((key,), ...) for key in full_run().to_json()),
    *(((key,), None) for key in full_run().to_json()),
    *(((key,), 5) for key in full_run().to_json()),
    (("started", "at"), "yesterday"),
    (("started", "at"), 5),
    (("active", "monotonic"), 1.5),
    (("active", "wall"), True),
    (("active", "boot"), None),
    (("active",), []),
    (("active",), "now"),
    (("named", WORK), None),
    (("named",), []),
    (("awarded",), {"a": 1}),
    (("awarded",), [1]),
    (("injected",), "ab"),
    (("applied",), [["extends", "a"]]),
    (("applied",), [["extends", ["a"], "b"]]),
    (("applied",), [5]),
    (("implicit",), 1),
]


@pytest.mark.parametrize(("path", "value"), RUN_FAULTS)
def test_bad_run(path: tuple[str, ...], value: object) -> None:
    """R3: a record that is none is refused, whatever is wrong with it."""
    record = changed(decoded(full_run().to_json()), path, value)
    with pytest.raises((KeyError, TypeError, ValueError)):
        Run.from_json(record)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("clocks",), ...),
        (("clocks",), []),
        (("clocks", GLOBAL), None),
        (("sitting",), ...),
        (("sitting",), 5),
        (("sitting", "run"), None),
        (("files",), ...),
        (("files",), None),
        (("files", GLOBAL), 5),
        (("files", GLOBAL), ["1"]),
        (("files", GLOBAL), [1.5]),
    ],
)
def test_bad_book(path: tuple[str, ...], value: object) -> None:
    """R3: a book that is none is refused."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        Book.from_json(changed(decoded(full_book().to_json()), path, value))


@pytest.mark.parametrize("record", [None, 5, "run", [], {}, [1]])
@pytest.mark.parametrize("read", [Run.from_json, Book.from_json, Moment.from_json])
def test_no_record(record: object, read: Callable[[object], object]) -> None:
    """R3: what is no object is refused."""
    with pytest.raises((KeyError, TypeError, ValueError)):
        read(record)


def test_last_places_are_kept() -> None:
    """Z4: where a percept was put last is kept, for the last hundred; a removed one is forgotten."""
    book = Book()
    book.place({"a": "session", "b": "session"})
    book.place({"a": "global", "b": None, "never there": None})
    assert book.placed == {"a": "global"}
    book.place({f"p{number}": "session" for number in range(PLACES_KEPT)})
    assert list(book.placed) == [f"p{number}" for number in range(PLACES_KEPT)]
    again = Book.from_json(book.to_json())
    assert again.placed == book.placed
    record = book.to_json()
    del record["placed"]
    assert Book.from_json(record).placed == {}
