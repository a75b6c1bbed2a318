"""What both ends of the program need to do to a standard stream that is full, closed or broken."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO


def drop(stream: TextIO) -> None:
    """Let what a standard stream still holds go nowhere, so that ending the program cannot fail or wait."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except OSError:
        return  # what stands in for the stream has no file to fail on
