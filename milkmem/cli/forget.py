"""`milkmem forget`: remove percepts for good, with every trace (G1, G2)."""

from __future__ import annotations

import sys

from milkmem import store
from milkmem.cli.output import Screen, print_json
from milkmem.cli.plain import field
from milkmem.cli.setup import Setup, at_terminal, say
from milkmem.cli.targets import Candidate, ambiguous, candidates, every_store, meant, printed_ids
from milkmem.errors import BAD_DATA, DONE, BadData, BadUsage, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from milkmem.cli.declare import Call
    from milkmem.memory import Memory


def run(call: Call) -> int:
    """Remove what the targets mean and print it; return the exit code."""
    setup = Setup(call)
    asks = not call.flag("yes") and not call.flag("dry_run")
    if asks and not at_terminal(sys.stdin):
        raise BadUsage(
            "forget asks before it removes, and there is no terminal", "add --yes, or --dry-run to look"
        )
    if not setup.place.exists():
        raise Refused("no percept matches: there is no memory yet")
    view = _look(setup)
    chosen = _choose(setup, view, asks)
    if asks and not _confirmed(setup, view.memory, chosen):
        raise Refused("nothing was forgotten")
    if call.flag("dry_run"):
        _print(setup, printed_ids(view.memory), chosen)
        return DONE
    return _forget(setup, [candidate.id for candidate in chosen])


def _look(setup: Setup) -> store.View:
    """Read where a target is looked for: the stores at hand and the archive, or every session too (G1)."""
    sessions = setup.place.stores() if setup.call.flag("sessions") else ()
    return store.look(setup.place, archive=True, sessions=sessions, lenient=True)


def _choose(setup: Setup, view: store.View, asks: bool) -> list[Candidate]:
    """Return what the targets mean; raises Refused where one means nothing or too much (G2).

    Where a file could not be read, what is not found may be in it: that fault is raised instead.
    """
    memory = view.memory
    among = candidates(memory, list(dict.fromkeys([*memory.live(), *memory.files])))
    chosen: dict[str, Candidate] = {}
    for number, target in enumerate(setup.call.texts("targets"), start=1):
        found = meant(target, among)
        if not found:
            for fault in view.reader.unreadable:
                raise fault
            raise Refused(f"target {number} matches no percept", "milkmem inspect --archive")
        if len(found) > 1 and not setup.call.flag("all"):
            if not asks:
                raise ambiguous(found, memory)
            found = _ask_which(setup, memory, found)
        chosen.update((each.id, each) for each in found)
    return list(chosen.values())


def _ask_which(setup: Setup, memory: Memory, found: Sequence[Candidate]) -> list[Candidate]:
    """Show a numbered list and return what the person picks; raises Refused for nothing."""
    _show(setup, memory, found)
    answer = _ask(f"Which? [1-{len(found)}, several with blanks, all] ")
    if answer == "all":
        return list(found)
    numbers = [int(part) for part in answer.split() if part.isdecimal() and len(part) < len(str(10**9))]
    picked = [found[number - 1] for number in dict.fromkeys(numbers) if 1 <= number <= len(found)]
    if not picked:
        raise Refused("nothing was forgotten")
    return picked


def _show(setup: Setup, memory: Memory, found: Sequence[Candidate]) -> None:
    from milkmem.cli.render import Choice, choice_list

    ids = printed_ids(memory)
    choice_list(
        [Choice(ids[each.id], each.scope, each.percept["content"]) for each in found],
        **Screen(setup.call, sys.stderr).layout(),
    )


def _ask(question: str) -> str:
    """Ask on standard error and return the answer, "" at the end of input (X6)."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().casefold()


def _confirmed(setup: Setup, memory: Memory, chosen: Sequence[Candidate]) -> bool:
    _show(setup, memory, chosen)
    return _ask(f"Forget {'it' if len(chosen) == 1 else f'these {len(chosen)}'} for good? [y/N] ") in (
        "y",
        "yes",
    )


def _forget(setup: Setup, ids: Sequence[str]) -> int:
    """Remove percepts from every file, found again by id under the lock; return the exit code (G1)."""
    stores = setup.place.stores()
    gone = _Gone(ids)
    for _ in range(store.ATTEMPTS):  # a removal, unlike a pass, can be done again where a part of it is left
        _, warnings = store.edit(setup.place, gone.remove, at=setup.at, sessions=stores, lenient=True)
        if not gone.left_alone:
            break
    else:
        raise store.keeps_changing(setup.place)
    if not gone.chosen:
        raise Refused("it is gone already")
    _print(setup, gone.names, list(gone.chosen.values()))
    for warning in warnings:
        say(warning)
    if gone.same_text:
        say(f"the same text is still held by {', '.join(gone.names[each] for each in gone.same_text)}")
    for path in store.files_holding(setup.place, gone.texts):
        say(f"the text also stands in {path}, which is not milkmem's to change")
    for fault in gone.unreadable:
        say(fault.message)
    if gone.unreadable:
        say("what could be read was done; mend or remove the rest and forget again")
        return BAD_DATA
    return DONE


def _print(setup: Setup, names: dict[str, str], chosen: Sequence[Candidate]) -> None:
    call = setup.call
    dry_run = call.flag("dry_run")
    if call.flag("json"):
        forgotten = [{"id": each.id, "scope": each.scope} for each in chosen]
        print_json({"dry_run": dry_run, "forgotten": forgotten})
    elif at_terminal(sys.stdout):
        for each in chosen:
            print(f"{'would forget' if dry_run else 'forgot'} {names[each.id]} ({each.scope})")
    else:
        for each in chosen:
            print(f"{field(each.id)}\t{each.scope}")


class _Gone:
    """What was forgotten so far, and how it stands after the last removal.

    `same_text` are other percepts that still hold one of the texts, `unreadable` the files that could not be
    looked into, `left_alone` those that changed while they were being replaced.
    """

    __slots__ = ("chosen", "ids", "left_alone", "names", "same_text", "texts", "unreadable")

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = ids
        self.chosen: dict[str, Candidate] = {}
        self.names: dict[str, str] = {}
        self.texts: set[str] = set()
        self.same_text: list[str] = []
        self.unreadable: list[BadData] = []
        self.left_alone: list[str] = []

    def remove(self, visit: store.Visit) -> None:
        """Remove the percepts from every file of a visit."""
        memory = visit.memory
        there = candidates(memory, every_store(memory))
        found = {each.id: each for each in there if each.id in self.ids}
        self.chosen = {**found, **self.chosen}
        self.names |= printed_ids(memory)
        self.texts |= {each.percept["content"] for each in found.values()}
        self.same_text = [
            each.id for each in there if each.id not in self.ids and each.percept["content"] in self.texts
        ]
        self.unreadable = visit.reader.unreadable
        self.left_alone = visit.left_alone
        memory.forget(self.ids)
