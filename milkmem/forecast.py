"""What happens next to each percept, and when, if nothing is said or used again (section 15).

The next pass is done on a copy by `consolidate` itself, and so are all later ones for percepts that act on
each other: those at live edges, and all where an edge could bring one into a store with a size cap.
The others only decay and grow idle, and a Δt can be split or joined at will (D3): for them one step of
`rules` leads to the pass at which they leave.
"""

from __future__ import annotations

import math

from milkmem import instants, rules, simulate
from milkmem.consolidate import ARCHIVED_EVENT, PRUNED_EVENT
from milkmem.instants import SECONDS_PER_DAY
from milkmem.knobs import NEVER
from milkmem.memory import Memory, live_edges
from milkmem.percept import GLOBAL, PRUNED, SESSION, STALE, idle_seconds, is_core, put, weight
from milkmem.simulate import Pattern, Trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from milkmem.knobs import Knobs
    from milkmem.percept import Percept
    from milkmem.runs import Book, Moment, Run
    from milkmem.simulate import Progress

# Seconds of idling so near to the limit that only the sum a pass makes can tell on which side they are.
_NEAR = 1e-3


class Forecast:
    """What is to come: a trace of each percept, by id, over a number of passes of one Δt in seconds each."""

    __slots__ = ("passes", "traces", "turn_seconds")

    def __init__(self, traces: dict[str, Trace], passes: int, turn_seconds: float) -> None:
        self.traces = traces
        self.passes = passes
        self.turn_seconds = turn_seconds

    def running_days(self, number: int) -> float:
        """Return when a pass is done, in running days from now."""
        return number * self.turn_seconds / SECONDS_PER_DAY


def back_to_back(hours_per_run: float, turns_per_run: int) -> Pattern:
    """Return the pattern of a forecast: runs without a pause between them, nothing said, nothing used."""
    return Pattern(
        runs_per_day=24 / hours_per_run,
        hours_per_run=hours_per_run,
        turns_per_run=turns_per_run,
        restated=0,
        used=0,
    )


def forecast(
    memory: Memory,
    knobs: Knobs,
    pattern: Pattern,
    *,
    start: Moment,
    book: Book,
    run: Run | None,
    days: float,
    wanted: AbstractSet[str] | None = None,
    points: int = 0,
    progress: Progress | None = None,
) -> Forecast:
    """Return what becomes of live percepts within so many running days; `memory` stays as it is.

    Time counts from the state of the files, as if a run began now, or `run` had just begun. `book` and `run`
    are changed. `wanted` are the ids asked for, None for all; `points` is at how many times w is, about.
    """
    passes = max(1, int(days * SECONDS_PER_DAY / pattern.turn_seconds + _NEAR))
    working = simulate.copy_of(memory)
    if wanted is not None and not knobs.percept_store_max:
        _leave_only(working, wanted)
    traces = {trace.percept["id"]: trace for trace in simulate.traces_of(working, points)}
    here = dict(traces)
    alone = _Alone(knobs, pattern, start, passes, points)
    for turn in simulate.play(working, knobs, pattern, start=start, book=book, run=run, passes=passes):
        simulate.follow(turn, here)
        for percept_id, trace in list(here.items()):
            if trace.gone:
                del here[percept_id]
            else:
                trace.point(turn.number)
        settled = _settled(working, knobs, turn.moment.at)
        for store in working.live():
            working.remove(store, settled)
        for percept_id in settled:
            alone.follow(here.pop(percept_id), turn.number)
        if not here:
            break
        if progress is not None:
            progress(turn.number / passes)
    for trace in here.values():
        trace.points.append((passes, weight(trace.percept)))
    return Forecast(traces, passes, pattern.turn_seconds)


def _leave_only(memory: Memory, wanted: AbstractSet[str]) -> None:
    """Take out of a memory all but the percepts wanted and those that act on them, near or far."""
    neighbours: dict[str, list[str]] = {}
    for _, one, other in live_edges(memory):
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    reached = set(wanted)
    waiting = list(wanted)
    while waiting:
        for other in neighbours.get(waiting.pop(), ()):
            if other not in reached:
                reached.add(other)
                waiting.append(other)
    for store in memory.live():
        memory.remove(store, {percept["id"] for percept in memory.percepts(store)} - reached)


def _settled(memory: Memory, knobs: Knobs, at: int) -> set[str]:
    """Return the ids of percepts that nothing will act on any more, at the end of a pass.

    One whose last use is still to come, by a clock that went wrong, is not idle until then (D4).
    """
    linked = {end for _, *ends in live_edges(memory) for end in ends}
    if linked and knobs.percept_store_max:
        return set()
    return {
        percept["id"]
        for store in memory.live()
        for percept in memory.percepts(store)
        if percept["id"] not in linked and not _used_after(percept, at)
    }


def _used_after(percept: Percept, at: int) -> bool:
    last_used_at = percept.get("last_used_at")
    return last_used_at is not None and instants.parse(last_used_at) > at


class _Alone:
    """Follows percepts that only decay and grow idle to the pass at which they leave."""

    __slots__ = ("_knobs", "_passes", "_pattern", "_points", "_stale", "_start")

    def __init__(self, knobs: Knobs, pattern: Pattern, start: Moment, passes: int, points: int) -> None:
        self._knobs = knobs
        self._pattern = pattern
        self._start = start
        self._passes = passes
        self._points = points
        self._stale: dict[float, int] = {}

    def follow(self, trace: Trace, number: int) -> None:
        """Note what becomes of a percept that stands as a pass left it; `number` is that pass.

        Its w is then that of the pass at which it leaves, or of the last one.
        """
        percept = trace.percept
        event, reason = (PRUNED_EVENT, PRUNED) if trace.scope == SESSION else (ARCHIVED_EVENT, STALE)
        more = self._passes_left(percept, trace.scope, self._passes - number)
        end = self._passes if more is None else number + more
        if self._points > 0:
            step = math.ceil((end - number) / self._points) or 1
            for at in reversed(range(end, number, -step)):
                trace.points.append((at, self._w_after(percept, trace.scope, at - number)))
        put(percept, "w", self._w_after(percept, trace.scope, end - number))
        if more is not None:
            trace.add(event, reason, simulate.turn_of(self._pattern, end, self._start), weight(percept))

    def _w_after(self, percept: Percept, scope: str, passes: int) -> float:
        w, knobs = weight(percept), self._knobs
        passed = passes * self._pattern.turn_seconds
        if is_core(percept):
            return w
        if scope == GLOBAL:
            return rules.decay(w, rules.global_halving(passed, knobs), knobs.prune_threshold)
        return rules.decay(w, rules.session_halving(passed, knobs), 0.0)

    def _passes_left(self, percept: Percept, scope: str, most: int) -> int | None:
        """Return at which pass from here a percept leaves, None if not within so many (A1, A3)."""
        knobs = self._knobs
        if is_core(percept) or (scope == GLOBAL and knobs.global_archive_after_days == NEVER):
            return None
        if scope == GLOBAL:
            left = self._passes_to_stale(percept)
        else:
            left = self._passes_in(rules.running_days_to_prune(percept, knobs))
            # The gate has a tolerance: the pass before may be through it already (W3).
            if left > 1 and rules.sinks_to(self._w_after(percept, scope, left - 1), knobs.prune_threshold):
                left -= 1
        return left if left <= most else None

    def _passes_in(self, days: float) -> int:
        return max(1, math.ceil(days * SECONDS_PER_DAY / self._pattern.turn_seconds))

    def _passes_to_stale(self, percept: Percept) -> int:
        """Return the passes until a global percept is stale: those of the sum that they make, bit for bit."""
        idle = idle_seconds(percept)
        days = rules.running_days_to_archive(percept, self._knobs)
        turn = self._pattern.turn_seconds
        beyond = days * SECONDS_PER_DAY % turn
        if _NEAR < beyond < turn - _NEAR:
            return self._passes_in(days)
        if idle not in self._stale:
            probe: Percept = {**percept}
            passes = 0
            while not rules.is_stale(probe, self._knobs):
                put(probe, "idle_seconds", idle_seconds(probe) + turn)
                passes += 1
            self._stale[idle] = max(1, passes)
        return self._stale[idle]
