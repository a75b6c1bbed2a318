"""Which percept tags in an agent's answer count."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from milkmem.hooks import tags

N = "abc123"


def tagged(text: str, nonce: str = N) -> str:
    return f"<milk:percept:{nonce}>{text}</milk:percept:{nonce}>"


def facts(message: str, *nonces: str) -> list[str]:
    return [fact.content for fact in tags.find(message, nonces or (N,)).facts]


def test_instructions_are_two_lines_that_name_both_ways() -> None:
    """A session's first context ends with how to remember: a tag with the nonce, or `milkmem record`."""
    lines = tags.instructions(N).split("\n")
    assert len(lines) == 2
    assert tagged("one fact") in lines[0]
    assert "milkmem record" in lines[1]
    assert "learn" not in "".join(lines)
    assert "--producer" not in "".join(lines)


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (tagged("Tests run nightly"), ["Tests run nightly"]),
        (f"Done.\r\n{tagged(' Tests run nightly ')}\r\nBye", ["Tests run nightly"]),
        (f"{tagged('One')} {tagged('Two')}", ["One", "Two"]),
        (tagged("Two\nlines"), ["Two\nlines"]),
        (tagged("Use `make test` here"), ["Use `make test` here"]),
        (tagged("Run:\n```\nmake\n```\n"), ["Run:\n```\nmake\n```"]),
        (f"`code` {tagged('Between')} `code`", ["Between"]),
        (f"A lone ` here.\n\n{tagged('Next paragraph')}\n\nand ` there", ["Next paragraph"]),
        (f"```\ncode\n```\n{tagged('Behind a fence')}", ["Behind a fence"]),
        (f"    {tagged('Indented')}", ["Indented"]),
        (f"- {tagged('In a list')}", ["In a list"]),
        (f"``` `one line of code` ```\n{tagged('Behind a span')}", ["Behind a span"]),
        (f"```not closed here` x\n\n{tagged('No fence')}", ["No fence"]),
        ("", []),
        ("no tags", []),
        ("<milk:percept:abc123>not closed", []),
        ("closed only</milk:percept:abc123>", []),
        ("<milk:percept:abc123>one</milk:percept:abc124>", []),
        ("<MILK:percept:abc123>one</MILK:percept:abc123>", []),
        ("< milk:percept:abc123>one</milk:percept:abc123>", []),
        (f"<milk:percept:old999>not closed {tagged('Closed')}", ["Closed"]),
        (f"</milk:percept:{N}> {tagged('Closed')}", ["Closed"]),
    ],
)
def test_tags_are_found(message: str, found: list[str]) -> None:
    """A tag is one fact with the nonce around it, wherever it stands in prose."""
    assert facts(message) == found


@pytest.mark.parametrize(
    "message",
    [
        f"`{tagged('x')}`",
        f"``a ` {tagged('x')}``",
        f"`starts here {tagged('x')}\nends here`",
        f"```\n{tagged('x')}\n```",
        f"~~~ text\n{tagged('x')}\n~~~",
        f"````\n```\n{tagged('x')}\n````",
        f"```\n{tagged('x')}",
        f"> ```\n> {tagged('x')}\n> ```",
        f"1. ```xml\n   {tagged('x')}\n   ```",
        f"- - ~~~\n    {tagged('x')}\n    ~~~",
        f"```\n~~~\n{tagged('x')}\n```",
        f"```\n``` not an end\n{tagged('x')}\n```",
        f"```\r\n{tagged('x')}\r\n```\r\n",
        f"<milk:percept:{N}>the end is in `code</milk:percept:{N}>`",
    ],
)
def test_tags_in_code_are_quotations(message: str) -> None:
    """Tags inside code spans and fences are skipped."""
    assert facts(message) == []
    assert facts(f"{message}\n\n{tagged('after')}") in ([], ["after"])


@pytest.mark.parametrize(
    "text",
    [
        "one fact",
        " one fact\n",
        "@primary: one fact",
        "a <milk:percept:zzz999>",
        "see <milk:x>",
        tagged("in"),
    ],
)
def test_the_placeholder_and_nested_tags_are_skipped_in_silence(text: str) -> None:
    """The placeholder of the instructions, and a fact with a tag in it, are no facts."""
    found = tags.find(tagged(text), (N,))
    assert (found.facts, found.skipped) == ([], {})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "that must not be empty"),
        (" \n\t", "that must not be empty"),
        ("@escalation:  ", "that must not be empty"),
        ("x" * (16 * 1024 + 1), "that must not be longer than 16384 bytes"),
        ("ü" * (8 * 1024 + 1), "that must not be longer than 16384 bytes"),
    ],
)
def test_unfit_facts_are_counted(text: str, reason: str) -> None:
    """S7: a tag without text, or of more than 16 KiB, is skipped and counted."""
    found = tags.find(tagged(text), (N,))
    assert (found.facts, found.skipped) == ([], {reason: 1})


def test_the_longest_fact_counts() -> None:
    """S7: 16 KiB are not too long."""
    assert facts(tagged("x" * 16 * 1024)) == ["x" * 16 * 1024]


def test_stale_nonces_are_counted() -> None:
    """A tag counts by its nonce alone."""
    found = tags.find(tagged("old", "zzz999") + tagged("none", "") + tagged("new"), (N,))
    assert [fact.content for fact in found.facts] == ["new"]
    assert found.skipped == {"with a stale nonce": 2}
    assert facts(tagged("x"), "other9") == []
    assert tags.find(tagged("x"), ()).facts == []


def test_nonces_are_told_apart_by_case() -> None:
    """A nonce is not a word."""
    assert facts(tagged("x", "ABC123")) == []


def test_twenty_a_turn() -> None:
    """At most 20 facts of a turn count, the first ones; what is no fact takes no place."""
    message = tagged("one fact") + tagged("") + "".join(tagged(f"fact {number}") for number in range(23))
    found = tags.find(message, (N,))
    assert [fact.content for fact in found.facts] == [f"fact {number}" for number in range(20)]
    assert found.skipped == {"that must not be empty": 1, "over the most in one turn": 3}


@pytest.mark.parametrize(
    ("text", "consumer", "content"),
    [
        ("Plain", None, "Plain"),
        ("@primary: For one", "primary", "For one"),
        ("@escalation:For other", "escalation", "For other"),
        (" @primary: Spaces", "primary", "Spaces"),
        ("@user: Not one", None, "@user: Not one"),
        ("@primary For one", None, "@primary For one"),
        ("To @primary: this", None, "To @primary: this"),
        ("@primary: @escalation: once", "primary", "@escalation: once"),
    ],
)
def test_an_address_sets_the_consumer(text: str, consumer: str | None, content: str) -> None:
    """A leading `@primary:` or `@escalation:` says who alone is given the fact."""
    (fact,) = tags.find(tagged(text), (N,)).facts
    assert (fact.consumer, fact.content, fact.producer, fact.core) == (consumer, content, "primary", False)


def test_what_is_no_unicode_is_replaced() -> None:
    """S7: a lone surrogate does not get into a file."""
    assert facts(tagged("a\ud800b")) == ["a\ufffdb"]


PIECES = st.sampled_from(
    [
        tagged("x"),
        f"<milk:percept:{N}>",
        f"</milk:percept:{N}>",
        "`",
        "``",
        "```\n",
        "~~~\n",
        "\n",
        "\n\n",
        "a",
        "> ",
    ]
)


@given(st.lists(PIECES).map("".join))
def test_nothing_is_found_that_is_not_there(message: str) -> None:
    """Whatever stands in an answer, a fact of it stands between two tags of the nonce."""
    for fact in facts(message):
        assert fact in message
        assert "<milk:" not in fact


@pytest.mark.parametrize(
    "piece", [f"<milk:percept:{N}>", "`", "<milk:percept:old999>", "``` \n", "> ", "- ", "<milk:"]
)
def test_time_grows_with_the_answer_only(piece: str) -> None:
    """A long answer of unclosed tags or backticks costs no more than reading it."""
    begin = time.process_time()
    assert facts(piece * (1_000_000 // len(piece))) == []
    assert time.process_time() - begin < 10
