"""`milkmem forecast`: what happens next to each percept if nothing is said or used again (section 15)."""

from __future__ import annotations

import math
import sys

from milkmem import standing, store
from milkmem.cli.output import Screen, percept_json, print_json
from milkmem.cli.plain import duration, field
from milkmem.cli.progress import Progress
from milkmem.cli.setup import Setup, at_terminal
from milkmem.cli.targets import ambiguous, candidates, meant, printed_ids
from milkmem.errors import DONE, Refused
from milkmem.forecast import back_to_back, forecast
from milkmem.instants import SECONDS_PER_DAY
from milkmem.memory import contradictions
from milkmem.percept import GLOBAL, weight
from milkmem.simulate import LEADS_TO, POINTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from milkmem.cli.declare import Call
    from milkmem.cli.targets import Candidate
    from milkmem.forecast import Forecast
    from milkmem.memory import Memory
    from milkmem.simulate import Event, Trace


# At how many times w is looked at to draw it: more than a screen has columns of dots.
CURVE_POINTS = 400


def run(call: Call) -> int:
    """Print what comes next for every percept, or all that becomes of one; return the exit code."""
    setup = Setup(call)
    with Progress("looking ahead") as progress:
        _forecast(setup, progress)
    return DONE


def _forecast(setup: Setup, progress: Progress) -> None:
    call, target = setup.call, setup.call.text("target")
    memory = store.look(setup.place).memory
    book, going_on, now = store.look_at_runs(setup.place, setup.run_choice(), setup.at)
    run_id = None if going_on is None else going_on.id
    chosen = candidates(memory, memory.live())
    if target is not None:
        chosen = [_one(target, chosen, memory)]
    hours, turns, days = call.number("hours_per_run"), call.whole("turns_per_run"), call.number("days")
    assert hours is not None  # as all that has a default
    assert turns is not None
    assert days is not None
    result = forecast(
        memory,
        setup.knobs,
        back_to_back(hours, turns),
        start=now,
        book=book,
        run=going_on,
        days=days,
        wanted=None if target is None else {each.id for each in chosen},
        points=POINTS if call.flag("json") else 0 if target is None else CURVE_POINTS,
        progress=progress,
    )
    chosen.sort(key=lambda each: (_nearest(result.traces[each.id]), each.id))
    if call.flag("json"):
        document = {
            "days": days,
            "hours_per_run": hours,
            "turns_per_run": turns,
            "pass_seconds": result.turn_seconds,
            "run": run_id,
            "percepts": [_document(setup, each, result) for each in chosen],
        }
        print_json(document)
    elif not at_terminal(sys.stdout):
        for each in chosen:
            print(_line(each, result))
    elif target is None:
        _print_table(setup, memory, chosen, result, progress.before(sys.stdout))
    else:
        progress.end()
        _print_one(setup, memory, chosen[0], result, days)


def _one(target: str, among: list[Candidate], memory: Memory) -> Candidate:
    found = meant(target, among)
    if not found:
        raise Refused("no percept outside the archive has this id or text", "milkmem inspect --archive")
    if len(found) > 1:
        raise ambiguous(found, memory)
    return found[0]


def _next(trace: Trace) -> Event | None:
    """Return the next event that moves a percept, None where nothing does."""
    return next((event for event in trace.events if event.event in LEADS_TO), None)


def _nearest(trace: Trace) -> float:
    event = _next(trace)
    return math.inf if event is None else event.turn.number


def _document(setup: Setup, each: Candidate, result: Forecast) -> dict[str, Any]:
    trace = result.traces[each.id]
    return {
        **percept_json(each.percept, each.scope, setup.now.at, setup.knobs),
        "events": [
            {
                "event": event.event,
                "reason": event.reason,
                "scope": event.scope,
                "pass": event.turn.number,
                "running_days": result.running_days(event.turn.number),
                "w": event.w,
            }
            for event in trace.events
        ],
        "points": [
            {"pass": number, "running_days": result.running_days(number), "w": w}
            for number, w in trace.curve()
        ],
    }


def _line(each: Candidate, result: Forecast) -> str:
    event = _next(result.traces[each.id])
    coming = ("", "", "")
    if event is not None:
        number = event.turn.number
        coming = (event.event, repr(result.running_days(number)), str(number))
    w = repr(float(weight(each.percept)))
    return "\t".join((field(each.id), each.scope, w, *coming, field(each.percept["content"])))


def _when(event: Event, result: Forecast) -> str:
    if event.turn.number == 1:
        return "next pass"
    return duration(event.turn.number * result.turn_seconds)


def _print_table(
    setup: Setup, memory: Memory, chosen: list[Candidate], result: Forecast, stream: TextIO
) -> None:
    from milkmem.cli import render

    ids = printed_ids(memory)
    rows = []
    for each in chosen:
        event = _next(result.traces[each.id])
        coming = ("", "") if event is None else (event.event, _when(event, result))
        rows.append(
            render.Outlook(ids[each.id], each.scope, weight(each.percept), *coming, each.percept["content"])
        )
    render.forecast_table(rows, **Screen(setup.call, stream).layout())


def _print_one(setup: Setup, memory: Memory, chosen: Candidate, result: Forecast, days: float) -> None:
    from milkmem.cli import render
    from milkmem.cli.tables import told

    percept, knobs, trace = chosen.percept, setup.knobs, result.traces[chosen.id]
    points = [(result.running_days(number), w) for number, w in trace.curve()]
    lines = [(_when(event, result), told(event, percept, knobs)) for event in trace.events]
    if not trace.gone:
        lines.append(
            (duration(days * SECONDS_PER_DAY), f"w {weight(trace.percept):.2f}, still in {trace.scope}")
        )
    levels = {"promote": knobs.promote_threshold, "prune": knobs.prune_threshold}
    if chosen.scope == GLOBAL:
        levels = {"floor": knobs.prune_threshold}
    contested = chosen.id in contradictions(memory)
    render.forecast_detail(
        id=printed_ids(memory)[chosen.id],
        scope=chosen.scope,
        standing=standing.word(percept, chosen.scope, contested, knobs),
        content=percept["content"],
        lines=lines,
        points=points,
        levels=levels,
        end=duration(trace.curve()[-1][0] * result.turn_seconds),
        **Screen(setup.call).layout(),
    )
