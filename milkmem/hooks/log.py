"""The hook log: what went wrong while nobody looked, in `.milkmem/hook.log`, bounded, without a fact's text.

A line is a time, who called, and what happened. Lines that begin with `NOTE` behind these are for the
curious; of all others a person at a terminal is told once.
"""

from __future__ import annotations

from milkmem import files, instants
from milkmem.errors import MilkmemError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from milkmem.store import Place

NAME = "hook.log"
LIMIT_BYTES = 256 * 1024
NOTE = "note: "

_TOLD = "hook.told"
_MARK = "log"
_LINE_LETTERS = 1000
# Writers do not wait for each other, so that each leaves room for lines of others.
_ROOM_BYTES = 32 * 1024


def add(place: Place, now: int, source: str, message: str) -> None:
    """Append a line; where that cannot be done, or there is no data directory, nothing happens.

    `now` is in nanoseconds since the epoch; `source` names the agent and the event.
    """
    from milkmem.recall import one_line

    line = one_line(f"{instants.format(now)} {source}: {message}")[:_LINE_LETTERS]
    try:
        if place.exists():
            files.make_private_directory(place.state())
            data = line.encode("utf-8", "replace") + b"\n"
            files.append(place.state(NAME), data, LIMIT_BYTES - _ROOM_BYTES)
    except MilkmemError:
        return


def news(place: Place) -> str | None:
    """Return the path of the log if it says something that no person was told of, and note that one was."""
    path = place.state(NAME)
    try:
        found = files.read_regular(path)
        if found is None:
            return None
        size = len(found[0])
        told = _told(place)
        if told == size:
            return None
        files.replace(place.state(_TOLD), str(size).encode(), _MARK)
    except MilkmemError:
        return None
    lines = found[0][told if told < size else 0 :].decode("utf-8", "replace").splitlines()
    return path if any(f": {NOTE}" not in line for line in lines) else None


def _told(place: Place) -> int:
    found = files.read_regular(place.state(_TOLD))
    return int(found[0]) if found is not None and found[0].isdigit() else 0
