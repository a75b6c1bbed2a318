"""`milkmem simulate`: what a way of working and other knobs would make of facts (section 15)."""

from __future__ import annotations

import sys
from functools import partial
from itertools import count

from milkmem import config, instants, simulate, store
from milkmem.cli.output import Screen, print_json
from milkmem.cli.output import count as counted
from milkmem.cli.plain import duration, field
from milkmem.cli.progress import Progress
from milkmem.cli.setup import Setup, at_terminal
from milkmem.consolidate import ARCHIVED_EVENT, PROMOTED_EVENT, PRUNED_EVENT
from milkmem.errors import DONE, BadUsage
from milkmem.instants import NANOSECONDS, SECONDS_PER_DAY
from milkmem.knobs import KNOBS, Knobs
from milkmem.memory import Memory
from milkmem.percept import ARCHIVE, GLOBAL, SESSION, evidence, weight
from milkmem.remember import Fact
from milkmem.simulate import FOLLOWED, GRADUATES, NEVER, Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from milkmem.cli.declare import Call
    from milkmem.knobs import Value
    from milkmem.simulate import Event, Simulation, Trace
    from milkmem.simulate import Progress as Told

IN_FORCE = "in force"
_ROWS = (("graduates", PROMOTED_EVENT), ("fades", PRUNED_EVENT), ("archived", ARCHIVED_EVENT))


def run(call: Call) -> int:
    """Play the pattern under each setting and print what came of it; return the exit code."""
    settings = [_Setting(text) for text in call.texts("set")]
    setup = Setup(call)
    played = _Played(setup, [_Setting(None), *settings])
    with Progress("playing the days") as progress:
        played.play(progress)
    if call.flag("json"):
        print_json(played.document())
    elif at_terminal(sys.stdout):
        _print(setup, played)
    else:
        for line in played.lines():
            print(line)
    return DONE


class _Setting:
    """Knobs that are changed together, by name, as `--set` has them; None for the knobs in force."""

    def __init__(self, text: str | None) -> None:
        self.changes: dict[str, Value] = {}
        for change in () if text is None else text.split(","):
            name, sign, value = change.partition("=")
            name = name.strip()
            if sign == "" or name not in KNOBS:
                raise _no_knob(name)
            self.changes[name] = _value(name, value.strip())

    @property
    def title(self) -> str:
        """What a column is headed with."""
        return ", ".join(f"{name}={_spelled(value)}" for name, value in self.changes.items()) or IN_FORCE

    def knobs(self, base: Knobs) -> Knobs:
        """Return the knobs in force with the changes; raises BadUsage where they exclude each other."""
        knobs = Knobs(**{**{name: getattr(base, name) for name in KNOBS}, **self.changes})
        if not config.apart(knobs):
            raise BadUsage("--set: prune_threshold must be below promote_threshold")
        return knobs


def _spelled(value: Value) -> str:
    """Return a value as `--set` takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else f"{value:g}"


def _no_knob(name: str) -> BadUsage:
    import difflib

    near = difflib.get_close_matches(name.lower(), KNOBS, n=1, cutoff=0.0)[0]
    return BadUsage("--set takes KNOB=VALUE", f"did you mean --set {near}={_spelled(KNOBS[near].default)}?")


def _value(name: str, text: str) -> Value:
    knob = KNOBS[name]
    value: object = text
    if isinstance(knob.default, bool):
        value = {"true": True, "false": False}.get(text, text)
    elif not isinstance(knob.default, str):
        try:
            value = float(text)
        except ValueError:
            value = text
    try:
        return knob.read(value)
    except ValueError as words:
        raise BadUsage(f"--set: {name} must be {words}") from None


class _Played:
    """A pattern played under several settings, each on a memory of its own."""

    def __init__(self, setup: Setup, settings: Sequence[_Setting]) -> None:
        call = setup.call
        self.setup = setup
        self.settings = settings
        self.knobs = [setting.knobs(setup.knobs) for setting in settings]
        self.from_here = call.flag("from_here")
        self.days = _number(call, "days")
        self.pattern = _pattern(call, self.from_here)
        self.simulations: list[Simulation] = []
        self.remedies: dict[str, dict[str, float]] = {}

    def play(self, progress: Told) -> None:
        """Play every setting, and where facts do not graduate look for the knob that would let them."""
        kept = None
        if self.from_here:
            kept = store.look(self.setup.place, archive=self.pattern.restated > 0).memory
        for at, knobs in enumerate(self.knobs):
            part = _Part(progress, at, len(self.knobs))
            self.simulations.append(self._simulate(knobs, kept, part))
        if kept is None:
            self._look_for_remedies()

    def _simulate(self, knobs: Knobs, kept: Memory | None, progress: Told) -> Simulation:
        numbers = count(1)
        fresh = kept is None
        return simulate.simulate(
            Memory({}, self.setup.place.session, lambda store: None)
            if kept is None
            else simulate.copy_of(kept),
            knobs,
            self.pattern,
            facts=[Fact(producer, producer) for producer in FOLLOWED] if fresh else (),
            start=self.setup.now,
            days=self.days,
            new_id=lambda: f"simulated-{next(numbers)}",
            points=simulate.POINTS if fresh or self.setup.call.flag("json") else 0,
            progress=progress,
        )

    def _look_for_remedies(self) -> None:
        simulation = self.simulations[0]
        for trace in simulation.traces:
            if simulation.graduates(trace) != GRADUATES:
                producer = trace.percept["producer"]
                self.remedies[producer] = simulate.remedies(
                    self.knobs[0], partial(self._lets_graduate, producer)
                )

    def _lets_graduate(self, producer: str, knobs: Knobs) -> bool:
        done = simulate.simulate(
            Memory({}, self.setup.place.session, lambda store: None),
            knobs,
            self.pattern,
            facts=[Fact(producer, producer)],
            start=self.setup.now,
            days=self.days,
            new_id=lambda: "simulated",
        )
        return done.graduates(done.traces[0]) == GRADUATES

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        pattern = self.pattern
        return {
            "days": self.days,
            "runs_per_day": pattern.runs_per_day,
            "hours_per_run": pattern.hours_per_run,
            "turns_per_run": pattern.turns_per_run,
            "restated": pattern.restated,
            "used": pattern.used,
            "from_here": self.from_here,
            "passes": self.simulations[0].passes,
            "pass_seconds": pattern.turn_seconds,
            "settings": [
                {
                    "set": setting.changes,
                    "facts": [self._fact(simulation, trace) for trace in simulation.traces],
                }
                for setting, simulation in zip(self.settings, self.simulations, strict=True)
            ],
            "remedies": [
                {"producer": producer, "knob": knob, "value": value}
                for producer, found in self.remedies.items()
                for knob, value in found.items()
            ],
        }

    def _fact(self, simulation: Simulation, trace: Trace) -> dict[str, Any]:
        return {
            "id": trace.percept["id"],
            "content": trace.percept["content"],
            "producer": trace.percept["producer"],
            "scope": trace.scope,
            "w": weight(trace.percept),
            "evidence": evidence(trace.percept),
            "graduates": simulation.graduates(trace),
            "events": [
                {
                    "event": event.event,
                    "reason": event.reason,
                    "scope": event.scope,
                    "run": event.turn.run,
                    "turn": event.turn.turn,
                    "pass": event.turn.number,
                    "at": instants.format(event.turn.moment.at),
                    "running_days": self._running_days(event.turn.number),
                    "w": event.w,
                }
                for event in trace.events
            ],
            "points": [
                {"pass": number, "running_days": self._running_days(number), "w": w}
                for number, w in trace.curve()
            ],
        }

    def _running_days(self, number: int) -> float:
        return number * self.pattern.turn_seconds / SECONDS_PER_DAY

    def lines(self) -> list[str]:
        """Return a tab-separated line for each setting and fact: what became of it, and in which run."""
        lines = []
        for setting, simulation in zip(self.settings, self.simulations, strict=True):
            for trace in simulation.traces:
                events = [trace.first(event) for _, event in _ROWS]
                lines.append(
                    "\t".join(
                        (
                            setting.title,
                            field(trace.percept["id"]),
                            field(trace.percept["producer"]),
                            trace.scope,
                            repr(float(weight(trace.percept))),
                            str(evidence(trace.percept)),
                            simulation.graduates(trace),
                            *("" if event is None else str(event.turn.run) for event in events),
                        )
                    )
                )
        return lines

    def day(self, event: Event) -> int:
        """Return on which day something happens, the first being 1."""
        passed: int = event.turn.moment.at - self.setup.now.at
        return passed // (SECONDS_PER_DAY * NANOSECONDS) + 1


class _Part:
    """The progress of one of several parts that take equally long."""

    def __init__(self, whole: Told, at: int, parts: int) -> None:
        self._whole = whole
        self._at = at
        self._parts = parts

    def __call__(self, share: float) -> None:
        self._whole((self._at + share) / self._parts)


def _pattern(call: Call, from_here: bool) -> Pattern:
    restated = call.whole("restated")
    turns, used = call.whole("turns_per_run"), call.whole("used")
    assert turns is not None  # as all that has a default
    assert used is not None
    pattern = Pattern(
        runs_per_day=_number(call, "runs_per_day"),
        hours_per_run=_number(call, "hours_per_run"),
        turns_per_run=turns,
        restated=restated if restated is not None else 0 if from_here else 1,
        used=used,
    )
    if not pattern.fits:
        raise BadUsage("the runs of a day take longer than a day", "fewer --runs-per-day or --hours-per-run")
    return pattern


def _number(call: Call, name: str) -> float:
    number = call.number(name)
    assert number is not None  # it has a default
    return number


# At a terminal.


def _print(setup: Setup, played: _Played) -> None:
    from milkmem.cli import render

    layout = Screen(setup.call).layout()
    render.paragraphs([_about(played), ""], **layout)
    groups = _groups_of_memory(played) if played.from_here else _groups(played)
    if groups:
        render.comparison([setting.title for setting in played.settings], groups, **layout)
    else:
        render.paragraphs(["the memory is empty"], **layout)
    for text in _remedies(played):
        render.paragraphs(["", *text], **layout)


def _about(played: _Played) -> str:
    pattern = played.pattern
    said = _often(pattern.restated, "restated")
    if not played.from_here:
        said = f"said in the first and {said}"
    return (
        f"{pattern.runs_per_day:g} × {duration(pattern.hours_per_run * 3_600)} a day,"
        f" {counted(pattern.turns_per_run, 'turn')} a run, {played.days:g} days."
        f" Each fact is {said}, {_often(pattern.used, 'used')}."
    )


def _often(every: int, what: str) -> str:
    if every == 0:
        return f"never {what}"
    return f"{what} in every run" if every == 1 else f"{what} in the first and every {every} runs"


def _groups(played: _Played) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the rows of each producer; those that fare alike share theirs."""
    producers: dict[tuple[tuple[str, tuple[str, ...]], ...], list[str]] = {}
    for at, producer in enumerate(FOLLOWED):
        fates = [_fate(played, simulation, simulation.traces[at]) for simulation in played.simulations]
        rows = tuple((label, tuple(fate[label] for fate in fates)) for label in fates[0])
        producers.setdefault(rows, []).append(producer)
    return [
        (", ".join(names), [(label, list(texts)) for label, texts in rows])
        for rows, names in producers.items()
    ]


def _fate(played: _Played, simulation: Simulation, trace: Trace) -> dict[str, str]:
    fate = {label: _first(played, trace, event) for label, event in _ROWS}
    verdict = simulation.graduates(trace)
    if verdict != GRADUATES:
        verdict = "never" if verdict == NEVER else f"not in {played.days:g} days"
        fate["graduates"] = f"{verdict}: w at most {trace.highest:.2f}, evidence {evidence(trace.percept)}"
    fate["at the end"] = f"{trace.scope}, w {weight(trace.percept):.2f}"
    return fate


def _first(played: _Played, trace: Trace, kind: str) -> str:
    events = [event for event in trace.events if event.event == kind]
    if not events:
        return "no"
    text = _time(played, events[0])
    return text if len(events) == 1 else f"{text}, {len(events)} times"


def _time(played: _Played, event: Event) -> str:
    return f"run {event.turn.run} (day {played.day(event)})"


def _groups_of_memory(played: _Played) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Return the rows of each producer of a memory: how many of its facts meet what, and when."""
    producers = sorted({trace.percept["producer"] for trace in played.simulations[0].traces})
    groups = []
    for producer in producers:
        facts = [
            [trace for trace in simulation.traces if trace.percept["producer"] == producer]
            for simulation in played.simulations
        ]
        rows = [(label, [_many(played, traces, event) for traces in facts]) for label, event in _ROWS]
        rows.append(("at the end", [_places(traces) for traces in facts]))
        groups.append((f"{producer}: {counted(len(facts[0]), 'fact')}", rows))
    return groups


def _many(played: _Played, traces: Sequence[Trace], kind: str) -> str:
    events = [event for event in (trace.first(kind) for trace in traces) if event is not None]
    if not events:
        return "none"
    events.sort(key=lambda event: event.turn.number)
    first, last = _time(played, events[0]), _time(played, events[-1])
    return f"{len(events)}: {first}" if first == last else f"{len(events)}: {first} to {last}"


def _places(traces: Sequence[Trace]) -> str:
    return ", ".join(
        f"{number} {scope}"
        for scope in (GLOBAL, SESSION, ARCHIVE)
        if (number := sum(trace.scope == scope for trace in traces)) > 0
    )


def _remedies(played: _Played) -> list[list[str]]:
    """Return, for the producers whose facts do not graduate, which knob alone would change that."""
    alike: dict[tuple[tuple[str, float], ...], list[str]] = {}
    for producer, remedies in played.remedies.items():
        alike.setdefault(tuple(remedies.items()), []).append(producer)
    texts = []
    for found, producers in alike.items():
        missed = f"Under the knobs in force, facts of {', '.join(producers)} do not graduate"
        if found:
            present = played.knobs[0]
            texts.append(
                [
                    f"{missed}. Each of these alone would let them:",
                    *(f"  --set {name}={value:g} (now {getattr(present, name):g})" for name, value in found),
                ]
            )
        else:
            texts.append([f"{missed}, and no knob alone would let them: they are restated too seldom."])
    return texts
