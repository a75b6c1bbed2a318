"""The doctor finds what is wrong, names the command that comes next, and that command mends it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest

from milkmem.percept import ARCHIVE, GLOBAL, SESSION
from program import (
    COMMAND,
    USAGE,
    Killed,
    Program,
    archived,
    edge,
    fact,
    killed_at,
    name,
    one_line_error,
    tree,
)

DAY = 86_400.0


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program with a private data directory and one fact."""
    made = Program(tmp_path)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "milkmem").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "milkmem").chmod(0o755)
    made.env["PATH"] = f"{tmp_path / 'bin'}:{made.env['PATH']}"
    made.ok("record", "The staging server listens on port 4100")
    return made


def found(program: Program, *options: str, level: str = "problem") -> list[dict[str, Any]]:
    """Return the findings of a level; the exit code says whether there are problems (X2)."""
    before = tree(program.data)
    result = program.run("doctor", "--json", *options)
    assert tree(program.data) == before
    document = result.json
    problems = [finding for finding in document["findings"] if finding["level"] == "problem"]
    assert result.code == (1 if problems else 0)
    assert document["problems"] == len(problems)
    return [finding for finding in document["findings"] if finding["level"] == level]


def only(program: Program, *options: str, level: str = "problem") -> dict[str, Any]:
    """Return the one finding of a level."""
    (finding,) = found(program, *options, level=level)
    return finding


def type_in(program: Program, command: str) -> None:
    """Carry out the command that a finding names."""
    words = shlex.split(command)
    if words[0] == "milkmem":
        program.ok(*words[1:])
    else:
        assert os.system(command) == 0


def test_a_healthy_place_has_no_findings(program: Program) -> None:
    """X1, X2: exit 0, every place resolved, nothing to mend, nothing written."""
    assert found(program) == []
    assert found(program, level="note") == []
    document = program.json("doctor")
    assert document["places"] == {
        "data_dir": str(program.data),
        "session": "session",
        "config": str(program.home / ".config" / "milkmem" / "config.toml"),
    }
    rows = program.ok("doctor").rows
    assert ["ok", "files", "1 file, 1 percept", ""] in rows
    program.config("[memory]\nreconfirm_boost = 0.1\n")
    assert program.ok("doctor").rows[0][:2] == ["ok", "config"]
    assert {len(row) for row in rows} == {4}
    program.write(SESSION, fact(1, "too strong", 1.5))
    assert "1 percept" in next(each["text"] for each in found(program, level="note") if each["about"] == "w")


def test_no_memory_is_no_problem(tmp_path: Path) -> None:
    """F1: where nothing was recorded, nothing is wrong and nothing is created."""
    program = Program(tmp_path)
    assert found(program) == []
    assert not program.data.exists()
    program.data.write_text("")
    assert only(program)["about"] == "data directory"


def test_open_permissions(program: Program) -> None:
    """Z2: a directory and files that others can read, each with the command that closes it."""
    program.data.chmod(0o755)
    program.file(SESSION).chmod(0o644)
    findings = found(program)
    assert [finding["about"] for finding in findings] == ["permissions", "permissions"]
    for finding in findings:
        type_in(program, finding["command"])
    assert found(program) == []
    assert program.data.stat().st_mode & 0o777 == 0o700
    assert program.file(SESSION).stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_place_that_cannot_be_written(program: Program) -> None:
    """X2: what would be lost is said before it is."""
    program.data.chmod(0o500)
    assert "cannot be written" in only(program)["text"]
    program.data.chmod(0o700)


def test_retired_keys(program: Program) -> None:
    """K1, case 40: each retired key by file and line; the upgrade it names drops it."""
    path = program.config("[memory]\ndecay_per_session = 0.1\nreconfirm_cap = 0.7\n")
    findings = found(program)
    assert f"{path}:2: decay_per_session" in findings[0]["text"]
    assert "never promote" in findings[1]["text"]
    type_in(program, findings[0]["command"])
    assert len(found(program)) == 1


def test_a_broken_configuration_does_not_stop_the_rest(program: Program) -> None:
    """K1: an unknown key is a finding with the nearest valid one, and the files are still looked at."""
    program.config("[memory]\nreconfirm_bost = 0.1\n")
    program.file(GLOBAL).write_bytes(b"")
    assert [finding["about"] for finding in found(program)] == ["config", "files"]
    assert "reconfirm_boost" in found(program)[0]["text"]
    one_line_error(program.run("doctor", "--session", "../x"), USAGE, "session")


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"percepts": [', b"\xff"])
def test_a_file_that_cannot_be_read(program: Program, raw: bytes) -> None:
    """F7: every unreadable file is named with its place, and how to move it away."""
    program.file(GLOBAL).write_bytes(raw)
    program.file(ARCHIVE).mkdir()
    findings = found(program)
    assert [
        str(program.file(store)) in finding["text"]
        for store, finding in zip((GLOBAL, ARCHIVE), findings, strict=True)
    ]
    for finding in findings:
        type_in(program, finding["command"])
    assert found(program) == []
    assert program.data.joinpath("global.json.broken").read_bytes() == raw


def test_duplicate_ids(program: Program) -> None:
    """F7, Z3: an id caught between two files, healed by the pass that is named; two sessions are a note."""
    program.write(GLOBAL, fact(1, "twice"))
    program.write("other", fact(1, "twice"), fact(2, "thrice"))
    program.write("third", fact(2, "thrice"))
    program.write(ARCHIVE, archived(fact(3, "left")))
    finding = only(program)
    assert finding["about"] == "duplicate ids"
    assert finding["command"] == "milkmem consolidate --session other"
    assert any(each["about"] == "duplicate ids" for each in found(program, level="note"))
    type_in(program, finding["command"])
    assert found(program) == []


def test_dangling_edges(program: Program) -> None:
    """E1: an edge whose end is nowhere does nothing; the command that is named removes it."""
    program.write(GLOBAL, fact(1, "one"), edges=[edge(1, "extends", 77)])
    program.write("other", fact(2, "two"), edges=[edge(88, "contradicts", 2), edge(1, "extends", 2)])
    findings = found(program)
    assert [finding["about"] for finding in findings] == ["edges", "edges"]
    for finding in findings:
        type_in(program, finding["command"])
    assert found(program) == []
    assert program.edges("other") == [edge(1, "extends", 2)]
    program.write(GLOBAL, fact(1, "one"), edges=[edge(1, "extends", at) for at in range(70, 80)])
    assert len(found(program)) == 6
    assert "5 more" in found(program)[-1]["text"]


def test_a_file_changed_under_us(program: Program) -> None:
    """Z4: what another program wrote since the last command is a note, and no problem."""
    program.write(SESSION, *program.facts(SESSION).values(), fact(1, "by milk"))
    finding = only(program, level="note")
    assert finding["about"] == "changed"
    assert str(program.file(SESSION)) in finding["text"]
    program.ok("consolidate", "--elapsed", "1s")
    assert found(program, level="note") == []


def test_what_was_written_and_is_gone(program: Program) -> None:
    """Z4: what a command put into a file, and another program took away, is named by its id."""
    milks = program.file("global")
    program.ok("consolidate", "--elapsed", "1s")
    program.write("global", fact(1, "by milk"))
    before = milks.read_bytes()
    results = [program.json("learn", f"core fact {word}")["results"] for word in ("one", "two")]
    learned = [result["percept"]["id"] for (result,) in results]
    assert found(program, level="note") == []
    milks.write_bytes(before)  # milk writes what it still holds
    changed, gone = found(program, level="note")
    assert (changed["about"], gone["about"]) == ("changed", "gone")
    assert str(milks) in gone["text"]
    assert "2 percepts" in gone["text"]
    assert all(each in gone["text"] for each in learned)
    program.ok("consolidate", "--elapsed", "1s")
    (gone,) = found(program, level="note")  # still told when the change itself is history
    assert gone["about"] == "gone"


def test_what_is_removed_or_moved_is_not_gone(program: Program) -> None:
    """Z4: what our own commands removed or moved, or milk moved, is not said to be lost."""
    program.ok("record", "the first of them")
    first = program.facts(SESSION).popitem()[0]
    program.ok("record", "another one said")
    program.ok("forget", first, "--yes")
    program.ok("record", "what is pruned soon")
    program.ok("consolidate", "--elapsed", "30d")
    assert program.facts("archive") != {}
    assert found(program, level="note") == []
    moved = list(program.facts("archive").values())
    program.write("archive")
    program.write("global", *({key: each[key] for key in each if key != "archived"} for each in moved))
    assert {finding["about"] for finding in found(program, level="note")} == {"changed"}


def test_what_is_in_a_file_that_cannot_be_read_is_not_gone(program: Program) -> None:
    """Z4: a spoiled file is a problem of its own; nothing in it counts as gone."""
    program.ok("record", "a fact to keep")
    program.file(SESSION).write_bytes(b"{")
    assert [finding["about"] for finding in found(program)] == ["files"]
    assert "gone" not in {finding["about"] for finding in found(program, level="note")}


def test_only_the_last_places_are_kept(program: Program) -> None:
    """Z4: of very many percepts the last hundred are known, and few of them are written out."""
    program.ok(
        "record", "-", stdin="\n".join(f"fact number {number} of many" for number in range(150)).encode()
    )
    program.file(SESSION).unlink()
    gone = found(program, level="note")[-1]
    assert "lost 100 percepts" in gone["text"]
    assert "95 more" in gone["text"]


def test_runs_open_too_long(program: Program) -> None:
    """R2: a named run that nobody ended is named with the command that ends it."""
    program.ok("run", "start", "--run", "nightly")
    program.shift = DAY - 60
    assert found(program) == []
    program.shift = DAY + 60
    finding = only(program)
    assert finding["about"] == "runs"
    assert finding["command"] == "milkmem run end --run nightly"
    type_in(program, finding["command"])
    assert found(program) == []


def test_a_sitting_open_too_long(program: Program) -> None:
    """R1: a sitting that never ended counts all that is said in it once, and can be ended by hand."""
    for hours in range(1, 26):
        program.shift = hours * 3600.0
        program.ok("consolidate")
    finding = only(program)
    assert "sitting" in finding["text"]
    type_in(program, finding["command"])
    assert found(program) == []


def test_records_that_are_none(program: Program) -> None:
    """F6: broken run records hold no fact and are to be removed."""
    program.ok("run", "start", "--run", "nightly")
    (program.data / ".milkmem" / "runs" / "nightly.json").write_text("{}")
    type_in(program, only(program)["command"])
    assert found(program) == []
    (program.data / ".milkmem" / "runs.json").write_text("{}")
    type_in(program, only(program)["command"])
    assert found(program) == []


def test_what_a_crash_left(program: Program) -> None:
    """Z2: temporary files of ours and of a copied directory, each with what removes it."""
    foreign = program.data / ".milkmem-00000000-abc.tmp"
    foreign.write_text("x")
    finding = only(program, level="note")
    assert finding["command"] == f"rm {foreign}"
    type_in(program, finding["command"])
    assert found(program, level="note") == []
    for step in range(1, 20):
        with contextlib.suppress(Killed), killed_at(step):
            program.run("record", "The production server listens on port 4200")
        if list(program.data.glob(".milkmem-*.tmp")):
            break
    finding = next(each for each in found(program, level="note") if each["about"] == "left over")
    assert finding["command"] == "milkmem consolidate"
    type_in(program, finding["command"])
    assert found(program, level="note") == []


def test_the_lock_and_the_hook_log(program: Program) -> None:
    """Z1: a lock held at this moment is a note, and so is a hook that failed while nobody looked."""
    with program.locked():
        assert only(program, level="note")["about"] == "lock"
    (program.data / ".milkmem" / "hook.log").write_text("2026-12-01T00:00:00Z codex Stop: failed\n")
    assert only(program, level="note")["about"] == "hook log"


def test_hooks_installed_and_broken(program: Program) -> None:
    """X1: hooks are found, found incomplete, and mended by the install that is named."""
    assert any("no agent" in finding["text"] for finding in found(program, level="ok"))
    program.ok("hook", "install", "claude-code")
    assert found(program) == []
    assert any("settings.json calls milkmem" in finding["text"] for finding in found(program, level="ok"))
    path = program.home / ".claude" / "settings.json"
    settings = json.loads(path.read_text())
    del settings["hooks"]["Stop"]
    path.write_text(json.dumps(settings))
    finding = only(program)
    assert finding["command"] == "milkmem hook install claude-code"
    type_in(program, finding["command"])
    assert found(program) == []
    path.write_text(path.read_text()[:-9])
    assert only(program)["about"] == "hooks"


def test_hooks_twice(program: Program) -> None:
    """X1: where two files of one agent call milkmem, each turn would count twice."""
    program.ok("hook", "install", "codex")
    config = program.home / ".codex" / "config.toml"
    config.write_text('notify = ["milkmem", "hook", "run", "codex"]\n')
    finding = only(program)
    assert "twice" in finding["text"]
    type_in(program, finding["command"])
    assert found(program) == []
    config.write_bytes(b"# milkmem \xff")
    assert "UTF-8" in only(program)["text"]


def test_a_project_without_a_place(program: Program, tmp_path: Path) -> None:
    """X1: neither a working directory that is gone nor a home directory that is none stops the doctor."""
    gone = tmp_path / "gone"
    gone.mkdir()
    process = program.call(
        "doctor", cwd=gone, command=("sh", "-c", f'rmdir {gone}; exec "$@"', "sh", *COMMAND)
    )
    assert process.code == 0, process
    program.ok("hook", "install", "claude-code", "--project", cwd=tmp_path)
    assert any(
        str(tmp_path / ".claude") in row[2]
        for row in program.ok("doctor", cwd=tmp_path).rows
        if row[1] == "hooks"
    )
    program.env["HOME"] = "nowhere"
    program.env["MILKMEM_CONFIG"] = str(tmp_path / "config.toml")
    assert program.ok("doctor").rows[0][:2] == ["ok", "config"]


def test_hooks_without_a_program(program: Program) -> None:
    """X1: hooks that call what is not on the PATH do nothing."""
    program.ok("hook", "install", "codex")
    program.env["PATH"] = os.defpath
    assert "PATH" in only(program)["text"]


def test_hostile_names_cannot_steer_the_terminal(program: Program) -> None:
    """X5: what a file holds is shown as visible escapes, and quoted where it is to be typed."""
    bad = fact(1, "x") | {"id": "a'; rm -rf \x1b[31m"}
    program.write(GLOBAL, bad, edges=[{"from": bad["id"], "to": "\x1b]0;t\x07", "relation": "extends"}])
    for terminal in (False, True):
        result = program.run("doctor", terminal=terminal)
        assert result.code == 1
        assert "\x1b[31m" not in result.out.replace("\x1b[31mproblem", "").replace("\x1b[1;31mproblem", "")
        assert "\x1b]" not in result.out
    assert name(1) not in result.out


def test_an_edge_without_an_end_is_no_defect(program: Program) -> None:
    """F3: an edge may lack its fields; it is never live, and doctor notes it."""
    program.file("session").write_text('{"percepts": [], "edges": [{"relation": "extends"}]}')
    assert "edges" in [finding["about"] for finding in found(program, level="note")]
