"""`milkmem consolidate`: one pass of the run (section 10).

It runs at every turn and is silent then, so what prints is imported where something is printed.
"""

from __future__ import annotations

import sys

from milkmem import instants, runs, store
from milkmem.cli.setup import Setup, at_terminal, edit, hint, say
from milkmem.consolidate import METRICS_PREFIX, Elapsed, Outcome, Report, consolidate_run
from milkmem.errors import DONE, BadUsage
from milkmem.knobs import MEASURED_ELAPSED_LIMIT
from milkmem.memory import contradicting_pairs
from milkmem.percept import GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.cli.declare import Call
    from milkmem.consolidate import Change
    from milkmem.memory import Memory
    from milkmem.runs import Run


def run(call: Call) -> int:
    """Do one pass and print its report where someone asks for it; return the exit code."""
    stated = _stated(call.text("elapsed"))
    setup = Setup(call)
    if stated is None and setup.at is not None:
        stated = 0.0
    if not setup.place.exists():
        memory = store.look(setup.place).memory
        outcome, run = Outcome(Report(), Elapsed(0.0, 0.0), []), None
    elif call.flag("dry_run"):
        memory, outcome, run = _rehearse(setup, stated)
    else:
        memory, outcome, run = _perform(setup, stated)
    _print(setup, memory, outcome, run)
    return DONE


def _stated(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return instants.parse_duration(text)
    except ValueError as error:
        raise BadUsage(f"--elapsed: {error}") from error


def _perform(setup: Setup, stated: float | None) -> tuple[Memory, Outcome, Run | None]:
    def work(visit: store.Visit) -> tuple[Memory, Outcome, Run | None]:
        store.remove_unused_runs(visit)
        outcome = consolidate_run(
            visit.memory, setup.knobs, visit.book, visit.run, now=visit.now, stated=stated
        )
        return visit.memory, outcome, visit.run

    return edit(setup, work, setup.run_choice())


def _rehearse(setup: Setup, stated: float | None) -> tuple[Memory, Outcome, Run | None]:
    """Do the pass on what was read and write nothing (C3)."""
    choice = setup.run_choice()
    memory = store.look(setup.place, archive=True).memory
    book, found, now = store.look_at_runs(setup.place, choice, setup.at)
    run = runs.Run("", True, now) if found is None else found
    run.named.setdefault(memory.session, now)
    return memory, consolidate_run(memory, setup.knobs, book, run, now=now, stated=stated), found


def _print(setup: Setup, memory: Memory, outcome: Outcome, run: Run | None) -> None:
    call, report = setup.call, outcome.report
    for where in outcome.cut:
        from milkmem.cli.plain import duration

        say(f"the running time of {where} since its last pass was cut to {duration(MEASURED_ELAPSED_LIMIT)}")
    if call.flag("json"):
        _print_json(setup, memory, outcome, run)
    elif at_terminal(sys.stdout):
        from milkmem.cli.tables import print_changes, print_conflicts
        from milkmem.cli.targets import printed_ids

        verbose = call.flag("verbose")
        print_changes(setup, report, printed_ids(memory), report.changes if verbose else [])
        if verbose:
            print_conflicts(setup, memory)
    elif call.flag("verbose"):
        for change in report.changes:
            print(_line(change))
        _say_conflicts(memory)


def _say_conflicts(memory: Memory) -> None:
    """Name the live contradictions and the commands that would end each (P3)."""
    from milkmem.cli.targets import printed_ids, ways_out

    ids = printed_ids(memory)
    for one, other in contradicting_pairs(memory):
        say(f"{ids[one]} and {ids[other]} contradict each other")
        for command in ways_out(ids[one], ids[other]):
            hint(command)


def _line(change: Change) -> str:
    from milkmem.cli.plain import field

    return "\t".join(
        (
            change["event"],
            field(change["id"]),
            change["scope"],
            change["reason"],
            repr(change["w_before"]),
            repr(change["w_after"]),
            field(change["content"]),
        )
    )


def _print_json(setup: Setup, memory: Memory, outcome: Outcome, run: Run | None) -> None:
    from milkmem.cli.output import print_json

    report = outcome.report
    print_json(
        {
            "dry_run": setup.call.flag("dry_run"),
            "run": None if run is None else run.id,
            "session": setup.place.session,
            "elapsed_seconds": {
                "global": outcome.elapsed.global_store,
                "session": outcome.elapsed.session,
            },
            "counts": report.counts,
            "metrics": {METRICS_PREFIX + name: number for name, number in report.counts.items()},
            "changes": report.changes,
            "totals": {
                "global": len(memory.percepts(GLOBAL)),
                "session": len(memory.percepts(memory.session)),
            },
        }
    )
