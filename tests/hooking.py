"""An agent for the tests: it sends the recorded events of tests/data/hooks to the real program."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from program import Program, Result

EVENTS = Path(__file__).parent / "data" / "hooks"
CLAUDE_CODE = "claude-code"
CODEX = "codex"
NONCE = re.compile(r"<milk:percept:([a-z0-9]{6})>one fact</milk:percept:\1>")


def event(agent: str, name: str, **changes: Any) -> dict[str, Any]:
    """Return a recorded event with some fields changed; `...` takes a field out."""
    payload: dict[str, Any] = json.loads((EVENTS / f"{agent}.{name}.json").read_bytes())
    payload |= changes
    return {key: value for key, value in payload.items() if value is not ...}


def tag(nonce: str, fact: str) -> str:
    """Return a percept tag."""
    return f"<milk:percept:{nonce}>{fact}</milk:percept:{nonce}>"


class Agent:
    """One session of an agent: it keeps the nonce that it is given, and expects what agents expect."""

    def __init__(
        self, program: Program, name: str = CLAUDE_CODE, session: str = "s-1", **fields: Any
    ) -> None:
        self.program = program
        self.name = name
        self.fields = {"session_id": session, **fields}
        self.nonce = ""
        self.separate = False  # whether each event is a process of its own

    def send(self, name: str, *options: str, **changes: Any) -> Result:
        """Send one event and return how the hook ended."""
        payload = json.dumps(event(self.name, name, **{**self.fields, **changes})).encode()
        if self.separate:
            return self.program.call("hook", "run", self.name, *options, input=payload)
        return self.program.run("hook", "run", self.name, *options, stdin=payload)

    def context(self, name: str, **changes: Any) -> str:
        """Send an event that may be answered, and return the context, "" if there is none."""
        result = self.send(name, **changes)
        assert (result.code, result.err) == (0, ""), result
        if result.out == "":
            return ""
        answer = result.json
        assert result.out.isascii()
        assert result.out.count("\n") == 1
        context = answer["hookSpecificOutput"]["additionalContext"]
        assert answer == {"hookSpecificOutput": {"hookEventName": name, "additionalContext": context}}
        assert len(context.encode("utf-16-le")) < 2 * 9000
        return str(context)

    def begin(self, **changes: Any) -> str:
        """Start the session, keep the nonce, and return the context."""
        context = self.context("SessionStart", **changes)
        found = NONCE.search(context)
        self.nonce = "" if found is None else found[1]
        return context

    def say(self, message: str, **changes: Any) -> None:
        """End a turn with an answer."""
        self._silent("Stop", last_assistant_message=message, **changes)

    def note(self, *facts: str) -> None:
        """End a turn with an answer that tags facts."""
        self.say("\n".join(["Done.", *(tag(self.nonce, fact) for fact in facts), ""]))

    def end(self) -> None:
        """End the session."""
        self._silent("SessionEnd")

    def _silent(self, name: str, **changes: Any) -> None:
        result = self.send(name, **changes)
        assert (result.code, result.out, result.err) == (0, "", ""), result
