"""Percept tags: how an agent is told to remember, and which tags in its answer count.

A tag counts by the nonce that this agent's session was given, so that tags quoted from files or web pages
do not. Tags in code spans and fences are quotations too.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from milkmem.hooks import TAG
from milkmem.percept import AUDIENCES, PRIMARY
from milkmem.remember import Fact, stored_content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

PLACEHOLDER = "one fact"
MOST_A_TURN = 20
STALE = "with a stale nonce"
OVER = "over the most in one turn"

_OURS = "<milk:"
_TAG = re.compile(rf"<(/?){TAG[1:]}([A-Za-z0-9]{{0,64}})>")
_QUOTED = r"[ \t]*(?:>[ \t]*)*"
_FENCE = re.compile(_QUOTED + r"(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_FENCE_END = re.compile(_QUOTED + r"(`{3,}|~{3,})[ \t]*$")
_TICKS = re.compile("`+")


def instructions(nonce: str) -> str:
    """Return the two lines that tell an agent how to remember."""
    return (
        "To remember a fact for later sessions, put it in your answer on a line of its own:"
        f" {TAG}{nonce}>{PLACEHOLDER}</{TAG[1:]}{nonce}>\n"
        f'or run: milkmem record "{PLACEHOLDER}"'
    )


class Found:
    """The facts that an answer tags, in their order, and how many tags were skipped for which reason."""

    __slots__ = ("facts", "skipped")

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self.skipped: dict[str, int] = {}

    def skip(self, reason: str) -> None:
        """Count a tag that is skipped and worth a word."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1


def find(message: str, nonces: Collection[str]) -> Found:
    """Return what the tags in an agent's answer say, where their nonce is one of `nonces`."""
    found = Found()
    for nonce, text in _tagged(message):
        if nonce not in nonces:
            found.skip(STALE)
            continue
        consumer, content = _addressed(text)
        if content == PLACEHOLDER or _OURS in content:
            continue
        try:
            content = stored_content(content)
        except ValueError as error:
            found.skip(f"that {error}")
            continue
        if len(found.facts) == MOST_A_TURN:
            found.skip(OVER)
        else:
            found.facts.append(Fact(content, PRIMARY, consumer=consumer))
    return found


def _addressed(text: str) -> tuple[str | None, str]:
    """Return whom a fact is for and the fact: `@primary:` or `@escalation:` may lead it."""
    text = text.strip()
    for audience in AUDIENCES:
        address = f"@{audience}:"
        if text.startswith(address):
            return audience, text.removeprefix(address).strip()
    return None, text


def _tagged(message: str) -> Iterator[tuple[str, str]]:
    """Yield the nonce and the text of each tag outside code, in time that grows with the message only."""
    code = list(_code(message))
    starts = [start for start, _ in code]
    marks = []
    for mark in _TAG.finditer(message):
        before = bisect_right(starts, mark.start()) - 1
        if before < 0 or code[before][1] <= mark.start():
            marks.append(mark)
    closed = {mark[2]: at for at, mark in enumerate(marks) if mark[1] == "/"}
    begin: re.Match[str] | None = None
    for at, mark in enumerate(marks):
        if mark[1] == "":
            if begin is None and closed.get(mark[2], -1) > at:
                begin = mark
        elif begin is not None and begin[2] == mark[2]:
            yield mark[2], message[begin.end() : mark.start()]
            begin = None


def _code(message: str) -> Iterator[tuple[int, int]]:
    """Yield where Markdown code stands, in order: fences, and spans, which end with their paragraph."""
    fence = ""
    begin = paragraph = at = 0
    for line in message.splitlines(keepends=True):
        bare = line.strip()
        if fence != "":
            end = _FENCE_END.match(line.rstrip("\r\n"))
            if end is not None and end[1].startswith(fence):
                yield begin, at + len(line)
                fence, paragraph = "", at + len(line)
        else:
            opening = _FENCE.match(line.rstrip("\r\n"))
            if opening is not None or bare == "":
                yield from _spans(message, paragraph, at)
                paragraph = at + len(line)
            if opening is not None:
                fence, begin = opening[1], at
        at += len(line)
    if fence != "":
        yield begin, at
    else:
        yield from _spans(message, paragraph, at)


def _spans(message: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the code spans of one paragraph: from a run of backticks to the next as long."""
    runs = list(_TICKS.finditer(message, begin, end))
    following: dict[int, int] = {}
    partner = [-1] * len(runs)
    for at in range(len(runs) - 1, -1, -1):
        length = len(runs[at][0])
        partner[at] = following.get(length, -1)
        following[length] = at
    at = 0
    while at < len(runs):
        if partner[at] == -1:
            at += 1
        else:
            yield runs[at].start(), runs[partner[at]].end()
            at = partner[at] + 1
