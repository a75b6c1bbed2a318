"""Every way to end: the exit codes, once, and the error that carries each (rules X2, X3).

An error's text never holds the content of a percept, only ids, names and positions (Z6).
"""

from __future__ import annotations

DONE = 0
REFUSED = 1
USAGE = 64
BAD_DATA = 65
DEFECT = 70
CANNOT_WRITE = 73
BUSY = 75
BAD_CONFIG = 78
INTERRUPTED = 130

EXIT_CODES: dict[int, str] = {
    DONE: "done; an empty result is done too",
    REFUSED: "no such percept, ambiguous target, declined, or config init over an existing file",
    USAGE: "the command line is wrong",
    BAD_DATA: "a memory file cannot be read; nothing was written",
    DEFECT: "a defect of milkmem itself",
    CANNOT_WRITE: "cannot write, or standard output is full or closed",
    BUSY: "another command holds the memory, or a file keeps changing under us",
    BAD_CONFIG: "the configuration is wrong; nothing was written",
    INTERRUPTED: "interrupted",
}


class MilkmemError(Exception):
    """What went wrong in one line, the exit code it ends with, and the next command to type."""

    code = DEFECT

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Refused(MilkmemError):
    """Nothing matches, too much matches, or a person said no."""

    code = REFUSED


class BadUsage(MilkmemError):
    """The command line cannot be carried out as written."""

    code = USAGE


class BadData(MilkmemError):
    """A memory file is not of the form of rule F3; it was left as it is (F7)."""

    code = BAD_DATA


class CannotWrite(MilkmemError):
    """A file or directory could not be written; every file is as it was."""

    code = CANNOT_WRITE


class Busy(MilkmemError):
    """The lock was not free in time, or a file changed at every attempt (Z1, Z4)."""

    code = BUSY


class BadConfig(MilkmemError):
    """The configuration has an unknown key, a wrong type or a value out of bounds (K1)."""

    code = BAD_CONFIG
