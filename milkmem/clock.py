"""The real clock: the only module that reads it (R4)."""

from __future__ import annotations

import time

from milkmem.runs import Moment

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


def read(at: int | None = None) -> Moment:
    """Return the moment it is; `at`, nanoseconds since the epoch, replaces the instant that is stored."""
    wall = time.time_ns()
    return Moment(time.monotonic_ns(), wall, _boot(), wall if at is None else at)


def _boot() -> str:
    try:
        with open(_BOOT_ID, encoding="utf-8") as file:
            return file.read().strip()
    except (OSError, ValueError):
        return ""
