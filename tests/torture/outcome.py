"""What a sweep did and found: counts for the report, violations for whoever runs it."""

from __future__ import annotations

import time
from collections import Counter


class Outcome:
    """The result of one sweep: what it counted, what it found wrong, or why it could not run."""

    def __init__(self, title: str, budget: float) -> None:
        """Begin a sweep that takes at most `budget` seconds."""
        self.title = title
        self.counts: Counter[str] = Counter()
        self.violations: list[str] = []
        self.skipped = ""
        self.begun = time.monotonic()
        self.budget = budget

    def prepared(self) -> None:
        """Count the time from now: what came before was preparation."""
        self.begun = time.monotonic()

    @property
    def spent(self) -> float:
        """Seconds since the sweep began."""
        return time.monotonic() - self.begun

    @property
    def over(self) -> bool:
        """Whether the sweep has used up its time."""
        return self.spent >= self.budget

    def note(self, told: object, error: BaseException) -> None:
        """Add a violation: where it came up, and what was wrong."""
        words = str(error) or type(error).__name__
        self.violations.append(f"{told}: {words[:2000]}")

    def merge(self, other: Outcome) -> None:
        """Add what a part of this sweep counted and found."""
        self.counts.update(other.counts)
        self.violations += other.violations
        self.skipped = self.skipped or other.skipped
