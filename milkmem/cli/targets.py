"""What a person means by a target: an id, the beginning of one, or a text (G2, X7)."""

from __future__ import annotations

from milkmem import words
from milkmem.cli.plain import field, short_ids
from milkmem.errors import Refused
from milkmem.percept import ARCHIVE, CONTRADICTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkmem.memory import Memory
    from milkmem.percept import Percept

ID_MARK = "#"
LEAST_PREFIX = 4


class Candidate:
    """A percept that a target can mean, and the store it is in."""

    __slots__ = ("percept", "scope", "store")

    def __init__(self, percept: Percept, store: str, scope: str) -> None:
        self.percept = percept
        self.store = store
        self.scope = scope

    @property
    def id(self) -> str:
        """The percept's id."""
        return self.percept["id"]


def candidates(memory: Memory, stores: Sequence[str]) -> list[Candidate]:
    """Return the percepts of the stores, each id once: the first store that has it counts."""
    found: dict[str, Candidate] = {}
    for store in stores:
        for percept in memory.percepts(store):
            found.setdefault(percept["id"], Candidate(percept, store, memory.scope(store)))
    return list(found.values())


def with_id(target: str, among: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates whose id is the target, or else begins with it in any letter case (G2).

    An id is looked for as it is printed, and only if none is found as it is stored (X7).
    """
    wanted = target.removeprefix(ID_MARK)
    for form in (field, str):
        printed = [(form(each.id), each) for each in among]
        found = [each for text, each in printed if text == wanted]
        if not found:
            folded = wanted.casefold()
            found = [each for text, each in printed if text.casefold() == folded]
        if not found and len(wanted) >= LEAST_PREFIX:
            found = [each for text, each in printed if text.casefold().startswith(folded)]
        if found:
            return found
    return []


def meant(target: str, among: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates that a target means: by id, and only if no id has it, by text (G2)."""
    found = with_id(target, among)
    if found or target.startswith(ID_MARK):
        return found
    pattern = words.fold(target)
    if pattern == "":
        return []
    return [each for each in among if pattern in words.fold(each.percept["content"])]


def one_with_id(target: str, among: Sequence[Candidate], memory: Memory, what: str = "percept") -> Candidate:
    """Return the one candidate whose id a target is or begins; raises Refused for none or several."""
    found = with_id(target, among)
    if not found:
        raise Refused(f"no {what} has this id", "milkmem inspect")
    if len(found) > 1:
        raise ambiguous(found, memory)
    return found[0]


def ambiguous(found: Sequence[Candidate], memory: Memory) -> Refused:
    """Return the error that lists what an ambiguous target could mean, by ids only (Z6)."""
    ids = printed_ids(memory)
    listed = ", ".join(f"{ids[each.id]} ({each.scope})" for each in found)
    return Refused(f"{len(found)} percepts match: {listed}", "name one by its id")


def printed_ids(memory: Memory) -> dict[str, str]:
    """Return what is printed for each id that a target could mean, the archive's included (X7)."""
    return short_ids(percept["id"] for store in every_store(memory) for percept in memory.percepts(store))


def every_store(memory: Memory) -> list[str]:
    """Return the stores at hand, live ones first, and the archive, at hand or not."""
    return list(dict.fromkeys([*memory.live(), *memory.files, ARCHIVE]))


def ways_out(one: str, other: str) -> list[str]:
    """Return the commands that end a contradiction of two printed ids: forget one, or unlink them (P3)."""
    from shlex import quote

    one, other = quote(one), quote(other)
    return [f"milkmem forget {one}", f"milkmem forget {other}", f"milkmem unlink {one} {other} {CONTRADICTS}"]
