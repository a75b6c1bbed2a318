"""Codex: its hooks file, and the older form, which passes the event as an argument."""

from __future__ import annotations

import os

from milkmem.hooks import CODEX, command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from milkmem.hooks.settings import HookFile

FOLDER = ".codex"
FOLDER_VARIABLE = "CODEX_HOME"
HOOKS_FILE = "hooks.json"
CONFIG_FILE = "config.toml"
NOTIFY = "notify"

# In seconds. Codex says at every start that it gives the end of a session less than it is asked for.
EVENTS = (("SessionStart", 5), ("Stop", 5), ("SessionEnd", 1))
PROMPT_EVENT = ("UserPromptSubmit", 5)

_OLDER_KEYS = {
    "type": "hook_event_name",
    "thread-id": "session_id",
    "last-assistant-message": "last_assistant_message",
}


def translate(payload: dict[str, Any]) -> dict[str, Any]:
    """Return an event of the older form under the keys of the newer one; others as they are."""
    if "hook_event_name" in payload:
        return payload
    return {_OLDER_KEYS.get(key, key): value for key, value in payload.items()}


def hook_file(home: str, project: str | None, environ: Mapping[str, str]) -> HookFile:
    """Return the hooks file of the user, or of a project."""
    from milkmem.hooks.settings import HookFile

    path = os.path.join(_folder(home, project, environ), HOOKS_FILE)
    return HookFile(path, command(CODEX), EVENTS, PROMPT_EVENT)


def notify_file(home: str, environ: Mapping[str, str]) -> NotifyFile:
    """Return the user's configuration, which can hold the notify line."""
    return NotifyFile(os.path.join(_folder(home, None, environ), CONFIG_FILE))


def _folder(home: str, project: str | None, environ: Mapping[str, str]) -> str:
    if project is not None:
        return os.path.join(project, FOLDER)
    return environ.get(FOLDER_VARIABLE, "") or os.path.join(home, FOLDER)


class NotifyFile:
    """Codex's configuration, in which one line names the program that is told of each finished turn."""

    __slots__ = ("path",)

    def __init__(self, path: str) -> None:
        self.path = path

    def installed(self, text: str | None, prompt: bool) -> str:
        """Return the text with our line first, where a key is a top-level one; raises Unusable."""
        from milkmem.hooks.settings import Unusable

        text = "" if text is None else text
        program = _parsed(text).get(NOTIFY)
        if program == command(CODEX).split():
            return text
        if program is not None:
            raise Unusable(f"has a {NOTIFY} program already; Codex takes one only")
        return _line(text) + text

    def uninstalled(self, text: str, backup: str | None) -> str | None:
        """Return the text without our line, None where the file was made for it; raises Unusable."""
        from milkmem.hooks.settings import Unusable

        document = _parsed(text)
        if document.pop(NOTIFY, None) != command(CODEX).split():
            return text
        rest = text.replace(_line(text), "", 1)
        if _parsed(rest) != document:
            raise Unusable(f"has the {NOTIFY} line in another form than ours; take it out by hand")
        return None if rest == "" and backup is None else rest

    def made_from(self, old: str | None, text: str) -> bool:
        """Return whether a text is `old`, which did not have our line, with it and nothing else changed."""
        return old is not None and not self.calls_us(old) and _line(old) + old == text

    def calls_us(self, text: str | None) -> bool:
        """Return whether a text can be read and holds our line."""
        from milkmem.hooks.settings import Unusable

        try:
            return text is not None and _parsed(text).get(NOTIFY) == command(CODEX).split()
        except Unusable:
            return False


def _line(text: str) -> str:
    import json

    newline = "\r\n" if "\r\n" in text else "\n"
    return f"{NOTIFY} = {json.dumps(command(CODEX).split())}{newline}"


def _parsed(text: str) -> dict[str, Any]:
    import tomllib

    from milkmem.hooks.settings import Unusable

    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise Unusable("is not TOML") from error
