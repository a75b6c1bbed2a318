"""The configuration: found, read, explained, written and upgraded (section 3, K1, section 15)."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import multiprocessing
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from milkmem import config, config_file, files
from milkmem.errors import BadConfig, BadUsage, CannotWrite, Refused
from milkmem.knobs import (
    ABOVE_ZERO,
    ABOVE_ZERO_OR_NEVER,
    CADENCE,
    COUNT,
    COUNT_OR_NO_LIMIT,
    KNOBS,
    RETIRED,
    UNIT,
    YES_NO,
    Bound,
    Knobs,
)

ROOT = Path(__file__).parent.parent
DEFAULTS = {name: knob.default for name, knob in KNOBS.items()}
RENDERED = config_file.render()

# Per bound: TOML values that it takes, and that it does not.
TAKEN: dict[Bound, tuple[str, ...]] = {
    ABOVE_ZERO: ("1e-9", "1", "1e300"),
    UNIT: ("0.5", "1e-9"),
    ABOVE_ZERO_OR_NEVER: ("1e-9", "7", "-1", "-1.0"),
    COUNT_OR_NO_LIMIT: ("1", "2.0", "-1", "18446744073709551617"),
    COUNT: ("1", "3.0"),
    YES_NO: ("true", "false"),
    CADENCE: ('"pass"', "'run'"),
}
REFUSED: dict[Bound, tuple[str, ...]] = {
    ABOVE_ZERO: ("-1", "-1e-9"),
    UNIT: ("-1", "1.0000001", "2"),
    ABOVE_ZERO_OR_NEVER: ("-2", "-0.5"),
    COUNT_OR_NO_LIMIT: ("-2", "1.5"),
    COUNT: ("-1", "1.5"),
    YES_NO: ("0", "1", '"true"'),
    CADENCE: ('"turn"', '""', '"Pass"'),
}
NO_NUMBERS = ("nan", "inf", "-inf", "1e999", '"abc"', "true", "false", "[]", "{}", "1979-05-27", "'1'")
TEXT_OR_FLAG = (YES_NO, CADENCE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the configuration of a test lies."""
    return tmp_path / "config.toml"


def written(path: Path, text: str | bytes) -> str:
    """Write a configuration and return its path."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def refusal(path: Path, text: str | bytes) -> str:
    """Return the one-line message with which a configuration is refused."""
    with pytest.raises(BadConfig) as caught:
        config.load(written(path, text), True)
    assert "\n" not in caught.value.message
    assert str(path) in caught.value.message
    return caught.value.message


def knobs_of(knobs: Knobs) -> dict[str, object]:
    """Return the knobs in force by name."""
    return {name: getattr(knobs, name) for name in KNOBS}


def listing(directory: Path) -> list[str]:
    """Return what lies in a directory."""
    return sorted(os.listdir(directory))


# Finding.


def test_environment_names_the_file(path: Path) -> None:
    """Section 3: MILKMEM_CONFIG names the file."""
    assert config.default_path({"MILKMEM_CONFIG": str(path)}) == str(path)


@pytest.mark.parametrize("relative", ["config.toml", "./config.toml", "~/config.toml"])
def test_relative_path_in_the_environment_is_refused(relative: str) -> None:
    """F1: a relative path in the environment is a configuration error, since hooks run in many places."""
    with pytest.raises(BadConfig, match="MILKMEM_CONFIG"):
        config.default_path({"MILKMEM_CONFIG": relative})


@pytest.mark.parametrize("environ", [{}, {"MILKMEM_CONFIG": ""}])
def test_platform_directory_is_the_default(
    environ: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 3: without a name the file lies in the platform's configuration directory of milkmem."""
    import platformdirs

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "here"))
    directory = platformdirs.user_config_dir("milkmem", appauthor=False)
    assert config.default_path(environ) == os.path.join(directory, "config.toml")
    assert directory.startswith(str(tmp_path))


@pytest.mark.parametrize("answer", ["~/.config/milkmem", RuntimeError("no home")])
def test_no_home_directory_is_a_configuration_error(
    answer: str | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Section 3: where there is no home directory the error names what to set, without a traceback."""
    import platformdirs

    def homeless(*_: object, **__: object) -> str:
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(platformdirs, "user_config_dir", homeless)
    with pytest.raises(BadConfig) as caught:
        config.default_path({})
    assert "HOME" in caught.value.hint
    assert "MILKMEM_CONFIG" in caught.value.hint


# Reading.


def test_missing_file_means_defaults(path: Path) -> None:
    """Section 3: a missing file means defaults."""
    found = config.load(str(path), False)
    assert not found.exists
    assert knobs_of(found.knobs) == DEFAULTS
    assert (found.data_dir, found.session, found.instructions) == (None, None, True)
    assert (found.retired, found.warnings, found.path) == ([], [], str(path))


def test_file_below_a_file_is_missing(path: Path) -> None:
    """Section 3: a home that is no directory (/dev/null) has no configuration."""
    path.touch()
    assert not config.load(str(path / "config.toml"), False).exists


def test_file_named_by_the_caller_must_exist(path: Path) -> None:
    """Section 3: a file named by --config must exist, and the hint makes it."""
    with pytest.raises(BadConfig, match="no such file") as caught:
        config.load(str(path), True)
    assert caught.value.hint == f"milkmem config init --config {path}"


def test_empty_file_means_defaults(path: Path) -> None:
    """Section 3: what is missing stands at its default."""
    found = config.load(written(path, ""), True)
    assert found.exists
    assert knobs_of(found.knobs) == DEFAULTS
    assert (found.data_dir, found.session, found.instructions) == (None, None, True)


def test_every_key_is_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 3: data_dir (`~` expanded) and session at the top, instructions under [hooks]."""
    monkeypatch.setenv("HOME", "/home/someone")
    top = 'data_dir = "~/memory"\nsession = "@cwd"\n'
    text = f"{top}[memory]\nreconfirm_boost = 0.1\n[hooks]\ninstructions = false\n"
    found = config.load(written(path, text), True)
    assert (found.data_dir, found.session, found.instructions) == ("/home/someone/memory", "@cwd", False)
    assert found.knobs.reconfirm_boost == 0.1


def test_byte_order_mark_is_accepted(path: Path) -> None:
    """Section 3: an editor's byte order mark is no error."""
    assert config.load(written(path, b"\xef\xbb\xbfsession = 'a'\n"), True).session == "a"


@pytest.mark.parametrize(("name", "value"), [(n, v) for n, knob in KNOBS.items() for v in TAKEN[knob.bound]])
def test_value_within_bounds_is_taken(name: str, value: str, path: Path) -> None:
    """Section 3: every knob takes the values of its bound, in its own type."""
    text = f"[memory]\nprune_threshold = 1e-12\n{name} = {value}\n"
    if name == "prune_threshold":
        text = f"[memory]\n{name} = {value}\n"
    taken = getattr(config.load(written(path, text), True).knobs, name)
    assert taken == tomllib.loads(f"x = {value}")["x"]
    assert type(taken) is type(KNOBS[name].default)


@pytest.mark.parametrize(
    ("name", "value"), [(n, v) for n, knob in KNOBS.items() for v in REFUSED[knob.bound]]
)
def test_value_out_of_bounds_is_refused(name: str, value: str, path: Path) -> None:
    """K1: a value out of bounds is an error naming file, line, key and what it must be."""
    message = refusal(path, f"# a comment\n[memory]\n\n{name} = {value}\n")
    assert message.startswith(f"{path}:4: memory.{name} must be ")
    assert len(message) > len(f"{path}:4: memory.{name} must be ")


@pytest.mark.parametrize("value", NO_NUMBERS)
@pytest.mark.parametrize("name", [name for name, knob in KNOBS.items() if knob.bound not in TEXT_OR_FLAG])
def test_what_is_no_finite_number_is_refused(name: str, value: str, path: Path) -> None:
    """Section 3: numbers must be finite, and `false` is not zero."""
    assert f"{path}:2: memory.{name} must be a" in refusal(path, f"[memory]\n{name} = {value}\n")


@pytest.mark.parametrize("zero", ["0", "0.0", "-0.0", "+0"])
@pytest.mark.parametrize("name", [name for name, knob in KNOBS.items() if knob.bound not in TEXT_OR_FLAG])
def test_zero_is_the_default(name: str, zero: str, path: Path) -> None:
    """Section 3: zero means the default, and `config show` says so where that is another value."""
    found = config.load(written(path, f"[memory]\n{name} = {zero}\n"), True)
    assert knobs_of(found.knobs) == DEFAULTS
    origin = config_file.origins(found)[name]
    assert origin.line == 2
    assert origin.zero == (DEFAULTS[name] != 0)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[memory]\nprune_threshold = 0.8\n", 2),
        ("[memory]\nprune_threshold = 0.9\npromote_threshold = 0.5\n", 2),
        ("[memory]\n\npromote_threshold = 0.2\n", 3),
        ("[memory]\nprune_threshold = 0\npromote_threshold = 0.1\n", 2),
    ],
)
def test_thresholds_must_be_apart(text: str, line: int, path: Path) -> None:
    """Section 3: prune_threshold at or above promote_threshold is a configuration error."""
    message = refusal(path, text)
    assert message == f"{path}:{line}: memory.prune_threshold must be below memory.promote_threshold"


@pytest.mark.parametrize(("cap", "warned"), [(0.79, True), (0.8, False), (0.81, False)])
def test_low_cap_is_a_warning(cap: float, warned: bool, path: Path) -> None:
    """Section 3: reconfirm_cap below promote_threshold is a warning, no error."""
    found = config.load(written(path, f"[memory]\nreconfirm_cap = {cap}\n"), True)
    assert [str(path) in warning and "reconfirm_cap" in warning for warning in found.warnings] == [
        True
    ] * warned


@pytest.mark.parametrize(
    ("text", "at", "nearest"),
    [
        (
            "[memory]\nreconfirm_bost = 1\n",
            "2: there is no key memory.reconfirm_bost",
            "memory.reconfirm_boost",
        ),
        ("x = 1\n", "1: there is no key x", None),
        ("\n[memry]\n", "2: there is no key memry", "memory"),
        ("[memory]\nsession = 'a'\n", "2: there is no key memory.session", "session"),
        ("reconfirm_cap = 0.5\n", "1: there is no key reconfirm_cap", "memory.reconfirm_cap"),
        ("[hooks]\n\nInstruction = true\n", "3: there is no key hooks.Instruction", "hooks.instructions"),
        ("[[sesion]]\na = 1\n", "1: there is no key sesion", "session"),
        ("decay_per_session = 1\n", "1: there is no key decay_per_session", None),
        ("[hooks]\ndecay_per_session = 1\n", "2: there is no key hooks.decay_per_session", None),
        (
            "[memory.reconfirm_boot]\na = 1\n",
            "1: there is no key memory.reconfirm_boot",
            "memory.reconfirm_boost",
        ),
        ('"a\\u001b[31m\\n.b" = 1\n', r"1: there is no key 'a\x1b[31m\n.b'", None),
        ('"\\u202e" = 1\n', r"1: there is no key '\u202e'", None),
        ('"" = 1\n', "1: there is no key ''", None),
        (f"{'k' * 70_000} = 1\n", f"1: there is no key {'k' * 60};", None),
    ],
)
def test_unknown_key_is_refused(text: str, at: str, nearest: str | None, path: Path) -> None:
    """K1: an unknown key anywhere is an error naming file, line, key and the nearest valid key."""
    message = refusal(path, text)
    assert message.startswith(f"{path}:{at}")
    suggested = message.partition("did you mean ")[2].removesuffix("?")
    valid = {"data_dir", "session", "memory", "hooks", "hooks.instructions", *(f"memory.{n}" for n in KNOBS)}
    assert suggested in valid if nearest is None else suggested == nearest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("data_dir = 1\n", "1: data_dir must be a text in quotes"),
        ("\nsession = true\n", "2: session must be a text in quotes"),
        ("memory = 3\n", "1: memory must be a table, [memory]"),
        ("[[memory]]\n", "1: memory must be a table, [memory]"),
        ("hooks = []\n", "1: hooks must be a table, [hooks]"),
        ("[hooks]\ninstructions = 0\n", "2: hooks.instructions must be true or false"),
        ("[hooks]\ninstructions = 'yes'\n", "2: hooks.instructions must be true or false"),
        ("data_dir = 'memory'\n", "1: data_dir must be an absolute path"),
        ("data_dir = ''\n", "1: data_dir must be an absolute path"),
        ("data_dir = '~nobody-of-that-name/memory'\n", "1: data_dir must be an absolute path"),
        ('data_dir = "~\\u0000/memory"\n', "1: data_dir must be an absolute path"),
        ('data_dir = "/\\u0000"\n', "1: data_dir must be an absolute path"),
    ],
)
def test_wrong_form_is_refused(text: str, words: str, path: Path) -> None:
    """F1, K1: a wrong type and a relative data_dir are errors naming file, line and key."""
    assert refusal(path, text).startswith(f"{path}:{words}")


def test_errors_name_the_next_command(path: Path) -> None:
    """X3: an error's hint is the next command to type."""
    with pytest.raises(BadConfig) as caught:
        config.load(written(path, "[memory]\nx = 1\n"), True)
    assert caught.value.hint == "milkmem config init --stdout"
    assert caught.value.code == 78


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"[memory\n", "is not TOML: .*line 1"),
        (b"[memory]\nreconfirm_boost = \n", "is not TOML: .*line 2"),
        (b"[memory]\nreconfirm_boost = 1\nreconfirm_boost = 1\n", "is not TOML: .*line 3"),
        (b"session = 'a\x00b'\n", "is not TOML: .*line 1"),
        (b"a = 1\nsession = '\xff'\n", ":2: is not UTF-8"),
        ("session = 'a'\n".encode("utf-16"), ":1: is not UTF-8"),
    ],
)
def test_what_is_no_toml_is_refused(text: bytes, words: str, path: Path) -> None:
    """K1: a file that is no TOML is refused with the line."""
    assert re.search(words, refusal(path, text))


def within(seconds: float, path: Path, text: str | bytes) -> str:
    """Return the refusal of a configuration, which must take at most so many seconds of the processor."""
    start = time.process_time()
    message = refusal(path, text)
    assert time.process_time() - start < seconds
    assert len(message) < len(str(path)) + 200
    return message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = " + "[" * 500_000, "nested deeper than 64"),
        ("a = " + "{b=" * 300_000, "nested deeper than 64"),
        ("a = " + "[" * 200 + "]" * 200, "nested deeper than 64"),
        ("a." * 400_000 + "a = 1", "more than 64 dots"),
        ("\n[" + "a." * 400_000 + "a]", ":2: has more than 64 dots"),
        ("[memory]\ndecay_per_session = " + "[" * 66 + "]" * 66, "nested deeper than 64"),
        ("a = " + "1" * 5_000, "too many digits"),
        ("#" * (config.LIMIT_BYTES + 1), "is larger than"),
        ("\n".join(f"{'a.' * 31}k{at} = 1" for at in range(3_000)), "there is no key a"),
        ("\n".join(f"[a{at}]" for at in range(20_000)), "there is no key a0"),
    ],
    ids=[
        "arrays",
        "tables",
        "arrays-closed",
        "key",
        "header",
        "retired",
        "digits",
        "size",
        "keys",
        "headers",
    ],
)
def test_bombs_are_refused_at_once(text: str, words: str, path: Path) -> None:
    """K1: a file made to exhaust the parser is refused, not hung on or crashed by."""
    assert words in within(20, path, text)


def test_limits_leave_room(path: Path) -> None:
    """Section 3: comments with rows of dots, paths with dots and a retired list are within the limits."""
    text = f"# {'.' * 200}\ndata_dir = '/{'.a' * 60}'\n[memory]\ndecay_per_session = {'[' * 30}{']' * 30}\n"
    assert config.load(written(path, text), True).data_dir == f"/{'.a' * 60}"
    exact = text + "#" * (config.LIMIT_BYTES - len(text))
    assert config.load(written(path, exact), True).exists


def make_directory(path: Path) -> None:
    """Put a directory in the file's place."""
    path.mkdir()


def make_fifo(path: Path) -> None:
    """Put a FIFO in the file's place."""
    os.mkfifo(path)


def make_device(path: Path) -> None:
    """Put a device in the file's place."""
    path.symlink_to("/dev/zero")


def make_loop(path: Path) -> None:
    """Put a symbolic link to itself in the file's place."""
    path.symlink_to(path)


def make_socket(path: Path) -> None:
    """Put a socket in the file's place."""
    with socket.socket(socket.AF_UNIX) as made, contextlib.chdir(path.parent):
        made.bind(path.name)


IRREGULAR = [make_directory, make_fifo, make_device, make_loop, make_socket]


@pytest.mark.parametrize("make", IRREGULAR)
def test_anything_but_a_regular_file_is_refused(make: Any, path: Path) -> None:
    """Case 25: a directory, FIFO or device in place of the configuration is refused, by `init` too."""
    make(path)
    with pytest.raises(BadConfig, match=str(path)):
        config.load(str(path), False)
    with pytest.raises(BadConfig, match=str(path)):
        config_file.init(str(path), force=True)
    with pytest.raises(BadConfig, match=str(path)):
        config_file.init(str(path), upgrade=True)
    with pytest.raises(BadConfig, match=str(path)):
        config_file.set_session(str(path), "a")
    assert listing(path.parent) == ["config.toml"]


@pytest.mark.parametrize("call", ["stat", "open"])
def test_unreadable_file_is_a_configuration_error(
    call: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X2: a configuration that may not be read is a configuration error, never the defaults."""
    path.touch()

    def denied(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, denied)
        with pytest.raises(BadConfig, match="cannot be read: Permission denied"):
            config.load(str(path), False)


def test_file_that_vanishes_means_defaults(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 3: a file removed between look and reading is a missing file."""
    path.touch()
    monkeypatch.setattr(files, "read_regular", lambda _: None)
    assert not config.load(str(path), False).exists


def test_reading_imports_no_more_than_it_must(path: Path) -> None:
    """K1: a hook pays for no parser where there is no file, and never for a writer or for suggestions."""
    script = (
        "import sys; from milkmem import files, knobs; before = set(sys.modules);"
        "from milkmem import config; config.load(sys.argv[1], False);"
        "print(*{'tomllib', 're', 'tomli_w', 'difflib', 'platformdirs', 'json', 'dataclasses', 'typing'}"
        " & (set(sys.modules) - before))"
    )

    def imported() -> set[str]:
        command = [sys.executable, "-S", "-c", script, str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        return set(run.stdout.split())

    assert imported() == set()
    written(path, config_file.render())
    assert imported() == set()
    written(path, f"{config_file.render()}# a comment with a\ttab in it\n")
    assert {"tomllib"} <= imported() <= {"tomllib", "re", "typing"}


# Retired keys.


@pytest.mark.parametrize("value", ["0.1", "-5", '"x"', "[1, 2]", "{ a = 1 }", "nan", "true"])
def test_retired_keys_are_ignored(value: str, path: Path) -> None:
    """K1, case 40: retired keys are ignored whatever they hold; `config show` names them and their line."""
    text = (
        f"[memory]\ndecay_per_session = {value}\nreconfirm_boost = 0.1\nglobal_decay_per_session = {value}\n"
    )
    found = config.load(written(path, text), True)
    assert knobs_of(found.knobs) == {**DEFAULTS, "reconfirm_boost": 0.1}
    assert found.retired == [("decay_per_session", 2), ("global_decay_per_session", 4)]
    rows = {row.name: row for row in config_file.show(found)}
    assert rows["decay_per_session"].origin == f"{path}:2 (retired: ignored)"
    assert rows["global_decay_per_session"].origin == f"{path}:4 (retired: ignored)"
    assert rows["decay_per_session"].value is None


def test_no_knob_is_retired() -> None:
    """K1: no name is a knob and retired at once."""
    assert not set(RETIRED) & set(KNOBS)


# Explaining.


def test_show_prints_a_line_per_setting(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 15: `config show` prints name, value and origin: default, or file and line."""
    monkeypatch.setenv("HOME", "/home/someone")
    text = 'data_dir = "~/m"\n[memory]\nreconfirm_boost = 0\nedge_cadence = "run"\npercept_store_max = 0\n'
    found = config.load(written(path, text), True)
    rows = {row.name: (row.value, row.origin) for row in config_file.show(found)}
    assert list(rows) == ["data_dir", "session", *KNOBS, "hooks.instructions"]
    expected: dict[str, tuple[object, str]] = {name: (value, "default") for name, value in DEFAULTS.items()}
    expected |= {
        "data_dir": ("/home/someone/m", f"{path}:1"),
        "session": (None, "default"),
        "reconfirm_boost": (0.05, f"{path}:3 (0 means the default)"),
        "edge_cadence": ("run", f"{path}:4"),
        "percept_store_max": (0, f"{path}:5"),
        "hooks.instructions": (True, "default"),
    }
    assert rows == expected


def test_false_is_no_zero_in_show(path: Path) -> None:
    """Section 3: `false` is not zero: a gate turned off is not shown as a default."""
    found = config.load(written(path, "[memory]\npercept_relevance_gate = false\n"), True)
    origin = config_file.origins(found)["percept_relevance_gate"]
    assert (origin.line, origin.zero) == (2, False)


def test_reference_table_has_every_knob() -> None:
    """K1: the reference table of the docs is made from the same declaration."""
    lines = config_file.reference_table().splitlines()
    assert lines[:2] == ["| knob | default | bound | meaning |", "|---|---|---|---|"]
    assert len(lines) == len(KNOBS) + 2
    for line, (name, knob) in zip(lines[2:], KNOBS.items(), strict=True):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        assert tomllib.loads(f"x = {cells[1].strip('`')}") == {"x": knob.default}
        assert (cells[0], cells[2], cells[3]) == (f"`{name}`", knob.bound.words, knob.meaning)


def test_docs_hold_the_reference_table() -> None:
    """K1: docs/operations.md holds the table as it is generated."""
    docs = ROOT / "docs" / "operations.md"
    if not docs.exists():
        pytest.skip("docs/operations.md is not written yet")
    assert config_file.reference_table() in docs.read_text()


# Rendering.


def test_shipped_configuration_is_what_init_writes() -> None:
    """Section 15: config/milkmem.toml equals what `config init` writes."""
    assert (ROOT / "config" / "milkmem.toml").read_text() == config_file.render()


def test_rendered_configuration_holds_every_key_and_no_retired_one() -> None:
    """Section 15: every knob at its default with its description, and no retired key."""
    text = config_file.render()
    assert tomllib.loads(text) == {"memory": DEFAULTS, "hooks": {"instructions": True}}
    for knob in KNOBS.values():
        assert f"# {knob.meaning} ({knob.bound.words})\n{knob.name} = " in text
    for retired in RETIRED:
        assert retired not in text


def test_rendered_examples_are_valid(path: Path) -> None:
    """Section 15: the commented examples of data_dir and session work when uncommented."""
    text = config_file.render()
    for key in ("data_dir", "session"):
        assert text.count(f"# {key} = ") == 1
        text = text.replace(f"# {key} = ", f"{key} = ")
    found = config.load(written(path, text), True)
    assert found.data_dir is not None
    assert found.session == "@cwd"


def test_rendering_an_unknown_setting_is_a_defect() -> None:
    """K1: nothing is written that would not be read."""
    with pytest.raises(TypeError, match="decay_per_session"):
        config_file.render({"decay_per_session": 0.1})


def numbers(bound: Bound) -> SearchStrategy[Any]:
    """Return values that a bound of numbers takes, zero left out."""
    positive = st.floats(0, exclude_min=True, allow_nan=False, allow_infinity=False)
    whole = st.integers(1, 10**30)
    strategies: dict[Bound, SearchStrategy[Any]] = {
        ABOVE_ZERO: positive,
        UNIT: st.floats(0, 1, exclude_min=True),
        ABOVE_ZERO_OR_NEVER: positive | st.just(-1.0),
        COUNT_OR_NO_LIMIT: whole | st.just(-1),
        COUNT: whole | st.just(0),
        YES_NO: st.booleans(),
        CADENCE: st.sampled_from(["pass", "run"]),
    }
    return strategies[bound]


@st.composite
def settings_by_name(draw: DrawFn) -> dict[str, Any]:
    """Return some settings of a valid configuration."""
    values: dict[str, Any] = draw(
        st.fixed_dictionaries({}, optional={name: numbers(knob.bound) for name, knob in KNOBS.items()})
    )
    knobs = Knobs(**values)
    if knobs.prune_threshold >= knobs.promote_threshold:
        values.pop("prune_threshold", None)
        values.pop("promote_threshold", None)
    text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    if draw(st.booleans()):
        values["data_dir"] = "/" + draw(text).replace("\0", "")
    if draw(st.booleans()):
        values["session"] = draw(text)
    if draw(st.booleans()):
        values["hooks.instructions"] = draw(st.booleans())
    return values


QUICK = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUICK
@given(values=settings_by_name())
def test_what_is_rendered_is_read_back(values: dict[str, Any], path: Path) -> None:
    """Section 15: values rendered by tomli-w and read again are the same values, to the last bit."""
    found = config.load(written(path, config_file.render(values)), True)
    read: dict[str, Any] = knobs_of(found.knobs)
    read |= {"data_dir": found.data_dir, "session": found.session, "hooks.instructions": found.instructions}
    defaults = {**DEFAULTS, "data_dir": None, "session": None, "hooks.instructions": True}
    assert read == {**defaults, **values}


# Where keys stand, and upgrading, over every way of writing the same thing.

NOISE = ["", "# a note: \"quoted\" '''and''' [memory] reconfirm_boost = 1", "   ", "\t# [hooks]", "#"]
TAILS = ["", " # it's [so]", "\t"]
SPELLINGS = {"pass": ['"pass"', "'pass'", '"""pass"""', "'''\npass'''", '"""\\\n\n  pass"""', '"p\\u0061ss"']}
ODDITIES = ["0.1", "[\n  1, # one ]\n  2,\n]", '"""\n[memory]\nreconfirm_boost = 3\n"""', "{ a = [ 1 ] }"]
SAMPLE: dict[str, Any] = {
    "session": 'it\'s [a] # "name"',
    "data_dir": "/a/b",
    "hooks.instructions": False,
    "session_half_life_days": 5.5,
    "reconfirm_boost": 0.1,
    "percept_inject_max": -1,
    "percept_store_max": 7,
    "edge_cadence": "pass",
    "percept_relevance_gate": False,
}


class Written:
    """A configuration in one of its many spellings, and what must be found in it."""

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self.text = ""
        self.lines: dict[str, int] = {}
        self.lasting: list[str] = []
        self.extensible = True

    def key(self, name: str) -> str:
        """Return a way to write a key."""
        return self.draw(st.sampled_from([name, f'"{name}"', f"'{name}'", f" {name} "]))

    def value(self, name: str) -> str:
        """Return a way to write the sample's value."""
        if name in RETIRED:
            return self.draw(st.sampled_from(ODDITIES))
        value = SAMPLE[name]
        plain = json.dumps(value)
        return self.draw(st.sampled_from(SPELLINGS.get(value, [plain]))) if isinstance(value, str) else plain

    def put(self, line: str, *names: str) -> None:
        """Write a statement with some comments and blank lines above it."""
        for noise in self.draw(st.lists(st.sampled_from(NOISE), max_size=2)):
            self.text += f"{noise}\n"
            self.lasting.append(noise)
        line += self.draw(st.sampled_from(TAILS))
        self.lines |= dict.fromkeys(names, self.text.count("\n") + 1)
        self.text += f"{line}\n"
        if not set(names) & set(RETIRED):
            self.lasting += line.split("\n")

    def put_memory(self, style: str, names: list[str]) -> None:
        """Write the table of knobs in a style."""
        knobs = set(names) - set(RETIRED)
        if style == "dotted":
            self.extensible = knobs == set()
            for name in names:
                self.put(f"{self.key('memory')}.{self.key(name)} = {self.value(name)}", name)
        elif style == "inline":
            self.extensible = knobs == set() != set(names)
            entries = ", ".join(f"{name} = {json.dumps(SAMPLE.get(name, 1))}" for name in names)
            self.put(f"memory = {{ {entries} }}", *names)
        elif style == "header":
            self.put(f"[{self.key('memory')}]")
            for name in names:
                self.put(f"{self.key(name)} = {self.value(name)}", name)

    def put_hooks(self) -> None:
        """Write the table of the hooks."""
        self.put(f"[ {self.key('hooks')} ]")
        self.put("instructions = false", "hooks.instructions")


@st.composite
def spellings(draw: DrawFn) -> Written:
    """Return a configuration written somehow."""
    made = Written(draw)
    for name in draw(st.lists(st.sampled_from(["session", "data_dir"]), unique=True)):
        made.put(f"{made.key(name)} = {made.value(name)}", name)
    knobs = [name for name in SAMPLE if name in KNOBS]
    names = draw(st.lists(st.sampled_from([*knobs, *RETIRED]), unique=True))
    style = draw(st.sampled_from(["none", "header", "dotted", "inline"]))
    hooks_first = style == "header" and draw(st.booleans())
    hooks_last = not hooks_first and draw(st.booleans())
    if hooks_first:
        made.put_hooks()
    made.put_memory(style, names)
    if hooks_last:
        made.put_hooks()
    if draw(st.booleans()):
        made.text = made.text.replace("\n", "\r\n")
    if draw(st.booleans()):
        made.text = made.text.removesuffix("\n").removesuffix("\r")
    return made


@QUICK
@given(case=spellings())
def test_lines_are_found_in_every_spelling(case: Written, path: Path) -> None:
    """Section 15: a key's line is found under headers, in dotted keys, in inline tables, by long strings."""
    found = config.load(written(path, case.text), True)
    lines = {
        name: origin.line for name, origin in config_file.origins(found).items() if origin.line is not None
    }
    assert lines | dict(found.retired) == case.lines
    shown = {row.name: row.value for row in config_file.show(found)}
    assert all(shown[name] == SAMPLE[name] for name in lines)


@QUICK
@given(case=spellings())
def test_upgrade_keeps_what_the_file_sets(case: Written, path: Path) -> None:
    """Section 15: --upgrade keeps values and comments, drops retired keys, adds the rest, and only once."""
    written(path, case.text)
    before = path.read_bytes()
    result = config_file.init(str(path), upgrade=True)
    found = config.load(str(path), True)
    unset = {"data_dir": None, "session": None, "hooks.instructions": True}
    kept = {name: SAMPLE[name] for name in case.lines if name not in RETIRED}
    assert {row.name: row.value for row in config_file.show(found)} == unset | DEFAULTS | kept
    assert all(origin.line for name, origin in config_file.origins(found).items() if name not in unset)
    assert set(result.dropped) == set(case.lines) & set(RETIRED)
    assert set(result.added) == {*KNOBS, "hooks.instructions"} - set(case.lines)
    assert result.written
    assert Path(f"{path}.bak").read_bytes() == before

    assert result.in_place == case.extensible
    if result.in_place:
        after = path.read_bytes().decode()
        lines = iter(after.replace("\r\n", "\n").split("\n"))
        assert all(line in lines for line in case.lasting)
        assert "\r\n" not in case.text or after.count("\n") == after.count("\r\n")

    stands = files.fingerprint_of(str(path))
    again = config_file.init(str(path), upgrade=True)
    assert (again.written, again.backup, again.added, again.dropped) == (False, None, (), ())
    assert files.fingerprint_of(str(path)) == stands


DATA = Path(__file__).parent / "data" / "config"


def test_upgraded_file_reads_as_one_would_write_it(path: Path) -> None:
    """Section 15: --upgrade edits in place: a golden example, old.toml made upgraded.toml."""
    written(path, (DATA / "old.toml").read_bytes())
    config_file.init(str(path), upgrade=True)
    assert path.read_text() == (DATA / "upgraded.toml").read_text()


def test_upgrade_of_an_empty_file_adds_all(path: Path) -> None:
    """Section 15: --upgrade adds what is missing, the tables too."""
    config_file.init(written(path, ""), upgrade=True)
    assert path.read_text() == config_file.render().partition("\n\n")[2].partition("\n\n")[2]


def test_upgrade_adds_below_the_last_comment(path: Path) -> None:
    """Section 15: --upgrade leaves a comment at the end of the last table with the keys above it."""
    text = "[hooks]\ninstructions = true\n\n[memory]\nreconfirm_boost = 0.1\n# a note on that\n\n"
    config_file.init(written(path, text), upgrade=True)
    assert path.read_text().startswith(f"{text}# {KNOBS['session_half_life_days'].meaning}")


def test_upgrade_of_a_missing_file_writes_it(path: Path) -> None:
    """Section 15: --upgrade without a file writes a new one."""
    result = config_file.init(str(path), upgrade=True)
    assert (result.written, result.backup) == (True, None)
    assert path.read_text() == config_file.render()


def test_upgrade_of_a_complete_file_writes_nothing(path: Path) -> None:
    """Section 15: --upgrade with nothing to do writes nothing and keeps no .bak."""
    written(path, config_file.render())
    stands = files.fingerprint_of(str(path))
    result = config_file.init(str(path), upgrade=True)
    assert (result.written, result.backup, result.added, result.dropped) == (False, None, (), ())
    assert files.fingerprint_of(str(path)) == stands
    assert listing(path.parent) == ["config.toml"]


@pytest.mark.parametrize(
    "text", ["[memory]\nx = 1\n", "[memory\n", "[memory]\nreconfirm_boost = 2\n", b"\xff"]
)
def test_upgrade_of_a_wrong_file_writes_nothing(text: str | bytes, path: Path) -> None:
    """K1: a configuration that is in error is not upgraded: nothing is written."""
    before = Path(written(path, text)).read_bytes()
    with pytest.raises(BadConfig):
        config_file.init(str(path), upgrade=True)
    assert path.read_bytes() == before
    assert listing(path.parent) == ["config.toml"]


# A new file, and a fresh one.


def test_init_writes_a_private_file_in_private_directories(tmp_path: Path) -> None:
    """Z2: a new configuration is 0600 and the directories made for it 0700, whatever the umask."""
    path = tmp_path / "a" / "b" / "config.toml"
    old = os.umask(0)
    try:
        result = config_file.init(str(path))
    finally:
        os.umask(old)
    assert path.read_text() == config_file.render()
    assert (result.path, result.written, result.backup) == (str(path), True, None)
    assert path.stat().st_mode & 0o777 == 0o600
    assert [p.stat().st_mode & 0o777 for p in (path.parent, path.parent.parent)] == [0o700, 0o700]
    assert listing(path.parent) == ["config.toml"]


def test_init_twice_is_refused(path: Path) -> None:
    """Case 39: the second `config init` ends with 1, names the path and both ways on, and changes nothing."""
    config_file.init(str(path))
    stands = files.fingerprint_of(str(path))
    with pytest.raises(Refused, match=f"{path} exists") as caught:
        config_file.init(str(path))
    assert caught.value.code == 1
    assert "--force" in caught.value.hint
    assert "--upgrade" in caught.value.hint
    assert files.fingerprint_of(str(path)) == stands
    assert listing(path.parent) == ["config.toml"]


@pytest.mark.parametrize("make", IRREGULAR[:3])
def test_init_over_anything_is_refused(make: Any, path: Path) -> None:
    """Section 15: whatever exists at the path is left alone."""
    make(path)
    with pytest.raises(Refused, match=str(path)):
        config_file.init(str(path))


@pytest.mark.parametrize("old", [b"[memory]\nreconfirm_boost = 0.1\n", b"\xff[[[", b""])
def test_force_writes_a_fresh_file_and_keeps_the_old(old: bytes, path: Path) -> None:
    """Section 15: --force writes a fresh file, even over a broken one; the old bytes are kept as .bak."""
    result = config_file.init(written(path, old), force=True)
    assert path.read_text() == config_file.render()
    assert result.backup == f"{path}.bak"
    assert Path(result.backup).read_bytes() == old
    assert listing(path.parent) == ["config.toml", "config.toml.bak"]


def test_force_over_the_same_file_keeps_the_older_backup(path: Path) -> None:
    """Section 15: --force twice does not replace the kept old file by a copy of the fresh one."""
    config_file.init(written(path, "session = 'a'\n"), force=True)
    assert not config_file.init(str(path), force=True).written
    assert Path(f"{path}.bak").read_text() == "session = 'a'\n"


def test_force_and_upgrade_exclude_each_other(path: Path) -> None:
    """Section 15: fresh and kept at once is a usage error."""
    with pytest.raises(BadUsage, match="--force and --upgrade"):
        config_file.init(str(path), force=True, upgrade=True)
    assert listing(path.parent) == []


REWRITES = [{"force": True}, {"upgrade": True}]


@pytest.mark.parametrize("options", REWRITES)
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o400])
def test_mode_is_kept_and_the_backup_is_no_more_readable(options: Any, mode: int, path: Path) -> None:
    """Z2: an existing file's mode is kept, and its .bak is private, an older public .bak too."""
    written(path, "session = 'a'\n")
    path.chmod(mode)
    backup = Path(f"{path}.bak")
    backup.write_text("older")
    backup.chmod(0o666)
    config_file.init(str(path), **options)
    assert path.stat().st_mode & 0o777 == mode
    assert backup.stat().st_mode & 0o777 == 0o600
    assert backup.read_text() == "session = 'a'\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("options", REWRITES)
def test_owner_is_kept(options: Any, path: Path) -> None:
    """Z2: an existing file's owner is kept."""
    written(path, "session = 'a'\n")
    os.chown(path, 1234, 2345)
    config_file.init(str(path), **options)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@pytest.mark.parametrize("options", REWRITES)
def test_symbolic_link_is_written_through(options: Any, tmp_path: Path) -> None:
    """Case 38: a configuration that is a symbolic link is written through, and the link is kept."""
    home, dotfiles = tmp_path / "home", tmp_path / "dotfiles"
    home.mkdir()
    dotfiles.mkdir()
    real = dotfiles / "milkmem.toml"
    real.write_text("session = 'a'\n")
    link = home / "config.toml"
    link.symlink_to("../dotfiles/milkmem.toml")
    config_file.init(str(link), **options)
    assert os.readlink(link) == "../dotfiles/milkmem.toml"
    assert real.read_text().count("[memory]") == 1
    assert (home / "config.toml.bak").read_text() == "session = 'a'\n"
    assert listing(home) == ["config.toml", "config.toml.bak"]
    assert listing(dotfiles) == ["milkmem.toml"]


def test_dangling_symbolic_link_is_written_through(tmp_path: Path) -> None:
    """Case 38: a link to a file that is not there yet makes the file, and the link is kept."""
    link = tmp_path / "config.toml"
    link.symlink_to("there/real.toml")
    config_file.init(str(link))
    assert os.readlink(link) == "there/real.toml"
    assert (tmp_path / "there" / "real.toml").read_text() == config_file.render()


@pytest.mark.parametrize("make", [make_directory, make_fifo, make_device])
def test_backup_in_the_place_of_something_else_is_refused(make: Any, path: Path) -> None:
    """Section 15: where the old file cannot be kept as .bak, nothing is written."""
    written(path, "session = 'a'\n")
    backup = Path(f"{path}.bak")
    make(backup)
    mode = backup.lstat().st_mode
    with pytest.raises(CannotWrite, match=r"config\.toml\.bak"):
        config_file.init(str(path), force=True)
    assert path.read_text() == "session = 'a'\n"
    assert backup.lstat().st_mode == mode


# Faults.


def failing(monkeypatch: pytest.MonkeyPatch, name: str, nth: int, number: int) -> None:
    """Make the nth call of a function of `os` fail, and all after it."""
    real = getattr(os, name)
    calls = 0

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= nth:
            raise OSError(number, os.strerror(number))
        return real(*arguments, **named)

    monkeypatch.setattr(os, name, call)


@pytest.mark.parametrize("options", REWRITES)
@pytest.mark.parametrize(
    ("name", "nth", "number"),
    [
        ("write", 1, errno.ENOSPC),
        ("write", 2, errno.ENOSPC),
        ("fsync", 1, errno.EIO),
        ("rename", 1, errno.EROFS),
        ("rename", 2, errno.EACCES),
        ("chmod", 1, errno.EPERM),
        ("lstat", 1, errno.EACCES),
        ("open", 1, errno.EACCES),
    ],
)
def test_fault_leaves_the_file_as_it_was(
    options: Any, name: str, nth: int, number: int, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Z5: a full disk, a read-only place or an I/O error leaves the configuration and no temporary file."""
    written(path, "session = 'a'\n")
    Path(f"{path}.bak").touch()
    with monkeypatch.context() as patch:
        failing(patch, name, nth, number)
        with pytest.raises(CannotWrite, match=os.strerror(number)) as caught:
            config_file.init(str(path), **options)
    assert caught.value.code == 73
    assert path.read_text() == "session = 'a'\n"
    assert listing(path.parent) == ["config.toml", "config.toml.bak"]


@pytest.mark.parametrize(
    ("name", "number"), [("mkdir", errno.EROFS), ("open", errno.EACCES), ("rename", errno.EIO)]
)
def test_new_file_that_cannot_be_written(
    name: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X2: where the file cannot be written the command ends with 73 and leaves no file."""
    path = tmp_path / "new" / "config.toml"
    with monkeypatch.context() as patch:
        failing(patch, name, 1, number)
        with pytest.raises(CannotWrite, match=os.strerror(number)):
            config_file.init(str(path))
    assert not path.exists()
    assert [name for _, _, names in os.walk(tmp_path) for name in names] == []


def test_place_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    """X2: a path below a regular file cannot be written."""
    (tmp_path / "file").touch()
    with pytest.raises(CannotWrite):
        config_file.init(str(tmp_path / "file" / "config.toml"))


def test_leftovers_of_a_crash_are_removed(path: Path) -> None:
    """Z5: a temporary file that a kill left is gone after the next writing command; others' files stay."""
    left = path.with_name(".milkmem-config-00ff.tmp")
    other = path.with_name("config.toml.tmp")
    left.touch()
    other.touch()
    config_file.init(str(path))
    assert listing(path.parent) == ["config.toml", "config.toml.tmp"]


def init_once(path: str) -> str:
    """Write the configuration as one of many processes and say how it ended."""
    try:
        config_file.init(path)
    except Refused:
        return "refused"
    return "written"


def test_one_of_many_processes_writes_a_new_file(path: Path) -> None:
    """Case 39: of many `config init` at once one writes the file and all others are refused."""
    with multiprocessing.get_context("spawn").Pool(6) as pool:
        ends = pool.map(init_once, [str(path)] * 12, chunksize=1)
    assert sorted(ends) == ["refused"] * 11 + ["written"]
    assert listing(path.parent) == ["config.toml"]


def test_directory_that_cannot_be_locked(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 15: a file system without locks on directories is no reason to write nothing."""

    def unlockable(*_: object) -> None:
        raise OSError(errno.EBADF, "Bad file descriptor")

    monkeypatch.setattr(fcntl, "flock", unlockable)
    assert config_file.init(str(path)).written


def test_file_made_meanwhile_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Case 39: a file that appears between the first look and the lock is not overwritten."""
    written(path, "session = 'a'\n")
    monkeypatch.setattr(os.path, "exists", lambda _: False)
    with pytest.raises(Refused):
        config_file.init(str(path))
    assert path.read_text() == "session = 'a'\n"


# The session.


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'session = "@cwd"\n'),
        ("session = 'a' # mine\n[hooks]\n", 'session = "@cwd"\n[hooks]\n'),
        ("# top\n\n# of hooks\n[hooks]\n", '# top\nsession = "@cwd"\n\n# of hooks\n[hooks]\n'),
        ("data_dir = '/a'", "data_dir = '/a'\nsession = \"@cwd\"\n"),
        ("[hooks]\r\n", 'session = "@cwd"\r\n[hooks]\r\n'),
        ("session = '@cwd' # mine", "session = '@cwd' # mine"),
        (
            config_file.render(),
            config_file.render().replace("\n\n[memory]", '\nsession = "@cwd"\n\n[memory]'),
        ),
    ],
)
def test_session_is_set_in_place(before: str, after: str, path: Path) -> None:
    """Hooks, `--per-project`: the session is set in the configuration and nothing else changes."""
    result = config_file.set_session(written(path, before), "@cwd")
    assert path.read_bytes().decode() == after
    assert config.load(str(path), True).session == "@cwd"
    assert result.written == (before != after)
    assert not config_file.set_session(str(path), "@cwd").written


def test_session_in_a_new_file(path: Path) -> None:
    """Hooks, `--per-project`: without a configuration a full one is written."""
    config_file.set_session(str(path), "@cwd")
    assert path.read_text() == config_file.render({"session": "@cwd"})


# milk's configuration.


@pytest.fixture
def milk(tmp_path: Path) -> Path:
    """Where milk's configuration of a test lies."""
    directory = tmp_path / "milk"
    directory.mkdir()
    return directory / "milk.json"


MILK: dict[str, Any] = {
    "model": "some",
    "memory": {
        "session_half_life_days": 4,
        "reconfirm_boost": 0,
        "reconfirm_cap": None,
        "decay_per_session": 0.1,
        "global_decay_per_session": 0.02,
        "min confidence": 0.4,
    },
    "percept_inject_max": 10,
    "percept_inject_max_bytes": -1,
    "percept_store_max": 500.0,
    "percept_relevance_gate": False,
    "percept_other": 1,
}
FROM_MILK = {
    "session_half_life_days": 4.0,
    "reconfirm_boost": 0.05,
    "percept_inject_max": 10,
    "percept_inject_max_bytes": -1,
    "percept_store_max": 500,
    "percept_relevance_gate": False,
}


def test_milks_knobs_are_taken(path: Path, milk: Path) -> None:
    """Section 15: --from-milk takes the memory block and the percept_ keys, and names what it leaves out."""
    milk.write_text(json.dumps(MILK))
    result = config_file.init(str(path), from_milk=str(milk))
    assert knobs_of(config.load(str(path), True).knobs) == DEFAULTS | FROM_MILK
    assert path.read_text() == config_file.render(FROM_MILK)
    assert result.taken == tuple(FROM_MILK)
    retired = ["memory.decay_per_session", "memory.global_decay_per_session"]
    assert list(result.left_out) == [*retired, "memory.'min confidence'", "percept_other"]


def test_milks_knobs_stand_behind_what_an_upgraded_file_sets(path: Path, milk: Path) -> None:
    """Section 15: --upgrade --from-milk keeps what the file sets and fills what is missing from milk's."""
    milk.write_text(json.dumps(MILK))
    config_file.init(written(path, "[memory]\npercept_inject_max = 3\n"), upgrade=True, from_milk=str(milk))
    expected = DEFAULTS | FROM_MILK | {"percept_inject_max": 3}
    assert knobs_of(config.load(str(path), True).knobs) == expected


def test_upgrade_from_milk_must_still_hold_together(path: Path, milk: Path) -> None:
    """Case 16: a mixture of both files that breaks a rule is refused, and nothing is written."""
    milk.write_text('{"memory": {"promote_threshold": 0.5}}')
    written(path, "[memory]\nprune_threshold = 0.6\n")
    with pytest.raises(BadConfig, match=r"below memory\.promote_threshold"):
        config_file.init(str(path), upgrade=True, from_milk=str(milk))
    assert path.read_text() == "[memory]\nprune_threshold = 0.6\n"


@pytest.mark.parametrize(
    "text", ["{}", '{"memory": null}', '{"memory": {}, "percept_store_max": null}', "\ufeff{}"]
)
def test_milk_without_knobs_gives_the_defaults(text: str, path: Path, milk: Path) -> None:
    """Section 15: what milk does not set stands at its default."""
    milk.write_text(text)
    result = config_file.init(str(path), from_milk=str(milk))
    assert path.read_text() == config_file.render()
    assert (result.taken, result.left_out) == ((), ())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"memory": {"reconfirm_boost": 1.5}}', "memory.reconfirm_boost must be above 0"),
        ('{"memory": {"reconfirm_boost": NaN}}', "memory.reconfirm_boost must be a finite number"),
        ('{"memory": {"reconfirm_boost": 1e999}}', "memory.reconfirm_boost must be a finite number"),
        ('{"memory": {"reconfirm_boost": "0.1"}}', "memory.reconfirm_boost must be a number"),
        ('{"percept_inject_max": 1.5}', "percept_inject_max must be a whole number"),
        ('{"percept_relevance_gate": 0}', "percept_relevance_gate must be true or false"),
        ('{"memory": {"prune_threshold": 0.9}}', "memory.prune_threshold must be below"),
        ('{"memory": []}', "memory must be an object"),
        ("[]", "must be a JSON object"),
        ("", "is not JSON: .*line 1"),
        ('{"a": 1,\n}', "is not JSON: .*line 2"),
        ("[" * 200_000, "nested deeper"),
        ('{"a": ' + "1" * 5_000 + "}", "too many digits"),
    ],
)
def test_milks_configuration_respects_bounds(text: str, words: str, path: Path, milk: Path) -> None:
    """Case 16: a bad value in milk's configuration is refused with file and key, and nothing is written."""
    milk.write_text(text)
    with pytest.raises(BadConfig, match=words) as caught:
        config_file.init(str(path), from_milk=str(milk))
    assert caught.value.message.startswith(f"{milk}: ")
    assert "\n" not in caught.value.message
    assert not path.exists()


def test_milks_configuration_must_be_there_and_text(path: Path, milk: Path) -> None:
    """Section 15: a missing or binary file in milk's place is a configuration error."""
    with pytest.raises(BadConfig, match="no such file"):
        config_file.init(str(path), from_milk=str(milk))
    milk.write_bytes(b"\xff")
    with pytest.raises(BadConfig, match="is not UTF-8"):
        config_file.init(str(path), from_milk=str(milk))
    assert not path.exists()
