"""Claude Code: which settings files it reads, and the events that milkmem is put at."""

from __future__ import annotations

import os

from milkmem.hooks import CLAUDE_CODE, command
from milkmem.hooks.settings import HookFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = ".claude"
FOLDER_VARIABLE = "CLAUDE_CONFIG_DIR"
SETTINGS = "settings.json"

# In seconds. A call takes a fraction of one; the rest is for machines that are busy.
EVENTS = (("SessionStart", 5), ("Stop", 5), ("SessionEnd", 5))
PROMPT_EVENT = ("UserPromptSubmit", 5)


def hook_file(home: str, project: str | None, environ: Mapping[str, str]) -> HookFile:
    """Return the settings file of the user, or of a project."""
    folder = environ.get(FOLDER_VARIABLE, "") if project is None else ""
    if folder == "":
        folder = os.path.join(home if project is None else project, FOLDER)
    return HookFile(os.path.join(folder, SETTINGS), command(CLAUDE_CODE), EVENTS, PROMPT_EVENT)
