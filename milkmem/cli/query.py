"""`milkmem query`: recall by words (section 12)."""

from __future__ import annotations

import sys

from milkmem import store
from milkmem.cli.output import count, percept_json, print_json, print_lines
from milkmem.cli.setup import Setup, at_terminal, note_use, say
from milkmem.errors import DONE
from milkmem.recall import query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.cli.declare import Call
    from milkmem.recall import Recalled


def run(call: Call) -> int:
    """Print what the words recall and count it as used; return the exit code."""
    setup = Setup(call)
    view = store.look(setup.place)
    found = query(
        view.memory,
        setup.knobs,
        " ".join(call.texts("words")),
        now=setup.now.at,
        min_confidence=call.number("min_confidence") or 0.0,
        limit=call.whole("limit") or 0,
        audience=call.text("audience"),
    )
    if found.percepts and call.flag("touch"):
        note_use(setup, view, {percept["id"] for percept, _ in found.percepts})
    _print(setup, view, found)
    return DONE


def _print(setup: Setup, view: store.View, found: Recalled) -> None:
    call, memory = setup.call, view.memory
    rows = [(percept, memory.scope(where)) for percept, where in found.percepts]
    if call.flag("json"):
        print_json(
            {
                "query": " ".join(call.texts("words")),
                "percepts": [
                    {**percept_json(percept, scope, setup.now.at, setup.knobs), "hits": hits}
                    for (percept, scope), hits in zip(rows, found.hits, strict=True)
                ],
                "hidden": {"below_confidence": found.below_confidence, "over_limit": found.over_limit},
            }
        )
        return
    if at_terminal(sys.stdout):
        from milkmem.cli.tables import print_table

        print_table(setup, memory, rows)
    else:
        print_lines(rows, setup.now.at, setup.knobs)
    _say_hidden(found)


def _say_hidden(found: Recalled) -> None:
    """Say what the gate and the limit hide, so that nobody takes a faded fact for a forgotten one (Q3)."""
    if found.below_confidence:
        say(
            f"{count(found.below_confidence, 'percept')} below the confidence gate;"
            " --min-confidence 0 shows all"
        )
    if found.over_limit:
        say(f"{count(found.over_limit, 'percept')} over the limit; --limit shows more")
