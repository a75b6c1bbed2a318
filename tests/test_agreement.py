"""The pass agrees with the naive model, which another author wrote from the record alone."""

from __future__ import annotations

import copy
import random
from typing import Any

import pytest

import memories
from milkmem.consolidate import COUNTS, Elapsed, Report, consolidate
from milkmem.knobs import Knobs
from milkmem.memory import Memory
from milkmem.percept import ARCHIVE, GLOBAL
from milkmem.runs import Moment, Run
from naive import Json, comparable, naive_pass

# What the steps report, in their order; a boost and a penalty come from the same step.
STEPS = {"boosted": 2, "penalized": 2, "pruned": 3, "archived": 4, "promoted": 5, "deferred": 5, "evicted": 6}
TOLERANCE = 1e-9
PASSES = 4


class Both:
    """A memory and a run, once for the package and once for the model."""

    def __init__(self, case: memories.Case) -> None:
        self.case = case
        self.stores: dict[str, Json] = copy.deepcopy(case.stores)
        files = copy.deepcopy(case.stores)
        files[case.session_name] = files.pop("session")
        self.memory = Memory(files, case.session_name, lambda store: None)  # type: ignore[arg-type]
        at = Moment(0, case.since, "boot", case.since)
        self.run = Run("run", False, at)
        self.run.awarded = set(case.run["awarded"])
        self.run.applied = set(case.run["applied"])
        self.model_run = copy.deepcopy(case.run)

    def heal(self) -> None:
        """Heal the memory and give the model what is left, since it wants healed stores."""
        self.memory.heal()
        self.stores = copy.deepcopy(self.files())

    def files(self) -> dict[str, Any]:
        """Return the package's files as the model calls them."""
        files = self.memory.files
        return {"global": files[GLOBAL], "session": files[self.case.session_name], "archive": files[ARCHIVE]}

    def compare_a_pass(self, now: int, since: int, elapsed: dict[str, float]) -> Report:
        """Do one pass of each and hold that they agree; return the package's report."""
        before = copy.deepcopy(self.files())
        self.memory.changed.clear()
        known = Knobs(**self.case.knobs)
        report = consolidate(
            self.memory,
            known,
            self.run,
            now=now,
            global_since=since,
            elapsed=Elapsed(elapsed["global"], elapsed["session"]),
        )
        result = naive_pass(
            self.stores, self.case.knobs, self.model_run, now, since, elapsed, self.case.session_name
        )
        assert [report.counts[name] for name in COUNTS] == [result.counts[name] for name in COUNTS]
        found = [(STEPS[change["event"]], change["event"], change["id"]) for change in report.changes]
        assert [step for step, _, _ in found] == sorted(step for step, _, _ in found)
        assert sorted(found) == sorted((STEPS[event], event, name) for event, name in result.changes)
        assert self.run.awarded == result.run["awarded"]
        assert self.run.applied == result.run["applied"]
        hold_close(comparable(self.files()), comparable(result.stores), "files")
        self.hold_changed(before, report)
        self.stores, self.model_run = result.stores, result.run
        return report

    def hold_changed(self, before: dict[str, Any], report: Report) -> None:
        """C2: every file that is another one now counts as changed; others only if w went and came back."""
        after = self.files()
        names = {"global": GLOBAL, "session": self.case.session_name, "archive": ARCHIVE}
        changed = {names[place] for place in names if after[place] != before[place]}
        assert self.memory.changed >= changed
        if self.memory.changed != changed:
            assert report.counts["decayed"] + report.counts["global_decayed"] > 0
            assert any(change["event"] == "boosted" for change in report.changes)


def hold_close(one: Any, other: Any, at: str) -> None:
    """Hold that two decoded values are equal, floats to the tolerance, keys in any order."""
    if isinstance(one, dict) and isinstance(other, dict):
        assert one.keys() == other.keys(), at
        for key, value in one.items():
            hold_close(value, other[key], f"{at}.{key}")
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other), at
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            hold_close(left, right, f"{at}[{number}]")
    elif isinstance(one, float) or isinstance(other, float):
        assert one == pytest.approx(other, abs=TOLERANCE, rel=0), at
    else:
        assert one == other, at


@pytest.mark.parametrize("seed", range(8))
def test_one_pass(seed: int) -> None:
    """Section 10: on random memories a pass leaves the stores, run and report that the model leaves."""
    rng = random.Random(seed)
    for _ in range(80):
        case = memories.random_case(rng)
        Both(case).compare_a_pass(case.now, case.since, case.elapsed)


@pytest.mark.parametrize("seed", range(4))
def test_several_passes(seed: int) -> None:
    """Section 10, R3: so do several passes in a row of one run, each of its own Δt."""
    rng = random.Random(1000 + seed)
    for _ in range(40):
        case = memories.random_case(rng)
        both = Both(case)
        now, since, elapsed = case.now, case.since, case.elapsed
        for _ in range(PASSES):
            both.compare_a_pass(now, since, elapsed)
            elapsed = memories.random_elapsed(rng)
            since = now
            now += int(elapsed["global"]) * memories.SECOND + rng.choice((0, 1, -5))


@pytest.mark.parametrize("heal", [True, False])
def test_after_a_crash(heal: bool) -> None:
    """Z3: an archive that holds live ids too agrees, whether healed before the pass or not."""
    rng = random.Random(2000)
    for _ in range(80):
        case = memories.random_case(rng, clashes=True)
        both = Both(case)
        if heal:
            both.heal()
        both.compare_a_pass(case.now, case.since, case.elapsed)
