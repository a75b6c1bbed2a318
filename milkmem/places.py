"""Where the memory is: the data directory and the session's name, one resolution for all (F1, F2)."""

from __future__ import annotations

import os
import re
import sys

from milkmem.errors import BadConfig, BadUsage
from milkmem.percept import ARCHIVE, GLOBAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

APPLICATION = "milkmem"
DEFAULT_SESSION = "session"
PROJECT_SESSION = "@cwd"
PROJECT_DIGITS = 8
NAME_LENGTH = 128
DEFAULT_LOCK_TIMEOUT = 10.0

CONFIG_VARIABLE = "MILKMEM_CONFIG"
DATA_DIR_VARIABLE = "MILKMEM_DATA_DIR"
SESSION_VARIABLE = "MILKMEM_SESSION"
RUN_VARIABLE = "MILKMEM_RUN"
LOCK_TIMEOUT_VARIABLE = "MILKMEM_LOCK_TIMEOUT"

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
_NAME_LETTERS = _LETTERS | frozenset("._-")
_DEVICES = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{digit}" for port in ("com", "lpt") for digit in range(10))]
)


def is_name(text: str) -> bool:
    """Return whether a text can name a session or a run (F2, R2)."""
    return (
        0 < len(text) <= NAME_LENGTH
        and text[0] in _LETTERS
        and _NAME_LETTERS.issuperset(text)
        and text.lower() not in (GLOBAL, ARCHIVE)
        and text.lower().split(".")[0] not in _DEVICES
    )


def checked_name(text: str, what: str) -> str:
    """Return the name of a session or run; raises BadUsage before any path is built from it (F2, R2)."""
    if not is_name(text):
        raise BadUsage(
            f"{what} must be 1 to {NAME_LENGTH} letters, digits or . _ -, begin with a letter or digit,"
            f" and not be {GLOBAL}, {ARCHIVE} or a device name"
        )
    return text


def data_directory(option: str | None, environ: Mapping[str, str], configured: str | None) -> str:
    """Return the data directory's absolute path: option, environment, configuration, platform (F1).

    Raises BadConfig for a relative path in the environment.
    """
    if option is not None:
        if option == "":
            raise BadUsage("--data-dir is empty")
        return os.path.abspath(option)
    variable = environ.get(DATA_DIR_VARIABLE, "")
    if variable:
        if not os.path.isabs(variable):
            raise BadConfig(
                f"{DATA_DIR_VARIABLE} is a relative path",
                "give an absolute one: hooks run in many working directories",
            )
        return variable
    if configured is not None:
        return configured
    return user_directory("data", environ)


_XDG = {"data": ("XDG_DATA_HOME", ".local/share"), "config": ("XDG_CONFIG_HOME", ".config")}


def user_directory(kind: str, environ: Mapping[str, str]) -> str:
    """Return the platform's directory for our "data" or "config" (F1, section 3).

    platformdirs decides; but importing it took 1.6 times as long as starting Python (2026-12), so on Linux
    the two variables that decide there in the usual case are read here, and a test holds both alike.
    Raises BadConfig where no home directory is known.
    """
    if sys.platform == "linux" and "ANDROID_DATA" not in environ:
        variable, below_home = _XDG[kind]
        stated, home = environ.get(variable, ""), environ.get("HOME", "")
        if stated.startswith("/"):
            return os.path.join(stated, APPLICATION)
        if home.startswith("/"):
            return os.path.join(home.rstrip("/"), below_home, APPLICATION)
    import platformdirs

    platform_directory = platformdirs.user_data_dir if kind == "data" else platformdirs.user_config_dir
    try:
        directory = platform_directory(APPLICATION, appauthor=False)
    except RuntimeError:
        directory = ""
    if not os.path.isabs(directory):
        raise BadConfig(
            f"there is no home directory for the {kind} of {APPLICATION}",
            f"set HOME, or name the place with {DATA_DIR_VARIABLE} and {CONFIG_VARIABLE}",
        )
    return directory


def session_name(
    option: str | None, environ: Mapping[str, str], configured: str | None, directory: str | None = None
) -> str:
    """Return the session's name: option, environment, configuration, "session" (F2).

    `@cwd` stands for the project around `directory`, the working directory if None. Raises BadUsage.
    """
    for given, what in (
        (option, "the session name"),
        (environ.get(SESSION_VARIABLE) or None, SESSION_VARIABLE),
        (configured, "session in the configuration"),
    ):
        if given is not None:
            return project_session(directory) if given == PROJECT_SESSION else checked_name(given, what)
    return DEFAULT_SESSION


def project_session(directory: str | None = None) -> str:
    """Return the session name of a project: its safe name, "-", digits of its real path's digest (F2)."""
    import hashlib

    project = project_directory(directory)
    digest = hashlib.sha256(os.fsencode(project)).hexdigest()[:PROJECT_DIGITS]
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", os.path.basename(project)).lstrip("._-")
    name = f"{safe[: NAME_LENGTH - PROJECT_DIGITS - 1] or 'project'}-{digest}"
    return name if is_name(name) else f"project-{name}"[:NAME_LENGTH]


def project_directory(directory: str | None = None) -> str:
    """Return the real path of the project around a directory, the working directory if None (F2).

    That is the nearest folder upwards with a `.git`, else the directory. Raises BadUsage where it is gone.
    """
    try:
        here = os.getcwd() if directory is None else directory
    except OSError as error:
        raise BadUsage("the working directory is gone") from error
    try:
        start = os.path.realpath(here)
    except OSError:
        start = os.path.abspath(here)  # its links cannot be read, so it is known by its name
    project = start
    while not os.path.exists(os.path.join(project, ".git")):
        parent = os.path.dirname(project)
        if parent == project:
            return start
        project = parent
    return project


def run_id(option: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the run the caller named, None for the implicit one (R2); raises BadUsage."""
    for given, what in ((option, "the run id"), (environ.get(RUN_VARIABLE) or None, RUN_VARIABLE)):
        if given is not None:
            return checked_name(given, what)
    return None


def lock_timeout(environ: Mapping[str, str]) -> float:
    """Return how many seconds to wait for the lock (Z1); raises BadConfig for what is no number ≥ 0."""
    text = environ.get(LOCK_TIMEOUT_VARIABLE, "")
    if not text:
        return DEFAULT_LOCK_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise BadConfig(f"{LOCK_TIMEOUT_VARIABLE} must be a number of seconds, 0 or more")
    return seconds
