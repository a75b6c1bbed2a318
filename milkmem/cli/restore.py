"""`milkmem restore`: bring percepts back from the archive (G3)."""

from __future__ import annotations

import sys

from milkmem import rules, store
from milkmem.cli.output import percept_json, print_json, print_lines
from milkmem.cli.setup import Setup, at_terminal, edit
from milkmem.cli.targets import candidates, one_with_id
from milkmem.errors import DONE, Refused
from milkmem.percept import ARCHIVE, weight

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.cli.declare import Call
    from milkmem.percept import Percept


def run(call: Call) -> int:
    """Move percepts from the archive back to where they came from; return the exit code."""
    setup = Setup(call)
    chosen = _chosen(setup)

    def work(visit: store.Visit) -> list[tuple[Percept, str]]:
        memory = visit.memory
        done = []
        for percept_id in chosen:
            if not any(percept["id"] == percept_id for percept in memory.percepts(ARCHIVE)):
                raise Refused("the percept left the archive meanwhile", "milkmem inspect")
            percept, home = memory.restore(percept_id)
            percept["w"] = rules.restored(weight(percept), setup.knobs)
            done.append((percept, memory.scope(home)))
        return done

    restored = edit(setup, work)
    if call.flag("json"):
        now = setup.now.at
        print_json(
            {"restored": [percept_json(percept, scope, now, setup.knobs) for percept, scope in restored]}
        )
    elif at_terminal(sys.stdout):
        from milkmem.cli.tables import print_table

        print_table(setup, store.look(setup.place, archive=True).memory, restored)
    else:
        print_lines(restored, setup.now.at, setup.knobs)
    return DONE


def _chosen(setup: Setup) -> list[str]:
    """Return the ids that the targets mean; raises Refused for one that is not in the archive."""
    memory = store.look(setup.place, archive=True).memory
    among = candidates(memory, [ARCHIVE])
    targets = setup.call.texts("ids")
    return list(
        dict.fromkeys(one_with_id(target, among, memory, "archived percept").id for target in targets)
    )
