"""What a command line, the environment and the configuration together ask for, resolved once (F1, F2, R2)."""

from __future__ import annotations

import os
import sys

from milkmem import clock, config, instants, places, store
from milkmem.errors import BadData, BadUsage, Busy, CannotWrite
from milkmem.store import Place, RunChoice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import TextIO, TypeVar

    from milkmem.cli.declare import Call
    from milkmem.config import Settings
    from milkmem.knobs import Knobs
    from milkmem.runs import Moment

    T = TypeVar("T")


class Setup:
    """The place, the knobs, the run and the moment of one command.

    `directory` is where `@cwd` stands for the project around it, the working directory if None (F2).
    """

    __slots__ = ("_run", "at", "call", "knobs", "now", "place", "settings")

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
        self._run = places.run_id(call.text("run"), environ) if "run" in call.values else None
        self.at = _instant(call)
        self.now: Moment = clock.read(self.at)
        if at_terminal(sys.stderr):
            _tell_of_log(self.place)

    def run_choice(self) -> RunChoice:
        """Return which run the command belongs to (R2)."""
        return RunChoice(self._run, self.knobs.run_gap_minutes)


STANDARD_INPUT = "-"
USE_WAIT = 0.5


def edit(setup: Setup, work: Callable[[store.Visit], T], run: RunChoice | None = None) -> T:
    """Do one read-modify-write of the command's memory, and say what it warns of (Z1 to Z4)."""
    result, warnings = store.edit(setup.place, work, at=setup.at, run=run)
    for warning in warnings:
        say(warning)
    return result


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
            setup.place, work, at=setup.at, run=setup.run_choice(), wait=wait, seen=view, lenient=True
        )
    except (BadData, Busy, CannotWrite) as error:
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


def _tell_of_log(place: Place) -> None:
    """Tell a person once of what went wrong in hooks, where nobody looked."""
    from milkmem.hooks import log

    path = log.news(place)
    if path is not None:
        say(f"something went wrong in a hook; see {path}")


def say(message: str) -> None:
    """Print one line for a person, on standard error (X3)."""
    _tell(f"milkmem: {message}")


def hint(command: str) -> None:
    """Print the next command to type, on standard error (X3)."""
    _tell(f"hint: {command}")


def _tell(line: str) -> None:
    """Print a line on standard error; one that is full or closed must not cost the result (X3)."""
    from milkmem.cli.plain import visible

    try:
        print(visible(line), file=sys.stderr, flush=True)
    except OSError:
        from milkmem.cli.streams import drop

        drop(sys.stderr)


def at_terminal(stream: TextIO | None) -> bool:
    """Return whether a person is at the stream; there is no stream where it is closed."""
    return stream is not None and stream.isatty()


def standard_input() -> str:
    """Return the whole of standard input, "" where it is closed (X6); what is no UTF-8 is replaced."""
    return (
        "" if sys.stdin is None else sys.stdin.buffer.read().decode("utf-8", "replace").removeprefix("\ufeff")
    )
