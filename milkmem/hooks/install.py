"""Putting our hooks into an agent's settings files and taking them out, one file at a time.

A file is replaced whole or not at all, a symbolic link is written through, and the bytes before stay beside
it as `.bak`: those from before our hooks came, for as long as nothing but our hooks has changed since.
"""

from __future__ import annotations

import os

from milkmem import files
from milkmem.errors import BadConfig, BadData, Busy
from milkmem.hooks.settings import Unusable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Target(Protocol):
        """A file that can hold our hooks; `installed` and `uninstalled` say what becomes of its text."""

        @property
        def path(self) -> str:
            """Where the file is."""

        def installed(self, text: str | None, prompt: bool) -> str:
            """Return the text with our hooks."""

        def uninstalled(self, text: str, backup: str | None) -> str | None:
            """Return the text without our hooks, None for no file."""

        def made_from(self, old: str | None, text: str) -> bool:
            """Return whether the text is an older one with our hooks and nothing else changed."""

        def calls_us(self, text: str | None) -> bool:
            """Return whether the text holds something of ours."""


_MARK = "hooks"
_ATTEMPTS = 5


class Change:
    """What is to become of one file, or became: its text before and after, None where there is no file."""

    __slots__ = ("after", "backup", "before", "path")

    def __init__(self, path: str, before: str | None, after: str | None) -> None:
        self.path = path
        self.before = before
        self.after = after
        self.backup: str | None = None

    @property
    def needed(self) -> bool:
        """Whether the text changes at all."""
        return self.before != self.after


def planned(target: Target, *, prompt: bool, uninstall: bool) -> Change:
    """Return what would become of a file, and write nothing.

    Raises BadConfig for a file that cannot be read or changed in place, BadData for what is no file.
    """
    return _plan(target, _read(target.path), prompt, uninstall)


def carried_out(target: Target, *, prompt: bool, uninstall: bool) -> Change:
    """Change a file and return what became of it; raises as `planned`, and CannotWrite, and Busy (Z4)."""
    change = planned(target, prompt=prompt, uninstall=uninstall)
    if not change.needed:
        return change
    lock = files.lock_directory_of(target.path)
    try:
        for _ in range(_ATTEMPTS):
            seen = files.fingerprint_of(target.path)
            before = _read(target.path)
            change = _plan(target, before, prompt, uninstall)
            if not change.needed:
                return change
            if before is not None and _must_keep(target, before):
                change.backup = files.back_up(target.path, before.encode(), _MARK)
            if files.fingerprint_of(target.path) != seen:
                continue
            if change.after is None:
                _remove(target.path)
            else:
                files.replace(target.path, change.after.encode(), _MARK)
            return change
        raise Busy(f"{target.path} keeps changing under us", "try again when the agent is quiet")
    finally:
        os.close(lock)


def _plan(target: Target, before: str | None, prompt: bool, uninstall: bool) -> Change:
    try:
        if not uninstall:
            return Change(target.path, before, target.installed(before, prompt))
        if before is None:
            return Change(target.path, None, None)
        return Change(target.path, before, target.uninstalled(before, _backup_of(target.path)))
    except Unusable as error:
        raise BadConfig(f"{target.path}: {error}", "nothing was written") from error


def _must_keep(target: Target, before: str) -> bool:
    """Return whether the bytes before must become the backup.

    They must not where only our hooks were added since the backup that is there.
    """
    backup = _backup_of(target.path)
    return backup is None or not target.made_from(backup, before)


def _backup_of(path: str) -> str | None:
    try:
        return _read(path + files.BACKUP_SUFFIX)
    except (BadConfig, BadData):
        return None


def _read(path: str) -> str | None:
    found = files.read_regular(path)
    try:
        return None if found is None else found[0].decode()
    except UnicodeDecodeError as error:
        raise BadConfig(f"{path}: is not UTF-8", "nothing was written") from error


def _remove(path: str) -> None:
    real = os.path.realpath(path)
    try:
        os.unlink(real)
        files.sync_directory(os.path.dirname(real))
    except OSError as error:
        raise files.cannot_write(path, error) from error
