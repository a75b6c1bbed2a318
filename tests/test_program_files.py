"""What commands do to the files: where they are, what they leave as it was, what they refuse (section 2)."""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from program import (
    AT,
    BAD_CONFIG,
    BAD_DATA,
    MILK,
    OLD,
    USAGE,
    Program,
    archived,
    edge,
    fact,
    in_milks_form,
    name,
    one_line_error,
    tree,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DIRECTORIES = sorted(path.name for path in MILK.iterdir() if path.is_dir())
SESSION_DAYS, GLOBAL_DAYS, FLOOR = 3.0, 60.0, 0.2
TWO_HOURS = 2 / 24


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Return a program whose data directory does not exist yet."""
    return Program(tmp_path)


def of_milk(program: Program, directory: str) -> str:
    """Copy one of milk's own data directories into place and return its session."""
    shutil.copytree(MILK / directory, program.data, copy_function=shutil.copyfile)
    sessions = [path.stem for path in program.data.glob("*.json") if path.stem != "global"]
    return sessions[0] if sessions else "session"


def blocks(raw: bytes, section: str) -> list[str]:
    """Return the entries of a section as they stand in a file of milk's form, trailing comma cut."""
    found = re.search(rf'^  "{section}": \[\n(.*?)\n  \]', raw.decode(), re.MULTILINE | re.DOTALL)
    if found is None:
        return []
    return re.split(r"(?<=^    \}),\n", found[1], flags=re.MULTILINE)


def entries(program: Program, section: str) -> Counter[str]:
    """Return every entry of a section in all files as it is written."""
    return Counter(
        entry for path in program.data.glob("*.json") for entry in blocks(path.read_bytes(), section)
    )


def lines_of(block: str) -> list[str]:
    """Return the lines of one entry without the commas that only say that more follows."""
    return [line.rstrip(",") for line in block.splitlines()]


def changed_lines(before: bytes, after: bytes) -> tuple[list[str], list[str]]:
    """Return the lines that went and those that came, commas aside."""
    one = [line.rstrip(",") for line in before.decode("utf-8", "surrogateescape").split("\n")]
    other = [line.rstrip(",") for line in after.decode("utf-8", "surrogateescape").split("\n")]
    difference = list(difflib.ndiff(one, other))
    went = [line[2:] for line in difference if line.startswith("- ")]
    came = [line[2:] for line in difference if line.startswith("+ ")]
    return went, came


def key_of(line: str) -> str:
    """Return the key that stands on a line of a file."""
    return line.split('"')[1] if '"' in line else ""


# F4: lossless


@pytest.mark.parametrize("elapsed", ["0s", "2h"])
@pytest.mark.parametrize("directory", DIRECTORIES)
def test_a_pass_changes_only_its_own_fields_of_milks_files(
    program: Program, directory: str, elapsed: str
) -> None:
    """F4: of every percept milk wrote only w, evidence, idle_seconds and archived change; all else keeps
    its bytes.
    """
    session = of_milk(program, directory)
    before = {path: path.read_bytes() for path in program.data.glob("*.json")}
    percepts = {key_of_id(block): block for raw in before.values() for block in blocks(raw, "percepts")}
    edges = entries(program, "edges")
    engrams = {path: blocks(raw, "engrams") for path, raw in before.items()}

    report = program.json("consolidate", "--elapsed", elapsed, "--session", session, "--at", AT)

    after = {
        key_of_id(block): block
        for path in program.data.glob("*.json")
        for block in blocks(path.read_bytes(), "percepts")
    }
    assert after.keys() == percepts.keys()
    for percept_id, block in percepts.items():
        went, came = changed_lines(
            "\n".join(lines_of(block)).encode(), "\n".join(lines_of(after[percept_id])).encode()
        )
        assert {key_of(line) for line in went} <= {"w"}, percept_id
        added = {key_of(line) for line in came if line.startswith("      ")} - {"", "at", "reason", "from"}
        assert added <= {"w", "evidence", "idle_seconds", "archived"}, percept_id
    assert entries(program, "edges") == edges
    for path, found in engrams.items():
        assert blocks(path.read_bytes(), "engrams") == found
    changes = {change["id"] for change in report["changes"]}
    if elapsed == "0s" and not changes:
        assert {path: path.read_bytes() for path in program.data.glob("*.json")} == before


def key_of_id(block: str) -> str:
    """Return the id of a percept's block."""
    return re.search(r'^      "id": "(.*?)"', block, re.MULTILINE)[1]  # type: ignore[index]  # all have one


@pytest.mark.parametrize("directory", DIRECTORIES)
def test_one_touched_percept_is_the_only_difference(program: Program, directory: str) -> None:
    """F4: a use adds the one line of last_used_at to milk's file, and no other byte but its comma differs."""
    session = of_milk(program, directory)
    before = {path: path.read_bytes() for path in program.data.glob("*.json")}

    found = program.json(
        "query",
        "--min-confidence",
        "0",
        "--limit",
        "1",
        "--session",
        session,
        "--at",
        "2026-12-02T12:00:00.5Z",
    )

    touched = [path for path, raw in before.items() if path.read_bytes() != raw]
    assert len(touched) == len(found["percepts"])
    assert set(program.data.glob("*.json")) == set(before)
    for path in touched:
        assert changed_lines(before[path], path.read_bytes()) == (
            [],
            ['      "last_used_at": "2026-12-02T12:00:00.5Z"'],
        )


def odd_document() -> bytes:
    """Return a file nearly in milk's form with everything that a careless reader loses."""
    return r"""{
  "unknown first": {"a": [1, {"b": null}], "e": []},
  "percepts": [
    {
      "id": "0000000a-odd",
      "content": "half \ud83d pair \udc00, raw \u2028 \u003cb\u003e \u0026 é 東 /'DEL",
      "producer": "primary",
      "w": 0.7,
      "roles": null,
      "created_at": "2026-03-01T10:00:00.123456789+05:30",
      "updated_at": "2026-03-01T10:00:00.1-00:00",
      "z later": 18446744073709551617,
      "a earlier": 1e-7,
      "huge": 123456789012345678901234567890.25,
      "minus": -0,
      "list": [1, 2.50, "x"]
    },
    {
      "content": "keys in another order",
      "w": 0.6,
      "updated_at": "2026-03-01T10:00:00Z",
      "producer": "made up",
      "id": "0000000b-odd",
      "consumer": null,
      "evidence": null
    }
  ],
  "engrams": [
    {"id": "e", "n": 1.0, "percept_ids": null}
  ],
  "edges": [
    {"from": "0000000a-odd", "to": "nowhere", "relation": "invented", "since": 18446744073709551617},
    {"relation": "extends"}
  ],
  "last": null
}""".encode()


def test_what_nobody_understands_is_kept_value_for_value(program: Program) -> None:
    """F4, case 19: unknown keys at any level, order, big numbers, fractions, offsets, nulls, half
    surrogates stay.
    """
    program.data.mkdir()
    program.file("session").write_bytes(b"\xef\xbb\xbf" + odd_document())
    program.file("global").write_bytes(b'{"percepts": null, "edges": null}')

    program.ok("consolidate", "--elapsed", "2h", "--at", AT)

    kept = json.loads(program.file("session").read_bytes(), parse_int=str, parse_float=str)
    given = json.loads(odd_document(), parse_int=str, parse_float=str)
    for percept in given["percepts"]:
        factor = 2 ** (-TWO_HOURS / SESSION_DAYS)
        assert float(kept["percepts"][0 if percept["w"] == "0.7" else 1]["w"]) == pytest.approx(
            float(percept["w"]) * factor, abs=1e-12
        )
    for one, other in zip(kept["percepts"], given["percepts"], strict=True):
        one["w"] = other["w"] = "w"
    spelled = {"2.50": "2.5", "1.0": "1", "123456789012345678901234567890.25": "1.2345678901234568e+29"}

    def in_milks_digits(value: Any) -> Any:
        if isinstance(value, dict):
            return [(key, in_milks_digits(item)) for key, item in value.items()]
        if isinstance(value, list):
            return [in_milks_digits(item) for item in value]
        return spelled.get(value, value)

    assert in_milks_digits(kept) == in_milks_digits(given)
    raw = program.file("session").read_bytes()
    assert not raw.startswith(b"\xef\xbb\xbf")
    for kept_bytes in (
        rb"half \ud83d pair \udc00",
        rb"\u2028",
        rb"\u003cb\u003e \u0026",
        "é 東 /'DEL".encode(),
    ):
        assert kept_bytes in raw
    assert program.file("global").read_bytes() == b'{"percepts": null, "edges": null}'


def test_odd_files_in_milks_form_change_by_the_lines_of_w_only(program: Program) -> None:
    """F4: once in milk's form, a pass over a file of odd values differs from it in the lines of w alone."""
    program.data.mkdir()
    program.file("session").write_bytes(odd_document())
    program.ok("consolidate", "--elapsed", "1h", "--at", AT)
    before = program.file("session").read_bytes()

    program.ok("consolidate", "--elapsed", "1h", "--at", AT)

    went, came = changed_lines(before, program.file("session").read_bytes())
    assert [key_of(line) for line in went] == [key_of(line) for line in came] == ["w", "w"]


def test_empty_lists_stay_what_they_were_and_emptied_ones_are_lists(program: Program) -> None:
    """F4, section 18: null stays null, [] stays [], and a list that the program empties becomes []."""
    program.write("global", fact(1, "a global fact", 0.9))
    program.write("session", fact(2, "a fact of the user", 0.9, "user"), more={"edges": []})

    program.ok("consolidate", "--elapsed", "0s", "--at", AT)

    assert program.read("session") == {"percepts": [], "engrams": None, "edges": []}
    assert program.read("global")["edges"] is None


def test_new_files_have_all_three_sections(program: Program) -> None:
    """Section 18: a file the program creates has percepts, engrams and edges in this order, LF, no newline
    at the end.
    """
    program.ok("record", "The first fact of all", "--at", "2026-12-02T12:00:00.120Z")

    raw = program.file("session").read_bytes()
    new = program.read("session")["percepts"][0]
    assert list(program.read("session")) == ["percepts", "engrams", "edges"]
    assert raw == in_milks_form(
        {
            "percepts": [
                {
                    "id": new["id"],
                    "content": "The first fact of all",
                    "producer": "primary",
                    "w": 0.7,
                    "roles": {},
                    "created_at": "2026-12-02T12:00:00.12Z",
                    "updated_at": "2026-12-02T12:00:00.12Z",
                }
            ],
            "engrams": None,
            "edges": None,
        }
    )
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", new["id"])
    assert not program.file("global").exists()
    assert not program.file("archive").exists()


def test_fields_stand_in_the_order_of_the_table(program: Program) -> None:
    """F4: a new percept, and a field added to an old one, keep the order of the table."""
    order = (
        "id content producer consumer w roles engram_id created_at updated_at core evidence idle_seconds "
        "last_used_at"
    )
    program.write("session", fact(1, "Tests run with pytest here"), fact(2, "An older fact", later="unknown"))
    program.write("global", fact(3, "Never used so far", 0.9))
    program.ok("record", "For one reader only", "--for", "escalation", "--theme", "readers", "--at", AT)
    program.ok("learn", "Core facts never fade away", "--at", AT)
    program.ok("record", "Tests run with pytest here", "--at", AT)
    program.ok("consolidate", "--elapsed", "1h", "--at", AT)
    program.ok("query", "pytest", "--at", AT)

    for store in ("session", "global"):
        for percept in program.facts(store).values():
            known = [key for key in percept if key in order.split()]
            assert known == [key for key in order.split() if key in percept]
    kept = {
        percept["content"]: percept
        for store in ("session", "global")
        for percept in program.facts(store).values()
    }
    assert kept["For one reader only"]["consumer"] == "escalation"
    assert kept["For one reader only"]["roles"] == {"theme": "readers"}
    assert kept["Core facts never fade away"]["core"] is True
    assert kept["Tests run with pytest here"]["evidence"] == 1
    assert kept["Never used so far"]["idle_seconds"] == 3600


def test_a_missing_field_stays_missing(program: Program) -> None:
    """F4: what an old percept never had is not added, roles and created_at included."""
    bare = {"id": "bare-0001", "content": "Bare", "producer": "primary", "w": 0.7, "updated_at": OLD}
    program.write("session", bare)

    program.ok("consolidate", "--elapsed", "1h", "--at", AT)

    assert list(program.facts("session")["bare-0001"]) == ["id", "content", "producer", "w", "updated_at"]


def test_the_archive_has_the_form_of_f5(program: Program) -> None:
    """F5: an archived percept keeps all it had, plus when, why and from where; its edges go with it."""
    stale = fact(1, "Unused for long", 0.5, idle_seconds=14 * 86400 - 1, later=[1])
    program.write(
        "global", stale, fact(2, "Core neighbour", 1, "user", core=True), edges=[edge(1, "extends", 2)]
    )
    program.write(
        "session", fact(3, "Faded", 0.2001), fact(4, "Strong neighbour", 0.7), edges=[edge(3, "derives", 4)]
    )

    program.ok("consolidate", "--elapsed", "2h", "--at", AT)

    archive = program.facts("archive")
    assert archive[name(1)] == {
        **stale,
        "w": archive[name(1)]["w"],
        "idle_seconds": 14 * 86400 - 1 + 7200,
        "archived": {"at": AT, "reason": "stale", "from": "global"},
    }
    assert archive[name(3)]["archived"] == {"at": AT, "reason": "pruned", "from": "session"}
    assert sorted(map(str, program.edges("archive"))) == sorted(
        map(str, [edge(1, "extends", 2), edge(3, "derives", 4)])
    )
    assert program.edges("global") == program.edges("session") == []
    assert list(program.read("archive")) == ["percepts", "engrams", "edges"]


def test_evicted_facts_go_to_the_archive(program: Program) -> None:
    """F5, A2, A3: what the size cap drops is kept in the archive, lowest rank first, core never."""
    program.config("[memory]\npercept_store_max = 2\n")
    program.write(
        "global",
        fact(1, "Low core", 0.1, core=True),
        fact(2, "Middle", 0.5),
        fact(3, "High", 0.9),
        fact(4, "Low", 0.3),
    )

    report = program.json("consolidate", "--elapsed", "0s", "--at", AT)

    assert list(program.facts("global")) == [name(1), name(3)]
    assert {each["archived"]["reason"] for each in program.facts("archive").values()} == {"evicted"}
    assert report["counts"]["evicted"] == 2


def test_deleting_the_state_directory_loses_no_fact(program: Program) -> None:
    """F6: .milkmem holds no memory, and everything works without it."""
    program.ok("record", "A fact to keep")
    program.ok("consolidate", "--elapsed", "1h")
    before = program.memory_files()
    shutil.rmtree(program.data / ".milkmem")

    assert "A fact to keep" in program.ok("query", "fact", "--no-touch").out
    assert program.memory_files() == before
    program.ok("consolidate", "--elapsed", "0s")
    assert program.contents("session") == ["A fact to keep"]


# F7: refusal

SECRET = "SECRETFACT"
GOOD = fact(1, f"{SECRET} of a sound percept")


def spoiled(**fields: Any) -> bytes:
    """Return a file whose second percept has these fields."""
    return in_milks_form(
        {"percepts": [GOOD, {**fact(2, f"{SECRET} spoiled"), **fields}], "engrams": None, "edges": None}
    )


def without(field: str) -> bytes:
    """Return a file whose second percept lacks a field."""
    percept = fact(2, f"{SECRET} spoiled")
    del percept[field]
    return in_milks_form({"percepts": [GOOD, percept], "engrams": None, "edges": None})


def with_w(text: str) -> bytes:
    """Return a file whose second percept has w spelled so."""
    return spoiled(w=123.5).replace(b"123.5", text.encode())


def renamed(field: str, other: str) -> bytes:
    """Return a file whose second percept has a known field under another spelling."""
    raw = spoiled()
    at = raw.rindex(f'"{field}"'.encode())
    return raw[:at] + f'"{other}"'.encode() + raw[at + len(field) + 2 :]


SOUND = in_milks_form({"percepts": [GOOD], "engrams": None, "edges": None})

BAD_FILES: dict[str, tuple[bytes, str]] = {
    # what stands in the file, and a part of the place that the message must name
    "0 bytes": (b"", ""),
    "blanks": (b" \n", ""),
    "truncated": (SOUND[:-40], "line "),
    "truncated in a text": (SOUND[: SOUND.index(b"of a sound")], "line "),
    "trailing text": (SOUND + b"\nx", "line "),
    "two documents": (SOUND + SOUND, "line "),
    "a list": (b"[]", "line 1"),
    "null": (b"null", "line 1"),
    "a text": (b'"text"', "line 1"),
    "a number": (b"1", "line 1"),
    "NUL bytes": (b"\0" * 64, "byte 0"),
    "NUL bytes at the end": (SOUND + b"\0" * 16, ""),
    "UTF-16": (SOUND.decode().encode("utf-16"), "byte 0"),
    "UTF-16 without a mark": (SOUND.decode().encode("utf-16-le"), "byte"),
    "Latin-1": (SOUND.replace(b"sound", b"s\xf6und"), "byte "),
    "an encoded surrogate": (SOUND.replace(b"sound", b"s\xed\xa0\x80nd"), "byte "),
    "percepts an object": (b'{"percepts": {}}', "percepts"),
    "percepts a text": (b'{"percepts": "x"}', "percepts"),
    "edges an object": (b'{"edges": {}}', "edges"),
    "engrams a number": (b'{"engrams": 1}', "engrams"),
    "Percepts": (b'{"Percepts": []}', "percepts"),
    "a percept a text": (b'{"percepts": ["x"]}', "percepts[0]"),
    "a percept null": (b'{"percepts": [null]}', "percepts[0]"),
    "no id": (without("id"), "percepts[1].id"),
    "no content": (without("content"), "percepts[1].content"),
    "no producer": (without("producer"), "percepts[1].producer"),
    "no w": (without("w"), "percepts[1].w"),
    "no updated_at": (without("updated_at"), "percepts[1].updated_at"),
    "content null": (spoiled(content=None), "percepts[1].content"),
    "w null": (spoiled(w=None), "percepts[1].w"),
    "id empty": (spoiled(id=""), "percepts[1].id"),
    "id a number": (spoiled(id=5), "percepts[1].id"),
    "w a text": (spoiled(w="0.7"), "percepts[1].w"),
    "w true": (spoiled(w=True), "percepts[1].w"),
    "w NaN": (with_w("NaN"), "line 1"),
    "w Infinity": (with_w("-Infinity"), "line 1"),
    "w 1e400": (with_w("1e400"), "line 1"),
    "w +1": (with_w("+1"), "line 1"),
    "w 01": (with_w("01"), "line 1"),
    "an unknown field beyond a float": (spoiled(later=0.125).replace(b"0.125", b"-1e999"), "line "),
    "roles a list": (spoiled(roles=[]), "percepts[1].roles"),
    "a role a number": (spoiled(roles={"theme": 1}), "percepts[1].roles"),
    "core 1": (spoiled(core=1), "percepts[1].core"),
    "evidence a text": (spoiled(evidence="2"), "percepts[1].evidence"),
    "evidence below 0": (spoiled(evidence=-1), "percepts[1].evidence"),
    "evidence a fraction": (spoiled(evidence=1.5), "percepts[1].evidence"),
    "idle_seconds below 0": (spoiled(idle_seconds=-1), "percepts[1].idle_seconds"),
    "consumer a list": (spoiled(consumer=[]), "percepts[1].consumer"),
    "engram_id a number": (spoiled(engram_id=1), "percepts[1].engram_id"),
    "a time without a zone": (spoiled(updated_at="2026-12-01T10:00:00"), "percepts[1].updated_at"),
    "a time with a blank": (spoiled(updated_at="2026-12-01 10:00:00Z"), "percepts[1].updated_at"),
    "a time in lower case": (spoiled(updated_at="2026-12-01t10:00:00z"), "percepts[1].updated_at"),
    "an offset of 24 h": (spoiled(updated_at="2026-12-01T10:00:00+24:00"), "percepts[1].updated_at"),
    "a date": (spoiled(created_at="2026-12-01"), "percepts[1].created_at"),
    "no such day": (spoiled(created_at="2026-02-30T10:00:00Z"), "percepts[1].created_at"),
    "last_used_at a number": (spoiled(last_used_at=1), "percepts[1].last_used_at"),
    "Content": (renamed("content", "Content"), "percepts[1].content"),
    "Updated_At": (renamed("updated_at", "Updated_At"), "percepts[1].updated_at"),
    "an id twice": (spoiled(id=GOOD["id"]), "percepts[1].id"),
    "a key twice": (SOUND.replace(b'"producer"', b'"w": 0.1,\n      "producer"'), "line "),
    "a section twice": (SOUND.replace(b'"engrams"', b'"percepts"'), "line "),
    "a key twice in what nobody knows": (SOUND.replace(b'"roles": {}', b'"x": {"a": 1, "a": 2}'), "line "),
    "nesting of 65": (SOUND.replace(b'"roles": {}', b'"x": ' + b"[" * 62 + b"]" * 62), "line "),
    "nesting of 100,000": (b'{"percepts": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "line 1"),
    "unclosed nesting of 100,000": (b'{"percepts": ' + b"[" * 100_000, ""),
    "an edge a text": (b'{"edges": ["x"]}', "edges[0]"),
    "an edge's end a number": (
        b'{"edges": [{"from": 1, "to": "x", "relation": "extends"}]}',
        "edges[0].from",
    ),
}

READERS: dict[str, tuple[str, ...]] = {
    "consolidate": ("consolidate", "--elapsed", "2h"),
    "consolidate --dry-run": ("consolidate", "--elapsed", "2h", "--dry-run"),
    "query": ("query", "other"),
    "query --no-touch": ("query", "other", "--no-touch"),
    "inject": ("inject", "other"),
    "inspect": ("inspect",),
    "inspect TARGET": ("inspect", name(7)),
    "restore": ("restore", name(9)),
    "record": ("record", "A fact of its own"),
    "learn": ("learn", "A core fact of its own"),
    "link": ("link", name(7), "extends", name(8)),
    "unlink": ("unlink", name(7), name(8)),
}


def beside_a_bad_file(program: Program, bad: str) -> None:
    """Fill the stores other than the one to be spoiled."""
    stores = {
        "global": [fact(7, "other global fact", 0.9), fact(6, "other global neighbour", 0.9)],
        "session": [fact(7, "other session fact"), fact(8, "other neighbour")],
        "archive": [archived(fact(9, "other archived fact"))],
    }
    if bad == "session":
        stores["global"] = [fact(7, "other fact"), fact(8, "other neighbour")]
    for store, facts in stores.items():
        if store != bad:
            program.write(store, *facts, edges=[edge(7, "extends", 8)] if store != "archive" else None)


def refused(program: Program, argv: tuple[str, ...], store: str, where: str) -> None:
    """Assert that a command refuses a file as F7 says, and that no byte of memory changed."""
    before = program.memory_files()
    begun = time.monotonic()
    result = program.run(*argv, "--at", AT) if argv[0] not in NO_AT else program.run(*argv)
    one_line_error(result, BAD_DATA, str(program.file(store)), where)
    assert time.monotonic() - begun < 1
    assert SECRET not in result.err
    assert program.memory_files() == before
    assert list(program.data.glob(".milkmem-*")) == []


NO_AT = ("inspect", "restore", "link", "unlink", "forget")


@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_bad_file_is_refused_by_every_command(program: Program, kind: str) -> None:
    """F7, case 18: exit 65, one line with file and place, every byte as it was, no fact in the message."""
    raw, where = BAD_FILES[kind]
    store = "global" if len(kind) % 2 else "session"
    beside_a_bad_file(program, store)
    program.file(store).write_bytes(raw)
    for argv in READERS.values():
        refused(program, argv, store, where)


@pytest.mark.parametrize("store", ["global", "session"])
@pytest.mark.parametrize("command", READERS)
def test_every_command_refuses_either_store(program: Program, command: str, store: str) -> None:
    """F7: a command that reads both stores refuses either."""
    beside_a_bad_file(program, store)
    program.file(store).write_bytes(BAD_FILES["w a text"][0])
    refused(program, READERS[command], store, "percepts[1].w")


ARCHIVE_READERS = {
    "restore": ("restore", name(7)),
    "record": ("record", "A fact of its own"),
    "learn": ("learn", "A core fact of its own"),
    "inspect --archive": ("inspect", "--archive"),
}


@pytest.mark.parametrize(
    "spoil",
    [
        {},
        {"archived": None},
        {"archived": []},
        {"archived": {"at": OLD, "reason": "stale"}},
        {"archived": {"at": "x"}},
    ],
)
@pytest.mark.parametrize("command", ARCHIVE_READERS)
def test_a_bad_archive_is_refused_by_what_reads_it(
    program: Program, command: str, spoil: dict[str, Any]
) -> None:
    """F7, F5: an archive without what F5 adds is refused where it is read."""
    program.write("session", fact(7, "other fact"))
    program.write("archive", {**fact(2, f"{SECRET} archived"), **spoil})
    refused(program, ARCHIVE_READERS[command], "archive", "percepts[0]")


@pytest.mark.parametrize(
    "argv", [("query", "other"), ("query", "other", "--no-touch"), ("inject",), ("inspect",)]
)
def test_recall_does_not_read_the_archive(program: Program, argv: tuple[str, ...]) -> None:
    """F7, Q3: a command refuses only files that it reads; recall answers beside a bad archive and leaves
    it.
    """
    program.write("session", fact(7, "other fact"))
    program.data.joinpath("archive.json").write_bytes(b"[]")

    result = program.run(*argv)

    assert (result.code, "other fact" in result.out) == (0, True), result
    assert program.file("archive").read_bytes() == b"[]"


def test_another_sessions_bad_file_is_not_read(program: Program) -> None:
    """F7: a command refuses only files that it reads; another session is none of them."""
    program.write("session", fact(7, "other fact"))
    program.data.joinpath("elsewhere.json").write_bytes(b"[]")
    for argv in (*READERS.values(), ("forget", name(8), "--yes")):
        if argv[0] in ("consolidate", "query", "inject", "record", "learn"):
            program.ok(*argv, "--at", AT)
    one_line_error(program.run("inspect", "--sessions"), BAD_DATA, str(program.file("elsewhere")))
    assert program.file("elsewhere").read_bytes() == b"[]"


@pytest.mark.parametrize("store", ["global", "archive", "elsewhere"])
@pytest.mark.parametrize("target", [name(7), "other fact"])
def test_forget_does_what_it_can_and_names_the_rest(program: Program, store: str, target: str) -> None:
    """G1: a file that cannot be read is named and left, the others are done, exit 65."""
    program.write("session", fact(7, "other fact"), fact(8, "a neighbour"), edges=[edge(7, "extends", 8)])
    program.file(store).write_bytes(BAD_FILES["w a text"][0])

    result = program.run("forget", target, "--yes")

    assert result.code == BAD_DATA, result
    assert str(program.file(store)) in result.err
    assert "percepts[" in result.err
    assert SECRET not in result.err
    assert program.file(store).read_bytes() == BAD_FILES["w a text"][0]
    assert list(program.facts("session")) == [name(8)]
    assert program.edges("session") == []


@pytest.mark.parametrize("store", ["global", "session", "archive"])
def test_forget_names_an_unreadable_file_that_may_hold_the_target(program: Program, store: str) -> None:
    """G1, F7: no percept found beside a file that cannot be read is exit 65 naming it, not "no such
    percept".
    """
    program.write("global" if store == "session" else "session", fact(7, "other fact"))
    program.file(store).write_bytes(BAD_FILES["w a text"][0])
    before = program.memory_files()

    result = program.run("forget", "--yes", f"#{name(1)}")

    assert (result.code, str(program.file(store)) in result.err) == (BAD_DATA, True), result
    assert program.memory_files() == before


def irregular(kind: str, path: Path) -> None:
    """Put something that is no regular file in a file's place."""
    if kind == "directory":
        path.mkdir()
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))


@pytest.mark.parametrize("kind", ["directory", "FIFO", "device", "socket"])
@pytest.mark.parametrize("store", ["global", "session"])
def test_what_is_no_file_is_refused_at_once(
    program: Program, kind: str, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F7, Z2, case 25: a directory, FIFO, device or socket in a file's place is exit 65 within a second,
    untouched.
    """
    beside_a_bad_file(program, store)
    monkeypatch.chdir(program.data)
    irregular(kind, program.file(store))
    was = program.file(store).lstat()
    for argv in READERS.values():
        begun = time.monotonic()
        result = program.run(*argv)
        one_line_error(result, BAD_DATA, str(program.file(store)), kind)
        assert time.monotonic() - begun < 1
    assert program.file(store).lstat() == was


def test_what_milk_refuses_is_refused(program: Program) -> None:
    """F7: nothing that milk cannot load is read, save a BOM, and nothing that we write is refused by milk."""
    cases = json.loads((MILK / "load_cases.json").read_bytes())
    program.data.mkdir()
    accepted = set()
    for case in cases:
        raw = base64.b64decode(case["input_b64"])
        program.file("session").write_bytes(raw)
        result = program.run("inspect")
        assert result.code in (0, BAD_DATA), (case["name"], result)
        assert program.file("session").read_bytes() == raw
        if result.code == 0:
            accepted.add(case["name"])
            assert case["ok"] or case["name"] == "bom", case["name"]
        else:
            one_line_error(result, BAD_DATA, str(program.file("session")))
    assert {
        "bom",
        "compact",
        "percepts_null",
        "unknown_percept_field",
        "w_over_one",
        "time_offset",
    } <= accepted
    assert {"string_lone_high_surrogate", "roles_null", "edge_extra_field", "producer_old_local"} <= accepted
    assert (
        not {
            "null_document",
            "keys_other_case",
            "duplicate_key_last_wins",
            "w_null",
            "w_missing",
            "null_element",
        }
        & accepted
    )


# F7: w out of bounds, an id in both stores


OUT_OF_BOUNDS = [
    fact(1, "Too strong a fact", 1.75),
    fact(2, "Too weak a fact", -0.5),
    fact(3, "A fact in bounds", 0.75),
]


@pytest.mark.parametrize(
    "argv",
    [
        ("consolidate", "--elapsed", "2h"),
        ("query", "strong"),
        ("inject", "strong"),
        ("record", "Too strong a fact"),
        ("learn", "Too strong a fact"),
    ],
    ids=lambda argv: argv[0],
)
def test_a_changed_percept_gets_its_w_clamped_and_that_is_said_once(
    program: Program, argv: tuple[str, ...]
) -> None:
    """F7: a command that changes a percept with w outside [0,1] writes the clamped value and says so once."""
    program.config("[memory]\nprune_threshold = 0.01\n")
    program.write("session", *OUT_OF_BOUNDS)

    result = program.ok(*argv, "--at", AT)

    assert 0 <= {**program.facts("session"), **program.facts("global")}[name(1)]["w"] <= 1
    said = [line for line in result.err.splitlines() if re.search(r"clamp|outside|\[0, ?1\]", line)]
    assert len(said) == 1, result


def test_w_out_of_bounds_is_clamped_in_use(program: Program) -> None:
    """F7: 1.75 counts as 1 and -0.5 as 0, and reading writes nothing."""
    program.write("session", *OUT_OF_BOUNDS)
    before = program.memory_files()

    shown = {row[0]: float(row[2]) for row in program.ok("inspect").rows}
    found = program.json("query", "--min-confidence", "0", "--no-touch")

    assert shown == {name(1): 1.0, name(2): 0.0, name(3): 0.75}
    assert [percept["id"] for percept in found["percepts"]] == [name(1), name(3), name(2)]
    assert all(0 <= percept["rank_score"] <= 1.1 * 1.2 for percept in found["percepts"])
    assert program.memory_files() == before


def test_an_id_in_both_stores_is_one_percept(program: Program) -> None:
    """F7: the global copy stands; readers show it once and write nothing, the next write drops the
    session's.
    """
    program.write("global", fact(1, "Promoted by half", 0.85, evidence=2), fact(2, "Elsewhere", 0.9))
    program.write(
        "session",
        fact(1, "Promoted by half", 0.86, evidence=2),
        fact(3, "Stays"),
        edges=[edge(1, "extends", 2)],
    )
    before = program.memory_files()

    for argv in (("query", "--no-touch"), ("inspect",)):
        rows = [row for row in program.ok(*argv).rows if row[0] == name(1)]
        assert [row[1] for row in rows] == ["global"]
    assert program.memory_files() == before
    program.ok("record", "Another thing altogether", "--at", AT)
    assert next(iter(program.facts("session"))) == name(3)
    assert name(1) not in program.facts("session")
    assert program.facts("global")[name(1)] == fact(1, "Promoted by half", 0.85, evidence=2)
    assert program.edges("global") == [edge(1, "extends", 2)]
    assert program.edges("session") == []


# C2


def test_nothing_to_do_writes_no_memory_file(program: Program) -> None:
    """C2, case 17: a pass without running time or edges leaves hash, mtime and inode of every file."""
    program.write("global", fact(1, "Global", 0.9), fact(5, "Core", 1, "user", core=True))
    program.write("session", fact(2, "Session"), fact(3, "Strong but new", 0.9))
    program.write("archive", archived(fact(4, "Archived")))
    before = program.memory_files()

    for _ in range(2):
        program.ok("consolidate", "--elapsed", "0s")
    program.ok("consolidate", "--elapsed", "30d", "--dry-run")
    program.ok("query", "nothing-that-is-there")
    program.ok("inject", "nothing-that-is-there")
    program.ok("query", "--no-touch")
    program.ok("run", "start")

    assert program.memory_files() == before


def test_a_pass_over_core_alone_writes_nothing(program: Program) -> None:
    """C2, D1, E1: core is exempt from everything, so a pass over core alone changes nothing, whatever its
    time.
    """
    program.write(
        "global",
        fact(1, "Core one", 0.5, "user", core=True),
        fact(2, "Core two", 0.1, core=True),
        edges=[edge(1, "contradicts", 2), edge(1, "extends", 2)],
    )
    before = program.memory_files()
    program.ok("consolidate", "--elapsed", "100d")
    assert program.memory_files() == before


# F1


FINDING = [
    ("consolidate",),
    ("consolidate", "--elapsed", "2h", "--json"),
    ("query",),
    ("query", "word"),
    ("inject",),
    ("inject", "word", "--json"),
    ("inspect",),
    ("inspect", "--archive", "--sessions", "--json"),
]


@pytest.mark.parametrize("argv", FINDING, ids=" ".join)
def test_where_nothing_is_nothing_is_found_or_created(program: Program, argv: tuple[str, ...]) -> None:
    """F1: without a data directory these commands end with 0, say nothing but JSON, and create nothing."""
    before = tree(program.root)
    result = program.ok(*argv)
    assert tree(program.root) == before
    assert result.err == ""
    assert (result.out == "") == ("--json" not in argv)


@pytest.mark.parametrize(
    "argv",
    [("forget", "x", "--yes"), ("restore", "abcd1234"), ("link", "abcd", "extends", "bcde"), ("run", "end")],
)
def test_where_nothing_is_nothing_can_be_named(program: Program, argv: tuple[str, ...]) -> None:
    """F1, X2: without a data directory no percept or run has a name: exit 1, nothing created."""
    before = tree(program.root)
    one_line_error(program.run(*argv), 1)
    assert tree(program.root) == before


def test_the_data_directory_is_private_whatever_the_umask(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F1, Z2: directories that the program creates are 0700 and files 0600 under any umask."""
    for mask in (0, 0o022, 0o777):
        at = program.root / f"deep-{mask}" / "deeper" / "memory"
        old = os.umask(mask)
        try:
            program.ok("learn", "A fact", "--data-dir", str(at))
            program.ok("consolidate", "--data-dir", str(at), "--run", "named")
        finally:
            os.umask(old)
        for path in (at.parent.parent, *at.parent.parent.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            assert mode == (0o700 if path.is_dir() else 0o600), path


def test_an_existing_data_directory_keeps_its_mode(program: Program) -> None:
    """F1: a directory that exists is left as it is."""
    program.data.mkdir()
    program.data.chmod(0o750)
    program.ok("record", "A fact")
    assert stat.S_IMODE(program.data.stat().st_mode) == 0o750


def test_the_data_directory_is_resolved_in_the_order_of_f1(program: Program) -> None:
    """F1: --data-dir, then MILKMEM_DATA_DIR, then data_dir, then the platform's user data directory."""
    option, variable, configured = (program.root / each for each in ("option", "variable", "configured"))
    platform = program.home / ".local" / "share" / "milkmem"
    named: dict[str, str | None] = {"MILKMEM_DATA_DIR": str(variable)}
    unnamed: dict[str, str | None] = {"MILKMEM_DATA_DIR": None}
    program.ok("record", "In the platform's place", env=unnamed)
    assert (platform / "session.json").exists()
    moved = {**unnamed, "XDG_DATA_HOME": str(program.root / "xdg")}
    program.ok("record", "In the platform's other place", env=moved)
    assert (program.root / "xdg" / "milkmem" / "session.json").exists()
    program.config(f'data_dir = "{configured}"\n')
    program.ok("record", "In the configured place", env=unnamed)
    assert (configured / "session.json").exists()
    program.ok("record", "In the variable's place", env=named)
    assert (variable / "session.json").exists()
    program.ok("record", "In the option's place", "--data-dir", str(option), env=named)
    assert (option / "session.json").exists()
    program.config('data_dir = "~/mine"\n')
    program.ok("record", "In the home", env=unnamed)
    assert (program.home / "mine" / "session.json").exists()
    before = len(json.loads((variable / "session.json").read_bytes())["percepts"])
    assert before == 1


def test_a_relative_data_directory_is_a_configuration_error(program: Program) -> None:
    """F1: a relative MILKMEM_DATA_DIR or data_dir is exit 78 and creates nothing; --data-dir may be
    relative.
    """
    before = tree(program.root)
    for argv in (("record", "A fact"), ("consolidate",), ("query",), ("inspect",)):
        one_line_error(program.run(*argv, env={"MILKMEM_DATA_DIR": "here"}), BAD_CONFIG, "MILKMEM_DATA_DIR")
    assert tree(program.root) == before
    path = program.config('data_dir = "here"\n')
    one_line_error(
        program.run("record", "A fact", env={"MILKMEM_DATA_DIR": None}), BAD_CONFIG, str(path), "data_dir"
    )
    path.unlink()
    program.ok("record", "A fact", "--data-dir", "here")
    assert (program.root / "here" / "session.json").exists()


def test_a_file_in_the_place_of_the_data_directory(program: Program) -> None:
    """F1, F7: a file where the data directory should be is an error in one line, not a crash; it stays."""
    program.data.write_text("not a directory")
    for argv in (*FINDING, ("record", "A fact"), ("forget", "x", "--yes"), ("run", "start"), ("run", "show")):
        result = program.run(*argv)
        assert result.code in (65, 73), (argv, result)
        assert str(program.data) in result.err
        assert len(result.err.splitlines()) <= 2
    assert program.data.read_text() == "not a directory"


# F2


BAD_SESSIONS = [
    "",
    "../x",
    "/etc/x",
    "a/b",
    "a\\b",
    "global",
    "GLOBAL",
    "Global",
    "archive",
    "ARCHIVE",
    "con",
    "CON",
    "con.txt",
    "nul",
    "com1",
    "LPT9",
    "x" * 129,
    "x" * 300,
    "a\0b",
    "a\nb",
    "a\n",
    ".",
    "..",
    ".hidden",
    "-x",
    "_x",
    "a b",
    "a:b",
    "é",
    "a*",
    "~",
    "@CWD",
    "@other",
]


@pytest.mark.parametrize("session", BAD_SESSIONS, ids=repr)
def test_a_bad_session_name_is_a_usage_error(program: Program, session: str) -> None:
    """F2, case 22: a name that is none is exit 64 before any path is built; nothing is created."""
    before = tree(program.root)
    for argv in (
        ("record", "A fact"),
        ("consolidate",),
        ("query", "x"),
        ("inject",),
        ("inspect",),
        ("forget", "x", "--yes"),
        ("run", "start"),
    ):
        one_line_error(program.run(*argv, f"--session={session}"), USAGE)
        if session and "\0" not in session:
            one_line_error(program.run(*argv, env={"MILKMEM_SESSION": session}), USAGE)
    assert tree(program.root) == before


def test_a_bad_session_in_the_configuration_creates_nothing(program: Program) -> None:
    """F2: a name that is none is refused wherever it comes from."""
    program.config('session = "../x"\n')
    before = tree(program.root)
    assert program.run("record", "A fact").code in (USAGE, BAD_CONFIG)
    assert tree(program.root) == before


@pytest.mark.parametrize(
    "run", ["../x", "a/b", "global", "archive", "nul", "x" * 129, "a\0b", "", "a b"], ids=repr
)
def test_a_bad_run_id_is_a_usage_error(program: Program, run: str) -> None:
    """R2: run ids follow the grammar of sessions; anything else is exit 64 and creates nothing."""
    before = tree(program.root)
    for argv in (("record", "A fact"), ("consolidate",), ("run", "start"), ("run", "end"), ("run", "show")):
        one_line_error(program.run(*argv, f"--run={run}"), USAGE)
    assert tree(program.root) == before


@pytest.mark.parametrize(
    "session", ["session", "a", "0", "A.b_c-d", "x" * 128, "globally", "con2", "5b0f8a52-6f0c", "archive2"]
)
def test_a_good_session_name_is_a_file_of_this_name(program: Program, session: str) -> None:
    """F2: a session is a file of its name."""
    program.ok("record", "A fact", "--session", session)
    assert [path.name for path in program.data.glob("*.json")] == [f"{session}.json"]


def test_the_session_is_resolved_in_the_order_of_f2(program: Program) -> None:
    """F2: --session, then MILKMEM_SESSION, then session in the configuration, then `session`."""
    program.ok("record", "By default")
    program.config('session = "configured"\n')
    program.ok("record", "By configuration")
    program.ok("record", "By variable", env={"MILKMEM_SESSION": "variable"})
    program.ok("record", "By option", "--session", "option", env={"MILKMEM_SESSION": "variable"})
    program.ok("record", "Empty is unset", env={"MILKMEM_SESSION": ""})
    assert program.contents("session") == ["By default"]
    assert program.contents("configured") == ["By configuration", "Empty is unset"]
    assert program.contents("variable") == ["By variable"]
    assert program.contents("option") == ["By option"]


def project(directory: Path) -> str:
    """Return the digits that `@cwd` gives a project."""
    return hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:8]


@pytest.mark.parametrize("marker", ["directory", "file", "none"])
def test_cwd_stands_for_the_project(program: Program, marker: str) -> None:
    """F2: @cwd is the nearest folder upwards with a .git, else the working directory: its name and digits
    of its path.
    """
    top = program.root / "my project (é)"
    inside = top / "src" / "deep"
    inside.mkdir(parents=True)
    if marker == "directory":
        (top / ".git").mkdir()
    elif marker == "file":
        (top / ".git").write_text("gitdir: elsewhere")
    root = inside if marker == "none" else top
    link = program.root / "link"
    link.symlink_to(inside)

    for cwd in (inside, link):
        program.ok("record", "A fact of this project", "--session", "@cwd", cwd=cwd)
    program.ok("record", "A fact of this project", env={"MILKMEM_SESSION": "@cwd"}, cwd=inside)

    (path,) = program.data.glob("*.json")
    assert path.stem.endswith(f"-{project(root)}")
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}", path.stem)
    assert path.stem.startswith("deep-" if marker == "none" else "my-project")


@pytest.mark.parametrize("directory", ["global", "con", "…", ".hidden", "-x", "x" * 200, "a\nb"], ids=repr)
def test_cwd_gives_a_good_name_for_any_folder(program: Program, directory: str) -> None:
    """F2: whatever the folder is called, @cwd gives a session name that ends in its digits."""
    folder = program.root / directory
    folder.mkdir()
    program.ok("record", "A fact", "--session", "@cwd", cwd=folder)
    (path,) = program.data.glob("*.json")
    assert path.stem.endswith(f"-{project(folder)}")
    assert len(path.stem) <= 128
    program.ok("record", "A fact", "--session", path.stem)


def test_two_projects_of_one_name_are_two_sessions(program: Program) -> None:
    """F2: the digits tell projects of one name apart, and a fact of one is not recalled in the other."""
    for parent in ("one", "two"):
        (program.root / parent / "api").mkdir(parents=True)
    program.ok("record", "A fact of the first", "--session", "@cwd", cwd=program.root / "one" / "api")
    assert program.ok("query", "--session", "@cwd", cwd=program.root / "two" / "api").out == ""
    assert program.ok("query", "--session", "@cwd", cwd=program.root / "one" / "api").out != ""


@pytest.mark.parametrize(
    "make",
    [
        lambda program: program.config("[memory]\nsession_half_life_days = -1\n"),
        lambda program: program.config('[memory]\nsession_half_life_days = "abc"\n'),
        lambda program: program.config("[memory]\nsession_half_life_days = 1e999\n"),
        lambda program: program.config("[memory]\nsession_half_life_days = nan\n"),
        lambda program: program.config("[memory]\nsession_halflife_days = 3\n"),
        lambda program: program.config("[memory\n"),
        lambda program: program.config("[memory]\nprune_threshold = 0.9\n"),
    ],
    ids=["-1", "abc", "1e999", "nan", "unknown", "no TOML", "prune above promote"],
)
def test_a_bad_configuration_stops_every_command(program: Program, make: Callable[[Program], Path]) -> None:
    """K1, case 11: exit 78 naming the file, nothing written, by every command that touches memory."""
    program.write("session", fact(1, "other fact"), fact(7, "another one"), fact(8, "a third"))
    path = make(program)
    before = tree(program.data)
    for argv in (*READERS.values(), ("forget", name(1), "--yes"), ("run", "start")):
        one_line_error(program.run(*argv), BAD_CONFIG, str(path))
    assert tree(program.data) == before


def test_a_half_life_of_zero_is_the_default(program: Program) -> None:
    """Section 3, case 11: zero means the default."""
    program.config("[memory]\nsession_half_life_days = 0\nglobal_half_life_days = 0\n")
    program.write("session", fact(1, "Session", 0.7))
    program.write("global", fact(2, "Global", 0.9))
    program.ok("consolidate", "--elapsed", "3d")
    assert program.facts("session")[name(1)]["w"] == pytest.approx(0.35, abs=1e-12)
    assert program.facts("global")[name(2)]["w"] == pytest.approx(
        FLOOR + 0.7 * 2 ** (-3 / GLOBAL_DAYS), abs=1e-12
    )


def test_retired_keys_are_ignored_in_silence(program: Program) -> None:
    """K1, case 40: a pass says nothing of retired keys; config show names them."""
    program.config("[memory]\ndecay_per_session = 0.1\nglobal_decay_per_session = 0.02\n")
    program.write("session", fact(1, "Session", 0.7))
    result = program.ok("consolidate", "--elapsed", "0s", "-v")
    assert (result.out, result.err) == ("", "")
    shown = program.ok("config", "show")
    for key in ("decay_per_session", "global_decay_per_session"):
        assert key in shown.out + shown.err


@pytest.mark.parametrize("half", [{}, {"from": name(1)}, {"to": None, "relation": "extends"}])
def test_unlink_beside_edges_without_ends(program: Program, half: dict[str, Any]) -> None:
    """F3: an edge may lack its fields, as for milk; unlinking another one passes it over."""
    program.write("global", fact(1, "one"), fact(2, "other"), edges=[half, edge(1, "extends", 2)])
    program.ok("unlink", name(1), name(2))
    assert program.edges("global") == [half]
    assert program.run("unlink", name(1), name(2)).code == 1
