"""A simulated week of an agent at work: graduation over runs, as the model says (sections 4, 6, 8, 11)."""

from __future__ import annotations

from pathlib import Path

from program import Program
from week import Week, whole_week


def test_a_week(tmp_path: Path) -> None:
    """R1 to R4, S3, P2: in 5 days of 3 runs of 20 turns, facts of several runs graduate, chatty ones not."""
    whole_week(Program(tmp_path), separate=False)


def test_a_morning_of_processes(tmp_path: Path) -> None:
    """R1, R4: five short runs with every event a process of its own; `make torture` lives the whole week."""
    week = Week(Program(tmp_path), separate=True)
    week.live(1, 5, 2)
    assert week.sittings == 5
    assert week.graduated == {"daily": 4}
