"""`milkmem run start`, `run end`, `run show`: runs that callers name (R2)."""

from __future__ import annotations

import os
import sys

from milkmem import instants, places, store
from milkmem.cli.output import count, print_json
from milkmem.cli.plain import duration
from milkmem.cli.setup import Setup, at_terminal, edit, say
from milkmem.errors import DONE, Refused
from milkmem.store import RunChoice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from milkmem.cli.declare import Call
    from milkmem.runs import Run

NAMED_PREFIX = "run-"


def start(call: Call) -> int:
    """Start a run, or go on with the one of this id, and print its id."""
    setup = Setup(call)
    # MILKMEM_RUN is the run around this call; the one to start is another.
    named = places.run_id(call.text("run"), {}) or NAMED_PREFIX + os.urandom(4).hex()
    choice = RunChoice(named, setup.knobs.run_gap_minutes)
    run = edit(setup, lambda visit: visit.run, choice)
    if call.flag("json"):
        print_json(_json(run, setup))
    else:
        print(run.id)
    return DONE


def end(call: Call) -> int:
    """End a run, so that its id used again is a new one."""
    setup = Setup(call)
    choice = setup.run_choice()
    if _going_on(setup, choice) is None:
        raise Refused("no such run goes on", "milkmem run start")

    def work(visit: store.Visit) -> Run:
        visit.run_ended = True
        return visit.run

    run = edit(setup, work, choice)
    if call.flag("json"):
        print_json(_json(run, setup))
    return DONE


def show(call: Call) -> int:
    """Print the run that a command would belong to now; nothing where a new one would begin."""
    setup = Setup(call)
    run = _going_on(setup, setup.run_choice())
    if call.flag("json"):
        print_json(_json(run, setup))
    elif run is None:
        if at_terminal(sys.stdout):
            say("no run goes on; the next command begins one")
    else:
        running = setup.now.seconds_since(run.started)
        if at_terminal(sys.stdout):
            kind = "the sitting" if run.implicit else "a named run"
            awarded = count(len(run.awarded), "percept")
            print(f"{run.id}  {kind}, running for {duration(running)}, awarded evidence to {awarded}")
        else:
            print("\t".join((run.id, instants.format(run.started.at), repr(running), str(len(run.awarded)))))
    return DONE


def _going_on(setup: Setup, choice: RunChoice) -> Run | None:
    if not setup.place.exists():
        return None
    return store.look_at_runs(setup.place, choice, setup.at)[1]


def _json(run: Run | None, setup: Setup) -> dict[str, Any]:
    if run is None:
        return {"run": None, "started_at": None, "implicit": None, "running_seconds": None, "awarded": []}
    return {
        "run": run.id,
        "started_at": instants.format(run.started.at),
        "implicit": run.implicit,
        "running_seconds": setup.now.seconds_since(run.started),
        "awarded": sorted(run.awarded),
    }
