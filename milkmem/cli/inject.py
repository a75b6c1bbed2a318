"""`milkmem inject`: the block of facts to put before a prompt (section 13)."""

from __future__ import annotations

from milkmem import remember, store
from milkmem.cli.output import count, percept_json, print_json
from milkmem.cli.setup import STANDARD_INPUT, Setup, note_use, say, standard_input
from milkmem.errors import DONE
from milkmem.recall import Injection, inject

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.cli.declare import Call


def run(call: Call) -> int:
    """Print the block and count what is in it as used; return the exit code."""
    setup = Setup(call)
    prompt = call.text("prompt")
    if prompt == STANDARD_INPUT:
        prompt = standard_input()
    view = store.look(setup.place)
    injection = injected(
        setup, view, prompt, call.text("audience"), call.whole("max"), call.whole("max_bytes")
    )
    _print(setup, view, injection)
    return DONE


def injected(
    setup: Setup,
    view: store.View,
    prompt: str | None,
    audience: str | None,
    most: int | None = None,
    most_bytes: int | None = None,
) -> Injection:
    """Return what to inject, and note it as used and as injected by this run (I4, S6)."""
    knobs = setup.knobs
    injection = inject(
        view.memory,
        knobs,
        prompt,
        now=setup.now.at,
        audience=audience,
        most=most or knobs.percept_inject_max,
        most_bytes=most_bytes or knobs.percept_inject_max_bytes,
    )
    if injection.percepts:
        marks = {remember.echo_mark(percept["content"]) for percept, _ in injection.percepts}
        note_use(setup, view, {percept["id"] for percept, _ in injection.percepts}, marks)
    return injection


def _print(setup: Setup, view: store.View, injection: Injection) -> None:
    memory, now, knobs = view.memory, setup.now.at, setup.knobs
    if setup.call.flag("json"):
        print_json(
            {
                "block": injection.block,
                "percepts": [
                    percept_json(percept, memory.scope(name), now, knobs)
                    for percept, name in injection.percepts
                ],
                "dropped": [{"id": percept["id"], "reason": reason} for percept, reason in injection.dropped],
                "bytes": injection.bytes,
            }
        )
        return
    if injection.percepts:
        print(injection.block)
    if injection.dropped_count:
        say(
            f"{count(injection.dropped_count, 'percept')} left out for the budget;"
            " --max and --max-bytes set it"
        )
