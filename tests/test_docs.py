"""The documents say what the program does: knobs, numbers, trajectories."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from milkmem import config_file, rules
from milkmem.knobs import PROMOTION_EVIDENCE, Knobs

DOCS = Path(__file__).parent.parent / "docs"
OPERATIONS = (DOCS / "operations.md").read_text()
KNOBS = Knobs()
HOUR = 3600.0


def graduates_in(hours: float) -> int | None:
    """Return in which run a fact graduates that is restated at the start of every run, None for never."""
    w, evidence = 0.7, 0
    for run in range(1, 1000):
        w, evidence = rules.reinforced(w, KNOBS), evidence + 1
        if rules.reaches(w, KNOBS.promote_threshold) and evidence >= PROMOTION_EVIDENCE:
            return run
        w = rules.decay(w, rules.session_halving(hours * HOUR, KNOBS), 0.0)
    return None


def test_the_knob_table_is_the_declarations() -> None:
    """K1: the reference table in the docs is generated from the one declaration of each knob."""
    assert OPERATIONS.endswith(config_file.reference_table())


def test_the_worked_trajectory_is_the_models() -> None:
    """S3, D1: the numbers of the worked trajectory are those that the formulas give."""
    rows = re.findall(
        r"^\| (\d) \| (recorded|restated|one hour) \| ([\d.]+) \| (\d) \| (\w+) \|$", OPERATIONS, re.M
    )
    w, evidence, store, expected = 0.0, 0, "session", []
    for run, event, *_ in rows:
        if event == "recorded":
            w = 0.7
        elif event == "restated":
            w, evidence = rules.reinforced(w, KNOBS), evidence + 1
        else:
            w = rules.decay(w, rules.session_halving(HOUR, KNOBS), 0.0)
            if rules.reaches(w, KNOBS.promote_threshold) and evidence >= PROMOTION_EVIDENCE:
                store = "global"
        expected.append((run, event, f"{w:.4f}", str(evidence), store))
    assert len(rows) == 7
    assert rows == expected


def test_pruning_takes_5_42_running_days() -> None:
    """D1: 0.7 fades to the prune threshold in 3 · log2(3.5) running days, as the docs say."""
    days = 3 * math.log2(3.5)
    assert f"**{days:.2f}** running days" in " ".join(OPERATIONS.split())
    assert rules.running_days_to_prune(
        {"id": "a", "content": "b", "producer": "primary", "w": 0.7, "updated_at": "2026-12-01T00:00:00Z"},
        KNOBS,
    ) == pytest.approx(days, abs=1e-9)


@pytest.mark.parametrize(("hours", "run"), [(1, 3), (4, 4), (8, None)])
def test_graduation_needs_short_runs(hours: float, run: int | None) -> None:
    """P2: restated once a run, it takes 3 runs of one hour, 4 of four, and never with eight."""
    assert graduates_in(hours) == run


def test_one_edge_lifts_a_fact_in_six_turns() -> None:
    """E1: applied at every pass, an edge takes 0.7 to 1.0 in six turns, a contradiction to 0.2 in five."""
    w, turns = 0.7, 0
    while w < 1.0 - 1e-9:
        w, turns = rules.clamped(w + rules.edge_delta(1, 0)), turns + 1
    assert turns == 6
    w, turns = 0.7, 0
    while not rules.sinks_to(w, KNOBS.prune_threshold):
        w, turns = rules.clamped(w + rules.edge_delta(0, 1)), turns + 1
    assert turns == 5


def test_the_readme_shows_the_benchmarks_own_figures() -> None:
    """Issue 6: each figure in the README stands in docs/benchmarks.md."""
    readme = (DOCS.parent / "README.md").read_text()
    figures = readme.partition("<!-- figures: written by make bench -->")[2].partition(
        "<!-- end of figures -->"
    )[0]
    rows = [row for row in figures.splitlines() if row.startswith("| `")]
    assert len(rows) >= 4
    measured = (DOCS / "benchmarks.md").read_text().splitlines()
    assert all(row in measured for row in rows)
