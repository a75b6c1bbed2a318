"""Spoiled files: the loader and every command on mutated real ones; spoiled settings, configurations, runs.

No traceback and no exit 70, no changed byte on refusal, no hang, bounded memory; what is loaded can be
written and loaded again (F7, K1, Z7, cases 18, 19 and 36).
"""

from __future__ import annotations

import copy
import json
import random
import shutil
import signal
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from milkmem import codec, config, config_file
from milkmem.check import check
from milkmem.errors import BadConfig
from milkmem.percept import Malformed
from program import AT, BAD_CONFIG, BAD_DATA, MILK, Program, name, tree
from test_program_files import BAD_FILES, SOUND
from test_program_safety import full
from torture.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 5.0
MEMORY_BASE = 1 << 20

_HOSTILE: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, -0.0, 1e308, 5e-324, 2**63, 2**64 + 1, 10**400, "", "x", "\0",
    "\x1b[31m",
    "\u202e", "\ud800", "9" * 5000, "2026-12-02T12:00:00Z", "0000-01-01T00:00:00Z", [], {}, [[]], [{}],
    {"": ""},
    {"id": 1}, [None] * 50, "a" * 20000,
)  # fmt: skip
_TOKENS: tuple[bytes, ...] = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"\\", b"\\u", b"\\ud800", b"\\u0000", b"null", b"true", b"NaN",
    b"Infinity", b"-Infinity", b"1e999", b"-0", b"01", b"+1", b".5", b"1.", b"\0", b"\xff",
    b"\xc0\x80", b"\xed\xa0\x80",
    b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r\n", b"//", b"/*", b"[" * 500,
    b'{"a":' * 500, b"9" * 5000, b"1e-999", b"1e999e9",
)  # fmt: skip
# What takes the fewest bytes in a file for the most in memory.
_SMALL = (b"[],", b"{},", b'"ab",', b"1.5,", b"[1],", b'{"a":1},', b"[[[[]]]],", b"12345,")


class _Alarm:
    """Break off what hangs: the alarm raises where it stands."""

    def __enter__(self) -> None:
        self.old = signal.signal(signal.SIGALRM, self._ring)
        signal.setitimer(signal.ITIMER_REAL, PATIENCE)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self.old)

    @staticmethod
    def _ring(*_: object) -> None:
        raise AssertionError(f"took more than {PATIENCE} s")


def seeds() -> list[bytes]:
    """Return real memory files, milk's own among them, and files made to break tools like this one."""
    real = [path.read_bytes() for path in sorted(MILK.rglob("*.json")) if path.parent != MILK]
    return [*real, SOUND, *(raw for raw, _ in BAD_FILES.values() if len(raw) < 20000)]


def mutated(chance: random.Random, raw: bytes, others: list[bytes]) -> bytes:
    """Return a file with one to four faults in its bytes or in its values."""
    for _ in range(chance.randint(1, 4)):
        raw = chance.choice(_BYTES)(chance, raw, others)
    return raw


def _flip(chance: random.Random, raw: bytes, _: list[bytes]) -> bytes:
    if not raw:
        return b"\0"
    at = chance.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ (1 << chance.randrange(8))]) + raw[at + 1 :]


def _truncate(chance: random.Random, raw: bytes, _: list[bytes]) -> bytes:
    return raw[: chance.randint(0, len(raw))]


def _cut(chance: random.Random, raw: bytes, _: list[bytes]) -> bytes:
    at = chance.randint(0, len(raw))
    return raw[:at] + raw[at + chance.randint(1, 60) :]


def _double(chance: random.Random, raw: bytes, _: list[bytes]) -> bytes:
    at = chance.randint(0, len(raw))
    end = at + chance.randint(1, 400)
    return raw[:end] + raw[at:end] + raw[end:]


def _splice(chance: random.Random, raw: bytes, others: list[bytes]) -> bytes:
    other = chance.choice(others)
    return raw[: chance.randint(0, len(raw))] + other[chance.randint(0, len(other)) :]


def _token(chance: random.Random, raw: bytes, _: list[bytes]) -> bytes:
    at = chance.randint(0, len(raw))
    return raw[:at] + chance.choice(_TOKENS) + raw[at + chance.randint(0, 2) :]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container of a document with every key or index of it."""
    for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(item, dict | list):
            yield from _places(item)


def _value(chance: random.Random, raw: bytes, _: list[bytes]) -> bytes:
    """Change one value, name or order of a document, so that it stays JSON."""
    try:
        document = json.loads(raw)
        places = list(_places(document)) if isinstance(document, dict | list) else []
    except (ValueError, RecursionError):
        return raw
    if not places:
        return raw
    holder, key = chance.choice(places)
    what = chance.randrange(5)
    if what == 0:
        holder[key] = chance.choice(_HOSTILE)
    elif what == 1:
        del holder[key]
    elif what == 2 and isinstance(holder, dict):
        holder[chance.choice([key.upper(), key + " ", "", "id", "w", "percepts", "archived"])] = holder[key]
    elif what == 3:
        other, at = chance.choice(places)
        holder[key] = copy.deepcopy(other[at])
    elif isinstance(holder, list):
        chance.shuffle(holder)
    try:
        text = json.dumps(document, ensure_ascii=chance.random() < 0.3, indent=chance.choice([None, 2]))
    except (ValueError, RecursionError, IndexError):
        return raw
    return text.encode("utf-8", "surrogatepass")


_BYTES: tuple[Callable[[random.Random, bytes, list[bytes]], bytes], ...] = (
    _flip, _truncate, _cut, _double, _splice, _token, _value, _value, _value, _value,
)  # fmt: skip


def loader(budget: float, inputs: int, seed: int = 0) -> Outcome:
    """Load spoiled files: each is refused by its place, or loaded, written and loaded alike again."""
    outcome = Outcome("fuzz: the loader", budget)
    chance = random.Random(seed)
    all_seeds = seeds()
    slowest = 0.0
    for at in range(inputs):
        if outcome.over and at % 100 == 0:
            break
        raw = mutated(chance, chance.choice(all_seeds), all_seeds)
        archive = chance.random() < 0.2
        outcome.counts["loader inputs"] += 1
        begun = time.perf_counter()
        try:
            with _Alarm():
                try:
                    document = codec.decode(raw)
                    check(document, archive=archive)
                except Malformed:
                    outcome.counts["refused by the loader"] += 1
                    continue
                written = codec.encode(document)
                again = codec.decode(written)
                check(again, archive=archive)
                assert codec.encode(again) == written, "what was written is not a fixed point"
                outcome.counts["loaded and written again"] += 1
        except Exception as error:  # whatever else comes up is what is looked for
            outcome.note(f"seed {seed}, input {at}: {type(error).__name__}: {raw[:300]!r}", error)
        slowest = max(slowest, time.perf_counter() - begun)
    outcome.counts["slowest loader input, ms"] = round(slowest * 1000)
    return outcome


def memory(budget: float, inputs: int, seed: int = 0) -> Outcome:
    """Load big spoiled files and see how much memory that takes, as a multiple of the file."""
    outcome = Outcome("fuzz: memory", budget)
    chance = random.Random(seed)
    percepts = [percept for raw in seeds()[:20] for percept in _percepts(raw)]
    big = [{**each, "id": name(at)} for at, each in enumerate(percepts * (1500 // max(1, len(percepts)) + 1))]
    whole = json.dumps({"percepts": big, "engrams": None, "edges": None}, indent=2).encode()
    deep = b'{"percepts": ' + b"[" * 500_000
    wide = [b'{"engrams": [' + each * 300_000 + b"1]}" for each in _SMALL]
    most = 0.0
    for at in range(inputs):
        if outcome.over:
            break
        raw = [whole, deep, *wide][at] if at < 2 + len(wide) else mutated(chance, whole, [whole])
        tracemalloc.start()
        try:
            check(codec.decode(raw), archive=False)
        except Malformed:
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        outcome.counts["big files weighed"] += 1
        if len(raw) > MEMORY_BASE // 4:
            most = max(most, peak / len(raw))
        if peak > codec.MOST_MEMORY * len(raw) + MEMORY_BASE:
            outcome.violations.append(f"input {at}: {peak} bytes for a file of {len(raw)}")
    outcome.counts["most memory, percent of the file"] = round(100 * most)
    return outcome


def _percepts(raw: bytes) -> list[dict[str, Any]]:
    try:
        found = json.loads(raw)["percepts"] or []
        check({"percepts": found}, archive=False)
    except (ValueError, KeyError, TypeError, Malformed):
        return []
    return list(found)


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("consolidate", "--elapsed", "2h", "--at", AT),
    ("consolidate", "--elapsed", "2h", "--dry-run", "-v"),
    ("query", "young ordinary", "--at", AT),
    ("query", "--no-touch", "--json"),
    ("inject", "young"),
    ("inspect", "--archive"),
    ("inspect", "--json"),
    ("inspect", name(8)),
    ("restore", name(9)),
    ("record", "SECRETFACT young and ordinary", "--at", AT),
    ("record", "A fact of its own", "--extends", name(8)),
    ("learn", "A core fact of its own"),
    ("link", name(7), "extends", name(8)),
    ("unlink", name(8), name(7)),
    ("forget", name(4), "--yes"),
    ("forecast",),
    ("doctor",),
    ("run", "show"),
    ("hook", "run", "stop"),
)
_REFUSALS = (BAD_DATA, BAD_CONFIG)
_STORES = ("global", "session", "archive")


def _sound(result: Any, program: Program, before: dict[str, bytes | None], argv: tuple[str, ...]) -> None:
    """Assert that a command ended as it may, and changed nothing where it refused."""
    assert result.code in (0, 1, 64, BAD_DATA, BAD_CONFIG), result
    assert "Traceback" not in result.err, result
    assert "a defect" not in result.err, result
    if result.code in _REFUSALS and argv[0] != "forget":
        after = tree(program.data)
        assert {path: raw for path, raw in after.items() if path.endswith(".json")} == {
            path: raw for path, raw in before.items() if path.endswith(".json")
        }, (argv, result)


def commands(budget: float, inputs: int, seed: int = 0) -> Outcome:
    """Run every command on a memory of which one file is spoiled."""
    outcome = Outcome("fuzz: commands", budget)
    chance = random.Random(seed)
    all_seeds = seeds()
    with tempfile.TemporaryDirectory() as root:
        program = Program(Path(root))
        full(program)
        program.ok("run", "start", "--run", "kept")
        program.ok("query", "young")
        kept = tree(program.data)
        own = [raw for path, raw in kept.items() if raw and path.endswith(".json") and ".milkmem" not in path]
        for at in range(inputs):
            if outcome.over:
                break
            for path, raw in kept.items():
                if raw is not None and path.endswith(".json"):
                    (program.data / path).write_bytes(raw)
            if chance.random() < 0.15:
                spoiled = chance.choice([".milkmem/runs.json", ".milkmem/runs/kept.json"])
                raw = mutated(chance, kept[spoiled] or b"", own)
                env: dict[str, str | None] = {"MILKMEM_RUN": "kept"}
            else:
                spoiled = chance.choice(_STORES) + ".json"
                raw = mutated(chance, chance.choice([kept[spoiled] or b"", chance.choice(all_seeds)]), own)
                env = {}
            (program.data / spoiled).write_bytes(raw)
            argv = chance.choice(COMMANDS)
            before = tree(program.data)
            outcome.counts["command runs"] += 1
            try:
                with _Alarm():
                    result = program.run(*argv, env=env, stdin=b"{}")
                outcome.counts["command runs refused"] += result.code in _REFUSALS
                _sound(result, program, before, argv)
                if result.code == 0:
                    for path in program.data.glob("*.json"):
                        if path.read_bytes() != before[path.name]:
                            check(codec.decode(path.read_bytes()), archive=path.stem == "archive")
            except Exception as error:  # whatever else comes up is what is looked for
                outcome.note(f"seed {seed}, input {at}, {argv}, {spoiled}: {raw[:400]!r}", error)
    return outcome


_BOMBS: tuple[bytes, ...] = (
    b"a = " + b"[" * 300_000,
    b"a = " + b"{b=" * 100_000,
    b"a." * 100_000 + b"a = 1",
    b"[" + b"a." * 100_000 + b"a]",
    b"a = " + b"1" * 100_000,
    b"[[a]]\n" * 20_000,
    b"\n".join(b"[a%d]" % at for at in range(10_000)),
    b'a = """' + b"\\u0041" * 50_000,
    b"\0" * 100_000,
    b"[memory]\nsession_half_life_days = 1" + b"0" * 4000,
)


def configurations(budget: float, inputs: int, seed: int = 0) -> Outcome:
    """Read spoiled configurations and bombs, and put hooks into spoiled settings."""
    outcome = Outcome("fuzz: configurations", budget)
    chance = random.Random(seed)
    text = config_file.render().encode() + b"\n[memory]\n"
    own = [text, b'[memory]\nsession_half_life_days = 2.5\nedge_cadence = "run"\n', b'session = "@cwd"\n']
    settings = [
        b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo hi"}]}]}, "model": "x"}',
        b'{\n  "permissions": {"allow": ["a", "b"]},\n  "hooks": {}\n}\n',
    ]
    with tempfile.TemporaryDirectory() as root:
        program = Program(Path(root))
        full(program)
        path = program.home / ".config" / "milkmem" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        agents = program.home / ".claude" / "settings.json"
        for at in range(inputs):
            if outcome.over:
                break
            raw = _BOMBS[at] if at < len(_BOMBS) else mutated(chance, chance.choice(own), own)
            path.write_bytes(raw)
            outcome.counts["configurations"] += 1
            try:
                with _Alarm():
                    try:
                        config.load(str(path), True)
                    except BadConfig:
                        outcome.counts["configurations refused"] += 1
                if at % 10 == 0:
                    argv = chance.choice(
                        [("config", "show"), ("config", "init", "--upgrade"), ("query", "x")]
                    )
                    before = tree(program.data)
                    with _Alarm():
                        result = program.run(*argv)
                    outcome.counts["command runs on them"] += 1
                    _sound(result, program, before, argv)
                    assert result.code == 0 or path.read_bytes() == raw, result
                    path.unlink()
                    shutil.rmtree(agents.parent, ignore_errors=True)
                    agents.parent.mkdir()
                    spoiled = mutated(chance, chance.choice(settings), settings)
                    agents.write_bytes(spoiled)
                    with _Alarm():
                        result = program.run("hook", "install", "claude-code")
                    outcome.counts["agents' settings"] += 1
                    assert result.code in (0, BAD_DATA, BAD_CONFIG), result
                    assert "Traceback" not in result.err, result
                    assert result.code == 0 or agents.read_bytes() == spoiled, result
                    with _Alarm():
                        result = program.run("hook", "run", "stop", stdin=spoiled)
                    outcome.counts["hook inputs"] += 1
                    assert result.code == 0, result
            except Exception as error:  # whatever else comes up is what is looked for
                outcome.note(f"seed {seed}, input {at}: {raw[:300]!r}", error)
    return outcome


def run(budget: float, inputs: int = 100_000, seed: int = 0) -> Outcome:
    """Do all of it within a time in seconds; of commands a twentieth of the inputs."""
    outcome = Outcome("fuzz", budget)
    outcome.merge(loader(budget * 0.55, inputs, seed))
    outcome.merge(memory(budget * 0.1, 40, seed))
    outcome.merge(commands(budget * 0.2, inputs // 20, seed))
    outcome.merge(configurations(budget * 0.15, inputs // 20, seed))
    return outcome
