"""What a command line, the environment and the configuration together ask for, resolved once (F1, F2, R2)."""

from __future__ import annotations

import os
import sys

from milkmem import clock, config, instants, places, store
from milkmem.errors import BadUsage, Busy, CannotWrite
from milkmem.store import Place, RunChoice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TextIO

    from milkmem.cli.declare import Call
    from milkmem.config import Settings
    from milkmem.knobs import Knobs
    from milkmem.runs import Moment


class Setup:
    """The place, the knobs, the run and the moment of one command.

    `directory` is where `@cwd` stands for the project around it, the working directory if None (F2).
    """

    __slots__ = ("at", "call", "knobs", "now", "place", "settings")

    def __init__(self, call: Call, directory: str | None = None) -> None:
        environ = os.environ
        self.call = call
        self.settings: Settings = settings(call)
        self.knobs: Knobs = self.settings.knobs
        self.place = Place(
            places.data_directory(call.text("data_dir"), environ, self.settings.data_dir),
            places.session_name(call.text("session"), environ, self.settings.session, directory),
            places.lock_timeout(environ),
        )
        self.at = _instant(call)
        self.now: Moment = clock.read(self.at)

    def run_choice(self) -> RunChoice:
        """Return which run the command belongs to (R2)."""
        return RunChoice(places.run_id(self.call.text("run"), os.environ), self.knobs.run_gap_minutes)


USE_WAIT = 0.5


def note_use(setup: Setup, view: store.View, ids: Collection[str], injected: Collection[str] = ()) -> None:
    """Note in the files that percepts were used; where that cannot be done, warn and go on (Q3).

    `injected` are the marks by which an echo of what was injected is known (S6).
    """
    from milkmem import recall

    def work(visit: store.Visit) -> None:
        recall.mark_used(visit.memory, ids, visit.now.at)
        visit.run.injected.update(injected)

    wait = min(USE_WAIT, setup.place.lock_timeout)
    try:
        _, warnings = store.edit(
            setup.place, work, now=setup.now, run=setup.run_choice(), wait=wait, seen=view
        )
    except (Busy, CannotWrite) as error:
        warnings = [f"use was not noted: {error.message}"]
    for warning in warnings:
        say(warning)


def settings(call: Call) -> Settings:
    """Return the configuration in force (section 3)."""
    return config.load(config_path(call), must_exist=call.text("config") is not None)


def config_path(call: Call) -> str:
    """Return the configuration's path: `--config`, the environment, the platform's place (section 3)."""
    named = call.text("config")
    return config.default_path(os.environ) if named is None else os.path.abspath(named)


def _instant(call: Call) -> int | None:
    text = call.text("at") if "at" in call.values else None
    if text is None:
        return None
    try:
        return instants.parse_input(text)
    except ValueError as error:
        raise BadUsage("--at must be a time such as 2026-12-01T09:00:00Z or 2026-12-01") from error


def say(message: str) -> None:
    """Print one line for a person, on standard error (X3)."""
    from milkmem.cli.plain import visible

    print(f"milkmem: {visible(message)}", file=sys.stderr)


def hint(command: str) -> None:
    """Print the next command to type, on standard error (X3)."""
    from milkmem.cli.plain import visible

    print(f"hint: {visible(command)}", file=sys.stderr)


def at_terminal(stream: TextIO) -> bool:
    """Return whether a person looks at the stream."""
    return stream.isatty()
