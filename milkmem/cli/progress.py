"""What a long command is at: one line on standard error, for a person at a terminal who has waited a while.

A thread of its own writes it, so that reading a large file, which tells of no progress, is seen to go on too.
"""

from __future__ import annotations

import sys
import time

from milkmem.cli.setup import at_terminal
from milkmem.cli.streams import drop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from threading import Event, Thread
    from types import TracebackType
    from typing import Any, TextIO

# In seconds: how long nothing is said, and how often it is said anew.
PATIENCE = 1.0
_PAUSE = 0.1


class Progress:
    """A line that says what is going on, how much is done if that is known, and since when.

    It is gone when the block ends, or before anything is written to a stream that `before` returned.
    """

    __slots__ = ("_began", "_ended", "_share", "_shown", "_thread", "_what")

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = ""
        self._share: float | None = None
        self._began = time.monotonic()
        self._ended: Event | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Progress:
        """Begin; nothing is shown yet."""
        if at_terminal(sys.stderr):
            import threading

            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._tell, args=(self._ended,), daemon=True)
            self._thread.start()
        return self

    def __call__(self, share: float) -> None:
        """Note how much is done, from 0 to 1."""
        self._share = share

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Clear the line."""
        self.end()

    def end(self) -> None:
        """Clear the line, which does not come back."""
        if self._ended is not None and self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._ended = self._thread = None
            if self._shown != "":
                self._show("")

    def before(self, stream: TextIO) -> TextIO:
        """Return the stream as one that ends this when something is written to it."""
        return _Ending(stream, self)  # type: ignore[return-value]  # a stream in all that is asked of it

    def _tell(self, ended: Event) -> None:
        wait = PATIENCE
        while not ended.wait(wait):
            wait = _PAUSE
            done = "" if self._share is None else f" {self._share:.0%},"
            self._show(f"{self._what}:{done} {time.monotonic() - self._began:.0f}s")

    def _show(self, text: str) -> None:
        """Write over the line; where standard error is broken nobody hears of it."""
        line = f"\r{text.ljust(len(self._shown))}"
        try:
            print(line if text != "" else f"{line}\r", end="", file=sys.stderr, flush=True)
        except OSError:
            drop(sys.stderr)
        self._shown = text


class _Ending:
    """A stream that ends a progress before it is written to."""

    def __init__(self, stream: TextIO, progress: Progress) -> None:
        self._stream = stream
        self._progress = progress

    def write(self, text: str) -> int:
        """Write to the stream."""
        self._progress.end()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        """Return what the stream has."""
        return getattr(self._stream, name)
