"""`make bench`: whole-process times as ratios to a yardstick in the same run, written to docs/benchmarks.md.

Each row runs its command and its yardstick in turn, A B A B, and takes the median of the ratios pair by pair:
what else the machine does meanwhile slows both. Milliseconds are not printed, since they do not travel.
Usage: bench.py PYTHON [--quick] [--write FILE], where PYTHON has the program installed and compiled.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = (
    "the staging server listens on port deploy tests run with pytest cache layer evicts entry first build"
    " needs review release notes changelog tide station data stored lines metre local time user prefers tabs"
    " commit message imperative never push main branch schema migration index worker queue retry"
).split()
BARE = "bare Python"
CODEC = "orjson reading and writing the same files"

_CODEC = """
import orjson, os, sys
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        document = orjson.loads(file.read())
    with open(path + ".yardstick", "wb") as file:
        file.write(orjson.dumps(document, option=orjson.OPT_INDENT_2))
        os.fsync(file.fileno())
"""


# Takes the short way to a command away, so that every line is read by Typer.
_LONG_WAY = """
from milkmem.cli import short
short.parse = lambda argv: None
from milkmem.__main__ import entry
entry()
"""
# Any other command: what people start by hand.
OTHERS = (
    ["--help"],
    ["inspect"],
    ["forecast", "ID"],
    ["forget", "ID", "--dry-run"],
    ["simulate"],
    ["run", "show"],
    ["config", "show"],
)


class Row(NamedTuple):
    """One line of the table: what runs, what it is measured against, and the bar it must not exceed."""

    work: str
    yardstick: str
    bar: float | None
    ratios: list[float]

    @property
    def ratio(self) -> float:
        return statistics.median(self.ratios)


def memory(directory: Path, count: int) -> list[Path]:
    """Write a memory of `count` percepts in two files, in milk's layout, and return the files."""
    rng = random.Random(count)
    directory.mkdir(parents=True)
    paths = []
    for store in ("global", "session"):
        percepts = []
        for number in range(count // 2):
            percept: dict[str, object] = {
                "id": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
                "content": f"{' '.join(rng.choices(WORDS, k=rng.randint(10, 30)))} {number}",
                "producer": rng.choice(["primary", "user", "escalation", "system"]),
                "w": rng.uniform(0.3, 0.75),
                "roles": {"theme": rng.choice(WORDS)} if number % 3 == 0 else {},
                "created_at": "2026-11-20T04:35:17.938718316Z",
                "updated_at": f"2026-11-{rng.randint(1, 28):02d}T04:35:17.{rng.randint(10**8, 10**9 - 1)}Z",
            }
            if store == "global":
                percept |= {"evidence": 2, "idle_seconds": round(rng.uniform(1, 100_000), 3)}
            percepts.append(percept)
        paths.append(directory / f"{store}.json")
        text = json.dumps({"percepts": percepts, "engrams": None, "edges": None}, indent=2)
        paths[-1].write_text(text)
    return paths


def new_facts() -> Iterator[str]:
    """Yield facts that restate nothing."""
    rng = random.Random(11)
    for number in itertools.count():
        yield f"{' '.join(rng.choices(WORDS, k=12))} {number}"


class Bench:
    """A place to measure in: an installed program, an empty home, memories of two sizes."""

    def __init__(self, python: str, root: Path, quick: bool) -> None:
        self.python = python
        self.program = str(Path(python).parent / "milkmem")
        self.root = root
        self.quick = quick
        self.rows: list[Row] = []
        self.environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("MILKMEM_", "XDG_")) and name != "PYTHONDONTWRITEBYTECODE"
        } | {"HOME": str(root / "home")}

    def run(self, argv: list[str], stdin: str = "", **variables: str) -> float:
        """Run a command to its end and return the seconds it took; it must not fail."""
        begun = time.perf_counter()
        subprocess.run(
            argv,
            input=stdin.encode(),
            env=self.environ | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        return time.perf_counter() - begun

    def row(
        self,
        work: str,
        argv: list[str],
        against: list[str],
        yardstick: str,
        bar: float | None,
        *,
        runs: int,
        stdin: str = "",
        facts: Iterator[str] | None = None,
        **variables: str,
    ) -> Row:
        """Measure a command against a yardstick, in turn, after one uncounted pair; each run has its fact."""
        ratios = []
        os.sync()  # what others left to write must not be synced by whoever runs first
        for counted in range(-1, max(3, runs // 4) if self.quick else runs):
            whole = argv if facts is None else [*argv, next(facts)]
            one, other = self.run(whole, stdin, **variables), self.run(against, "", **variables)
            if counted >= 0:
                ratios.append(one / other)
        self.rows.append(Row(work, yardstick, bar, ratios))
        print(line(self.rows[-1]), flush=True)
        return self.rows[-1]


def line(row: Row) -> str:
    """Return a row as a line of the table."""
    low, high = min(row.ratios), max(row.ratios)
    bar = "" if row.bar is None else f"{row.bar:g}"
    return f"| {row.work} | {row.ratio:.2f} × | {low:.2f} to {high:.2f} | {bar} | {row.yardstick} |"


def starts(bench: Bench) -> None:
    """Measure what runs at every turn, on 1,000 percepts."""
    bare = [bench.python, "-c", "pass"]
    home = bench.root / "home"
    paths = memory(home / ".local" / "share" / "milkmem", 1_000)
    percept_id = json.loads(paths[0].read_text())["percepts"][0]["id"]
    given = bench.root / "given"
    memory(given, 1_000)
    bench.run([bench.program, "consolidate"], MILKMEM_DATA_DIR=str(given))
    place = {"MILKMEM_DATA_DIR": str(given)}
    milkmem = bench.program
    second = ["--elapsed", "1s"]
    bench.row(
        "`consolidate`, place given, no configuration",
        [milkmem, "consolidate", *second],
        bare,
        BARE,
        3.4,
        runs=40,
        **place,
    )
    bench.run([milkmem, "config", "init"])
    installed = "as installed, configured"
    bench.row(f"`consolidate`, {installed}", [milkmem, "consolidate", *second], bare, BARE, 4.5, runs=40)
    bench.row(
        f"`inject PROMPT`, {installed}",
        [milkmem, "inject", "deploy the staging server"],
        bare,
        BARE,
        4.8,
        runs=40,
    )
    bench.row(f"`query WORD`, {installed}", [milkmem, "query", "staging"], bare, BARE, 4.8, runs=40)
    stop = json.dumps(
        {
            "hook_event_name": "Stop",
            "session_id": "bench",
            "cwd": str(home),
            "last_assistant_message": "Done.",
        }
    )
    bench.row(
        f"`hook run claude-code`, Stop, {installed}",
        [milkmem, "hook", "run", "claude-code"],
        bare,
        BARE,
        4.8,
        runs=40,
        stdin=stop,
    )
    bench.row(
        f"`record FACT`, {installed}",
        [milkmem, "record"],
        bare,
        BARE,
        5,
        runs=40,
        facts=new_facts(),
    )
    for argv in OTHERS:
        whole = [percept_id if word == "ID" else word for word in argv]
        bench.row(f"`{' '.join(argv)}`", [milkmem, *whole], bare, BARE, 9, runs=20)
    long_way = [bench.python, "-c", _LONG_WAY, "consolidate", *second]
    bench.row("`consolidate` by way of Typer, imported late", long_way, bare, BARE, None, runs=20)


def sizes(bench: Bench) -> None:
    """Measure the same work on 100,000 percepts, and its growth from 10,000."""
    files = memory(bench.root / "large", 100_000)
    codec = [bench.python, "-c", _CODEC, *map(str, files)]
    milkmem = bench.program
    place = {"MILKMEM_DATA_DIR": str(bench.root / "large")}
    bench.run([milkmem, "consolidate", "--elapsed", "1s"], **place)
    size = sum(path.stat().st_size for path in files)
    large = f"100,000 percepts ({size / 1e6:.0f} MB)"
    once = [milkmem, "consolidate", "--elapsed", "1s"]
    bench.row(f"`consolidate`, {large}", once, codec, CODEC, 2.0, runs=9, **place)
    bench.row("`query WORD`, 100,000", [milkmem, "query", "staging"], codec, CODEC, 1.6, runs=9, **place)
    bench.row(
        "`inject PROMPT`, 100,000",
        [milkmem, "inject", "deploy the staging server"],
        codec,
        CODEC,
        1.6,
        runs=9,
        **place,
    )
    bench.row(
        "`record FACT`, 100,000",
        [milkmem, "record"],
        codec,
        CODEC,
        3.5,
        runs=9,
        facts=new_facts(),
        **place,
    )
    memory(bench.root / "tenth", 10_000)
    tenth = [*once, "--data-dir", str(bench.root / "tenth")]
    bench.run(tenth)
    bench.row("`consolidate`, 100,000 to 10,000 percepts", once, tenth, "itself", 10, runs=9, **place)
    peak = peak_memory(bench, once, place)
    bench.rows.append(Row("peak memory of `consolidate`, 100,000", "bytes of the files", 8, [peak / size]))
    print(line(bench.rows[-1]))


def batches(bench: Bench) -> None:
    """Measure `record -` of 10,000 lines against 1,000 on the same store."""
    rng = random.Random(7)
    base = bench.root / "base"
    memory(base, 1_000)
    ratios = []
    for _ in range(3 if bench.quick else 5):
        taken = []
        for count in (10_000, 1_000):
            place = bench.root / "batch"
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(base, place)
            facts = "\n".join(f"{' '.join(rng.choices(WORDS, k=12))} {rng.random()}" for _ in range(count))
            taken.append(bench.run([bench.program, "record", "-"], facts, MILKMEM_DATA_DIR=str(place)))
        ratios.append(taken[0] / taken[1])
    bench.rows.append(Row("`record -` of 10,000 lines", "`record -` of 1,000 lines", 15, ratios))
    print(line(bench.rows[-1]))


# Started from a small process, since a large parent's pages would be counted at the fork.
_PEAK = """
import os, sys
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)
print(os.wait4(pid, 0)[2].ru_maxrss)
"""


def peak_memory(bench: Bench, argv: list[str], variables: dict[str, str]) -> int:
    """Return the most bytes that a command held at once."""
    found = subprocess.run(
        [bench.python, "-S", "-c", _PEAK, *argv],
        env=bench.environ | variables,
        capture_output=True,
        text=True,
        check=True,
    )
    return int(found.stdout.split()[-1]) * 1024


# What one would pick instead, and a program of one command that does nothing: how each is started.
ALTERNATIVES = {
    "llm": ["llm", "--version"],
    "jrnl": ["jrnl", "--version"],
    "td-watson": ["watson", "--version"],
    "mcp-memory-service": ["memory", "--version"],
    "typer": ["python", "-c", "import typer\ntyper.run(lambda: None)"],
}


def alternatives(bench: Bench) -> None:
    """Measure the start of what one would pick instead, each in an environment of its own."""
    pinned = [bench.python, *ALTERNATIVES["typer"][1:]]
    bench.row(
        f"an empty Typer command (typer {version_in(bench.python, 'typer')}, pinned)",
        pinned,
        [bench.python, "-c", "pass"],
        BARE,
        None,
        runs=20,
    )
    for package, argv in ALTERNATIVES.items():
        home = bench.root / "others" / package
        python = str(home / "bin" / "python")
        program = home / "bin" / argv[0]
        install = f"{shlex.quote(python)} -m pip install -q --disable-pip-version-check {package}"
        made = subprocess.run(
            f"{shlex.quote(sys.executable)} -m venv {shlex.quote(str(home))} && {install}",
            shell=True,
            capture_output=True,
            check=False,
        )
        if made.returncode != 0 or not program.exists():
            print(f"{package}: not to be had here")
            continue
        subprocess.run([python, "-m", "compileall", "-q", str(home / "lib")], check=False)
        what = "an empty Typer command" if package == "typer" else f"`{' '.join(argv)}`"
        own_bare = [python, "-c", "pass"]
        name = f"{what} ({package} {version_in(python, package)})"
        try:
            bench.row(name, [str(program), *argv[1:]], own_bare, BARE, None, runs=20)
        except subprocess.CalledProcessError:
            print(f"{package}: does not start here")


def version_in(python: str, package: str) -> str:
    """Return the version of a package that an interpreter has."""
    asked = f"from importlib.metadata import version; print(version({package!r}))"
    done = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def report(bench: Bench) -> str:
    """Return docs/benchmarks.md."""
    versions = ", ".join(f"{name} {version_in(bench.python, name)}" for name in ("typer", "rich", "orjson"))
    head = f"""# Benchmarks

Written by `make bench`. Whole processes, as ratios to a yardstick that ran in turn with them on the same
machine: the median of the ratios pair by pair, then the lowest and the highest. Bare Python is
`python -c pass` of the same interpreter. The bar is what the project holds itself to; a row without one is
there for comparison.

Machine: {platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},
{versions}.

| work | median | spread | bar | yardstick |
|---|---|---|---|---|
"""
    return head + "\n".join(line(row) for row in bench.rows) + "\n"


BEGIN, END = "<!-- figures: written by make bench -->", "<!-- end of figures -->"
# Which rows the README shows, by how their names begin.
SHOWN = ("`consolidate`, as", "`inject PROMPT`, as", "`record FACT`, as", "`consolidate`, 100,000 percepts")


def put_into_readme(bench: Bench, path: Path) -> None:
    """Write the figures that the README shows between its marks."""
    rows = [line(row) for row in bench.rows if row.work.startswith(SHOWN)]
    table = "\n".join(["| work | median | spread | bar | yardstick |", "|---|---|---|---|---|", *rows])
    before, _, rest = path.read_text().partition(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}")


def main() -> int:
    """Measure everything and say whether every bar holds."""
    parser = argparse.ArgumentParser()
    parser.add_argument("python")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--alternatives", action="store_true")
    parser.add_argument("--write")
    parser.add_argument("--readme")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root:
        bench = Bench(options.python, Path(root), options.quick)
        starts(bench)
        sizes(bench)
        batches(bench)
        if options.alternatives:
            alternatives(bench)
    if options.write:
        Path(options.write).write_text(report(bench))
    if options.readme:
        put_into_readme(bench, Path(options.readme))
    missed = [row.work for row in bench.rows if row.bar is not None and row.ratio > row.bar]
    if missed:
        print(f"over the bar: {'; '.join(missed)}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
