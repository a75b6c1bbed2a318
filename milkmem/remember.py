"""What becomes of a fact that is said: recorded, a restatement, a restored one, or an echo (section 11)."""

from __future__ import annotations

import re

from milkmem import instants, rules, words
from milkmem.digest import digest
from milkmem.knobs import CONTENT_LIMIT_BYTES
from milkmem.percept import ARCHIVE, GLOBAL, STALE, birth_weight, corroborate, is_core, put, weight
from milkmem.recall import CAUTION, FACT_MARK, HEADING, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from milkmem.knobs import Knobs
    from milkmem.memory import Memory
    from milkmem.percept import Edge, Percept
    from milkmem.runs import Run

RECORDED = "recorded"
REINFORCED = "reinforced"
RESTORED = "restored"
IGNORED = "ignored"

# How many possible conflicts are worth a person's look, and from how many facts on an index pays.
CONFLICTS_SHOWN = 5
MANY_FACTS = 8

_SURROGATE = "[\ud800-\udfff]"


class Fact:
    """A statement to record: who says it, for whom, about what, core or not, and its edges.

    `edges` are pairs of a relation and the id of an existing percept.
    """

    __slots__ = ("consumer", "content", "core", "edges", "producer", "theme")

    def __init__(
        self,
        content: str,
        producer: str,
        *,
        consumer: str | None = None,
        theme: str | None = None,
        core: bool = False,
        edges: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.content = content
        self.producer = producer
        self.consumer = consumer
        self.theme = theme
        self.core = core
        self.edges = edges


class Conflict:
    """A percept that a new one may contradict, and whether negation or figures differ (S4)."""

    __slots__ = ("percept", "reason")

    def __init__(self, percept: Percept, reason: str) -> None:
        self.percept = percept
        self.reason = reason


class Outcome:
    """What became of one fact; an ignored one has no percept (S3, S4, S6)."""

    __slots__ = ("action", "conflicts", "evidence_awarded", "percept", "similarity", "store")

    def __init__(self, action: str) -> None:
        self.action = action
        self.percept: Percept | None = None
        self.store = ""
        self.similarity: float | None = None
        self.evidence_awarded = False
        self.conflicts: list[Conflict] = []


def stored_content(text: str) -> str:
    """Return a text as it is stored: without surrounding white space, what is no Unicode replaced (S7).

    Raises ValueError, with words that complete "a fact …", if it is empty or too long.
    """
    content = (text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)).strip()
    if content == "":
        raise ValueError("must not be empty")
    if len(content.encode()) > CONTENT_LIMIT_BYTES:
        raise ValueError(f"must not be longer than {CONTENT_LIMIT_BYTES} bytes")
    return content


def echo_mark(content: str) -> str:
    """Return what an injected fact is known by when it comes back: a digest, never its text (S6, G1)."""
    return digest(words.fold(one_line(content)))


def is_echo(content: str, run: Run) -> bool:
    """Return whether a line only repeats what this run injected (S6)."""
    lines = {content, content.removeprefix(FACT_MARK).strip()}
    if not lines.isdisjoint((HEADING, CAUTION)):
        return True
    return bool(run.injected) and any(echo_mark(line) in run.injected for line in lines)


class Recorder:
    """Records facts one after the other in one memory, each against all that are there by then.

    `new_id` makes an id for a new percept; `now` is in nanoseconds since the epoch.
    """

    __slots__ = ("_at", "_index", "_knobs", "_memory", "_new_id", "_places", "_run")

    def __init__(
        self, memory: Memory, knobs: Knobs, run: Run, *, now: int, new_id: Callable[[], str], facts: int
    ) -> None:
        self._memory = memory
        self._knobs = knobs
        self._run = run
        self._at = instants.format(now)
        self._new_id = new_id
        self._places: list[tuple[int, Percept, str]] = []
        self._index: words.Index | None = words.Index() if facts > MANY_FACTS else None
        for order, store in enumerate((GLOBAL, memory.session, ARCHIVE)):
            for percept in memory.percepts(store):
                if store != ARCHIVE or percept["archived"]["reason"] == STALE:
                    self._take_in(order, percept, store)

    def _take_in(self, order: int, percept: Percept, store: str) -> None:
        self._places.append((order, percept, store))
        if self._index is not None:
            self._index.add(words.read(percept["content"]))

    def record(self, fact: Fact) -> Outcome:
        """Record one fact, or reinforce the percept that it restates (S2 to S6)."""
        if is_echo(fact.content, self._run):
            return Outcome(IGNORED)
        reading = words.read(fact.content)
        found = self._find(reading)
        outcome = self._restate(fact, found.restates) if found.restates else self._add(fact, found.conflicts)
        assert outcome.percept is not None
        for relation, target in fact.edges:
            link(self._memory, {"from": outcome.percept["id"], "to": target, "relation": relation})
        return outcome

    def _find(self, reading: words.Reading) -> words.Found:
        threshold = self._knobs.restatement_similarity
        if self._index is not None:
            return self._index.find(reading, threshold, CONFLICTS_SHOWN)
        contents = [percept["content"] for _, percept, _ in self._places]
        return words.find(reading, contents, threshold, CONFLICTS_SHOWN)

    def _restate(self, fact: Fact, restates: list[tuple[int, float]]) -> Outcome:
        """Reinforce the most similar percept, global before session before archive, then by id (S2, S3)."""
        at, similarity = min(
            restates, key=lambda match: (self._places[match[0]][0], self._places[match[0]][1]["id"])
        )
        _, percept, store = self._places[at]
        outcome = Outcome(REINFORCED)
        if store == ARCHIVE:
            outcome.action = RESTORED
            percept, store = self._memory.restore(percept["id"])
            percept["w"] = rules.restored(weight(percept), self._knobs)
            self._places[at] = (0, percept, store)
        outcome.percept, outcome.store, outcome.similarity = percept, store, similarity
        self._memory.mend(percept)
        self._memory.changed.add(store)
        if not is_core(percept):
            percept["w"] = rules.reinforced(weight(percept), self._knobs)
            if self._run.award(percept["id"]):
                corroborate(percept)
                outcome.evidence_awarded = True
            if fact.core:
                percept["w"] = birth_weight(percept["producer"], core=True)
                put(percept, "core", True)
        put(percept, "updated_at", self._at)
        return outcome

    def _add(self, fact: Fact, conflicts: list[tuple[int, float, str]]) -> Outcome:
        outcome = Outcome(RECORDED)
        outcome.store = GLOBAL if fact.core else self._memory.session
        outcome.percept = percept = self._born(fact)
        outcome.conflicts = [Conflict(self._places[at][1], reason) for at, _, reason in conflicts]
        self._memory.append(outcome.store, percept)
        self._take_in(0 if fact.core else 1, percept, outcome.store)
        return outcome

    def _born(self, fact: Fact) -> Percept:
        """Return a new percept with its fields in their order (F4, S1)."""
        percept: Percept = {
            "id": self._new_id(),
            "content": fact.content,
            "producer": fact.producer,
            "w": birth_weight(fact.producer, fact.core),
            "roles": {} if fact.theme is None else {"theme": fact.theme},
            "created_at": self._at,
            "updated_at": self._at,
        }
        if fact.consumer is not None:
            put(percept, "consumer", fact.consumer)
        if fact.core:
            put(percept, "core", True)
        return percept


def link(memory: Memory, edge: Edge) -> bool:
    """Add an edge between live percepts; return whether it was new (E4).

    It goes to the global store if both ends are there, else to the session. A percept is not linked to
    itself, which a restatement that names what it restates would ask for.
    """
    if edge["from"] == edge["to"]:
        return False
    present = [other for store in memory.live() for other in memory.edges(store)]
    if any(_same(edge, other) for other in present):
        return False
    in_global = {percept["id"] for percept in memory.percepts(GLOBAL)}
    both = edge["from"] in in_global and edge["to"] in in_global
    memory.add_edges(GLOBAL if both else memory.session, [edge])
    return True


def _same(edge: Edge, other: Edge) -> bool:
    return all(edge.get(part) == other.get(part) for part in ("from", "to", "relation"))
