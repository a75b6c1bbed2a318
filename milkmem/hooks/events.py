"""What an agent tells its hooks: the event read leniently, and the envelope that answers it.

Whatever is missing, null or of the wrong type counts as not said; unknown fields are not looked at.
"""

from __future__ import annotations

import json
import os

from milkmem.digest import digest
from milkmem.errors import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

START = "start"
PROMPT = "prompt"
TURN = "turn"
END = "end"

KINDS = {
    "SessionStart": START,
    "UserPromptSubmit": PROMPT,
    "Stop": TURN,
    "AfterAgent": TURN,
    "agent-turn-complete": TURN,
    "SessionEnd": END,
}


class Event:
    """One event: its kind, the agent's name for it, and what it says, "" or None where it does not."""

    __slots__ = ("_session", "cwd", "kind", "message", "name", "prompt")

    def __init__(self, kind: str, name: str, payload: dict[str, Any]) -> None:
        self.kind = kind
        self.name = name
        self.cwd = _directory(_text(payload, "cwd"))
        self.prompt = _text(payload, "prompt")
        self.message = _text(payload, "last_assistant_message")
        self._session = _text(payload, "session_id")

    @property
    def session_key(self) -> str:
        """What the nonce of the agent's session is kept under: a digest of its id, "" without one."""
        return "" if self._session == "" else digest(self._session)


def decode(text: str) -> dict[str, Any]:
    """Return the JSON object that an agent sent; raises BadUsage for anything else."""
    if text.strip() == "":
        raise BadUsage("there is no event to read")
    try:
        payload = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise BadUsage("the event is not JSON") from error
    if type(payload) is not dict:
        raise BadUsage("the event is not a JSON object")
    return payload


def read(payload: dict[str, Any]) -> Event | None:
    """Return the event that a payload tells of, None for one that is none of ours."""
    name = _text(payload, "hook_event_name")
    kind = KINDS.get(name)
    return None if kind is None else Event(kind, name, payload)


def envelope(event: Event, context: str) -> str:
    """Return the JSON line that puts a context before the model, in ASCII."""
    output = {"hookEventName": event.name, "additionalContext": context}
    return json.dumps({"hookSpecificOutput": output})


def _text(payload: dict[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if type(value) is str else ""


def _directory(path: str) -> str | None:
    """Return the event's directory, None where it says none that could be one."""
    return path if os.path.isabs(path) and "\0" not in path else None
