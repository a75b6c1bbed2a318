"""`make torture`: every sweep, two at a time; prints what it counted and writes it to docs/reliability.md.

Usage: python -m tests.torture [--slice SECONDS] [--seed N] [--jobs N] [--write FILE]

Exit 1 where anything was violated.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from torture import disk, fuzz, signals, syscalls, writers  # found on the path set above
from torture.outcome import Outcome  # found on the path set above

BEGIN = "<!-- figures: written by make torture -->"
END = "<!-- end of figures -->"
WHOLE = 1500
INPUTS = 100_000

Sweep = Callable[[float, int], Outcome]

# Each sweep with its share of the time; what is done sooner gives its share to nobody.
_SHARES: list[tuple[str, str, float]] = [
    *(("system calls", title, 9) for title in syscalls.JOBS),
    ("mutants", "", 3),
    ("writers", "", 14),
    ("signals", "", 14),
    ("full disk", "", 2),
    ("spoiled files", "loader", 10),
    ("spoiled files", "memory", 2),
    ("spoiled files", "commands", 10),
    ("spoiled files", "configurations", 6),
]


def _sweep(kind: str, part: str, budget: float, seed: int) -> Outcome:
    if kind == "system calls":
        return syscalls.sweep(part, budget, seed=seed) if not syscalls.can_trace() else _without_strace(kind)
    if kind == "mutants":
        return syscalls.mutants_caught(budget) if not syscalls.can_trace() else _without_strace(kind)
    if kind == "spoiled files":
        inputs = {"loader": INPUTS, "memory": 60}.get(part, INPUTS // 20)
        sweep: Callable[[float, int, int], Outcome] = getattr(fuzz, part)
        return sweep(budget, inputs, seed)
    if kind == "writers":
        return writers.run(budget, seed)
    if kind == "signals":
        return signals.run(budget, seed=seed)
    return disk.run(budget)


def _without_strace(kind: str) -> Outcome:
    outcome = Outcome(kind, 0)
    outcome.skipped = syscalls.can_trace()
    return outcome


def torture(seconds: float, seed: int, jobs: int) -> dict[str, Outcome]:
    """Carry out all sweeps in about so many seconds and return what each kind found."""
    whole = sum(share for _, _, share in _SHARES)
    found: dict[str, Outcome] = {}
    with ProcessPoolExecutor(jobs) as pool:
        waiting = [
            (kind, part, pool.submit(_sweep, kind, part, seconds * jobs * share / whole, seed))
            for kind, part, share in sorted(_SHARES, key=lambda each: -each[2])
        ]
        for kind, part, result in waiting:
            outcome = result.result()
            print(f"{kind} {part}: {_words(outcome)}", flush=True)
            for violation in outcome.violations[:5]:
                print(f"  VIOLATED {violation}", flush=True)
            found.setdefault(kind, Outcome(kind, 0)).merge(outcome)
    return {kind: found[kind] for kind, *_ in _SHARES}


def _words(outcome: Outcome) -> str:
    if outcome.skipped:
        return f"skipped: {outcome.skipped}"
    counted = ", ".join(f"{number:,} {what}" for what, number in outcome.counts.items())
    return f"{counted}; {len(outcome.violations)} violations"


def table(found: dict[str, Outcome], took: float, seed: int) -> str:
    """Return the figures as they stand in the document."""
    machine = f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}"
    lines = [
        f"{time.strftime('%Y-%m-%d', time.gmtime())}, {machine}, {os.cpu_count()} cores,"
        f" {took / 60:.0f} minutes, seed {seed}:",
        "",
        "| sweep | counted | violations |",
        "|---|---|---|",
    ]
    for kind, outcome in found.items():
        counted = "<br>".join(f"{number:,} {what}" for what, number in outcome.counts.items())
        skipped = f"skipped: {outcome.skipped}"
        lines.append(f"| {kind} | {skipped if outcome.skipped else counted} | {len(outcome.violations)} |")
    return "\n".join(lines)


def written(text: str, figures: str) -> str:
    """Return a document with its figures replaced by new ones."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{figures}\n{END}{rest.partition(END)[2]}"


def main() -> int:
    """Torture, say what came of it, and write it down where asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("--slice", type=float, default=WHOLE, metavar="SECONDS")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", metavar="FILE")
    options = parser.parse_args()
    begun = time.monotonic()
    found = torture(options.slice, options.seed, options.jobs)
    violations = sum(len(outcome.violations) for outcome in found.values())
    print(f"{violations} violations in {time.monotonic() - begun:.0f} s, seed {options.seed}")
    if options.write:
        document = Path(options.write)
        document.write_text(
            written(document.read_text(), table(found, time.monotonic() - begun, options.seed))
        )
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
