"""The form of a memory file: what is taken, what is refused, and the place that a refusal names."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from milkmem import check as check_module
from milkmem import codec
from milkmem.check import check
from milkmem.percept import Malformed

MILK = Path(__file__).parent / "data" / "milk"
CASES = json.loads((MILK / "load_cases.json").read_text(encoding="utf-8"))
TIMES = json.loads((MILK / "json_times.json").read_text(encoding="utf-8"))
TIME = "2026-07-01T12:00:00Z"
KELVIN, LONG_S = "\u212a", "\u017f"

# What milk loads and we refuse, each with the words of F7 that say so and the place we name.
REFUSED_THOUGH_MILK_LOADS = {
    "null_document": ("not an object", "line 1 column 1"),
    "null_element": ("not an object", "percepts[0]"),
    "empty_element": ("missing", "percepts[0].id"),
    "content_missing": ("missing", "percepts[0].content"),
    "content_null": ("missing", "percepts[0].content"),
    "id_missing": ("missing", "percepts[0].id"),
    "w_null": ("missing", "percepts[0].w"),
    "w_missing": ("missing", "percepts[0].w"),
    "keys_other_case": ("letter case", "percepts"),
    "key_fold_kelvin_long_s": ("letter case", "edges"),
    "duplicate_key_case_variant": ("letter case", "percepts[0].content"),
    "duplicate_key_last_wins": ("twice", "line 1 column 182"),
    "duplicate_section": ("twice", "line 1 column 353"),
    "duplicate_roles_merge": ("twice", "line 1 column 193"),
    "duplicate_section_element_merge": ("twice", "line 1 column 217"),
    "deep_unknown": ("deeper than 64", "line 1 column 83"),
    "latin1_byte_in_content": ("not UTF-8", "byte 72"),
    "overlong_utf8": ("not UTF-8", "byte 69"),
    "surrogate_bytes": ("not UTF-8", "byte 69"),
    "truncated_utf8": ("not UTF-8", "byte 69"),
    "beyond_10ffff": ("not UTF-8", "byte 69"),
    "invalid_utf8_in_unknown_key": ("not UTF-8", "byte 184"),
}
# What milk refuses and we take: F7 says that a byte order mark is accepted.
TAKEN_THOUGH_MILK_REFUSES = {"bom"}


# What milk loads and writes otherwise, because it drops, adds, sorts or replaces what we keep (F4).
KEPT_THOUGH_MILK_WOULD_NOT = {
    "drops what it does not know": {
        "unknown_top_level", "unknown_percept_field", "unknown_role", "key_camelCase", "edge_extra_field",
    },
    "drops what is empty, false or null": {
        "consumer_empty", "consumer_null", "core_false", "core_null", "engram_id_empty", "role_empty_string",
        "role_null",
    },
    "adds what is missing": {
        "minimal_empty_object", "percepts_null", "percepts_empty_list", "missing_sections", "edge_empty",
        "edge_unknown_relation", "edge_self_and_duplicate", "roles_null", "roles_missing", "time_null",
        "time_missing", "engram_percept_ids_missing", "engram_percept_ids_null_in_list",
    },
    "sorts": {"sections_reordered", "fields_reordered", "consumer_unknown", "engram_id_set"},
    "replaces": {
        "string_lone_high_surrogate", "string_lone_low_surrogate", "string_surrogates_reversed",
        "string_escaped_replacement", "time_python_isoformat_utc",
    },
}  # fmt: skip


def percept(**fields: Any) -> Any:
    """Return a percept with the required fields, and those given; `...` leaves one out."""
    required = {"id": "1", "content": "x", "producer": "user", "w": 0.7, "updated_at": TIME}
    return {name: value for name, value in (required | fields).items() if value is not ...}


def whole(*percepts: Any, **sections: Any) -> Any:
    return {"percepts": list(percepts), "engrams": None, "edges": None} | sections


def fault(document: Any, *, archive: bool = False) -> tuple[str, str]:
    with pytest.raises(Malformed) as caught:
        check(document, archive=archive)
    assert str(caught.value) == f"{caught.value.where}: {caught.value.what}"
    return caught.value.where, caught.value.what


# What milk itself does with 132 files


@pytest.mark.parametrize("way", ["standard library", "orjson"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_milks_load_cases(case: dict[str, Any], way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """F7, F4: what milk loads comes out with nothing lost, or is refused by a rule; the rest is refused."""
    for limit in ("LARGE_FILE", "LARGE_DOCUMENT"):
        monkeypatch.setattr(codec, limit, 0 if way == "orjson" else 10**9)
    raw = base64.b64decode(case["input_b64"])
    name = case["name"]
    if name in REFUSED_THOUGH_MILK_LOADS or not (case["ok"] or name in TAKEN_THOUGH_MILK_REFUSES):
        with pytest.raises(Malformed) as caught:
            check(codec.decode(raw))
        if name in REFUSED_THOUGH_MILK_LOADS:
            what, where = REFUSED_THOUGH_MILK_LOADS[name]
            assert what in caught.value.what
            assert caught.value.where == where
        return
    document = codec.decode(raw)
    check(document)
    written = codec.encode(document)
    assert in_order(written) == in_order(raw.removeprefix(b"\xef\xbb\xbf"))
    kept = any(name in names for names in KEPT_THOUGH_MILK_WOULD_NOT.values())
    if case["ok"]:
        assert (written == base64.b64decode(case["output_b64"])) is not kept


def in_order(raw: bytes) -> str:
    """Return keys in their order and values as they are, all numbers as floats: `1` and `1.0` are one."""
    return json.dumps(json.loads(raw, parse_int=float))


@pytest.mark.parametrize(
    "case", [case for case in CASES if "output_b64" in case], ids=lambda case: case["name"]
)
def test_what_milk_wrote_for_them(case: dict[str, Any]) -> None:
    """F4: milk's own output comes out byte for byte."""
    raw = base64.b64decode(case["output_b64"])
    assert codec.encode(codec.decode(raw)) == raw


# Sections


@pytest.mark.parametrize("name", ["percepts", "engrams", "edges"])
@pytest.mark.parametrize("value", [{}, "x", 1, True, 0.5])
def test_a_section_is_a_list(name: str, value: object) -> None:
    """F7: a list that is none is refused."""
    assert fault({name: value}) == (name, "not a list")


@pytest.mark.parametrize("document", [{}, whole(), {"percepts": None}, {"x": 1}, whole(engrams=[], edges=[])])
def test_sections_may_be_null_or_missing(document: Any) -> None:
    """F3: each section is a list, null, or not there."""
    check(document)


@pytest.mark.parametrize(
    ("name", "known"),
    [("Percepts", "percepts"), ("EDGES", "edges"), (f"percept{LONG_S}", "percepts"), ("engramS", "engrams")],
)
def test_a_section_in_another_letter_case(name: str, known: str) -> None:
    """F7: milk reads `Percepts` as `percepts`, and the long s as an s, so both are refused."""
    assert fault({name: []}) == (known, "in another letter case")


def test_engrams_are_kept_as_they_are() -> None:
    """F3: an engram is an object that is not interpreted."""
    check(whole(engrams=[None, {}, {"id": 5, "Percept_IDs": {"x": []}}]))
    assert fault(whole(engrams=[{}, "e"])) == ("engrams[1]", "not an object")


# Percepts


@pytest.mark.parametrize("element", [None, "x", 1, [], True])
def test_a_percept_is_an_object(element: object) -> None:
    """F3: percepts are objects; null is none."""
    assert fault(whole(percept(), element)) == ("percepts[1]", "not an object")


@pytest.mark.parametrize("name", ["id", "content", "producer", "w", "updated_at"])
@pytest.mark.parametrize("value", [..., None], ids=["missing", "null"])
def test_required_fields(name: str, value: object) -> None:
    """F3: a required field missing or null is refused."""
    assert fault(whole(percept(id="0"), percept(**{name: value}))) == (f"percepts[1].{name}", "missing")


OPTIONAL = [
    "consumer",
    "roles",
    "engram_id",
    "created_at",
    "core",
    "evidence",
    "idle_seconds",
    "last_used_at",
]


@pytest.mark.parametrize("name", OPTIONAL)
def test_null_in_another_field_means_absent(name: str) -> None:
    """F3: null in a known field that is not required means absent."""
    check(whole(percept(**{name: None})))


ACCEPTED = {
    "id": ["1", "not-a-uuid", "\ud800", " "],
    "content": ["x", "", codec.Spelled("\ufffd")],
    "producer": ["user", "local", "robot", ""],
    "consumer": ["primary", "robot", ""],
    "w": [0, 1, 0.5, -0.5, 1.5, 1e21, -1e308, 10**308, 5e-324, codec.MinusZero()],
    "roles": [{}, {"theme": "t"}, {"theme": None}, {"manner": 5}, {"themes": []}],
    "engram_id": ["", "e"],
    "core": [True, False],
    "evidence": [0, 1, 2**63 - 1, codec.MinusZero()],
    "idle_seconds": [0, 0.5, 10**20, 1e300, codec.MinusZero()],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in ACCEPTED for value in ACCEPTED[name]])
def test_values_that_are_taken(name: str, value: object) -> None:
    """F3: what a known field may hold; a w outside [0,1] is clamped in use, not refused (F7)."""
    check(whole(percept(**{name: value})))


BEYOND = "beyond a float"
REFUSED: dict[str, list[tuple[object, str]]] = {
    "id": [("", "empty"), (7, "not a text"), ([], "not a text")],
    "content": [(5, "not a text"), (["x"], "not a text"), (True, "not a text")],
    "producer": [(1, "not a text"), ({}, "not a text")],
    "consumer": [(0, "not a text")],
    "w": [("0.7", "not a number"), (True, "not a number"), ([], "not a number"), (10**309, BEYOND),
          (-(10**400), BEYOND), (float("nan"), BEYOND), (float("-inf"), BEYOND),
          (codec.LongInteger("1" * 5000), "not a number")],
    "roles": [([], "not an object"), ("x", "not an object"), (1, "not an object")],
    "engram_id": [(1, "not a text")],
    "core": [(1, "not true or false"), (0, "not true or false"), ("true", "not true or false")],
    "evidence": [(-1, "below zero"), (2**63, "beyond 64 bits"), (1.0, "not a whole number"),
                 (True, "not a whole number"), ("1", "not a whole number")],
    "idle_seconds": [(-0.5, "below zero"), (-1, "below zero"), (10**309, BEYOND), (float("inf"), BEYOND),
                     (False, "not a number"), ("1", "not a number")],
}  # fmt: skip


@pytest.mark.parametrize("others", [0, 1300], ids=["alone", "among many"])
@pytest.mark.parametrize(
    ("name", "value", "what"),
    [(name, value, what) for name, cases in REFUSED.items() for value, what in cases],
    ids=lambda value: str(value)[:12],
)
def test_values_that_are_refused(name: str, value: object, what: str, others: int) -> None:
    """F7: a known field of the wrong type or size is refused, with its place, in a block of any size."""
    percepts = [percept(id=f"p{at}", evidence=1, idle_seconds=1.5, core=True) for at in range(2 * others)]
    percepts.insert(others, percept(**{name: value}))
    assert fault(whole(*percepts)) == (f"percepts[{others}].{name}", what)


def test_numbers_that_cancel_out_are_seen() -> None:
    """F7: a number beyond a float is refused beside its opposite, and many large ones are fine together."""
    assert fault(whole(percept(id="0", w=10**400), percept(w=-(10**400))))[0] == "percepts[0].w"
    assert fault(whole(percept(id="0", w=float("inf")), percept(w=float("-inf"))))[0] == "percepts[0].w"
    check(whole(*(percept(id=str(at), w=1.7e308) for at in range(10))))


@pytest.mark.parametrize("case", TIMES, ids=lambda case: case["input"])
@pytest.mark.parametrize("name", ["created_at", "updated_at", "last_used_at"])
def test_times(case: dict[str, str], name: str) -> None:
    """F7: a time that milk would refuse is refused, in each of the three fields."""
    document = whole(percept(**{name: case["input"]}))
    if case["result"] == "ok":
        check(document)
    else:
        assert fault(document) == ("percepts[0]." + name, "not a time that milk can read")


@pytest.mark.parametrize("value", [1_782_907_200, True, [], codec.Spelled(TIME)])
def test_a_time_is_a_plain_text(value: object) -> None:
    """F7: milk reads no number as a time, and no text with an escape in it."""
    where, what = fault(whole(percept(created_at=value)))
    assert (where, what) == ("percepts[0].created_at", "not a time that milk can read")


@pytest.mark.parametrize("name", ["ID", "Content", "EVIDENCE", f"role{LONG_S}", "last_Used_at"])
def test_a_field_in_another_letter_case(name: str) -> None:
    """F7: a known field in another letter case is refused, beside the plain one too."""
    known = name.lower().replace(LONG_S, "s")
    assert fault(whole(percept(id="0"), percept(**{name: "x"}))) == (
        f"percepts[1].{known}",
        "in another letter case",
    )


@pytest.mark.parametrize("name", ["createdAt", "tags", "w2", "İd", "Archived", "iıd", "ﬁeld"])
def test_unknown_fields_may_hold_anything(name: str) -> None:
    """F4: what is not known is kept, whatever it is."""
    check(whole(percept(**{name: {"Content": [1, None]}})))
    check({name: [], "percepts": [percept()]})


def test_keys_fold_as_in_milk() -> None:
    """F7: milk's decoder takes the Kelvin sign for a k and the long s for an s, and folds nothing else."""
    fold = check_module._folded
    assert fold(f"{KELVIN}ey{LONG_S}") == "keys"
    assert [character for character in map(chr, range(0x80, 0x11_0000)) if fold(character).isascii()] == [
        LONG_S,
        KELVIN,
    ]


def test_roles_hold_texts() -> None:
    """F3: the six roles are texts; unknown roles may be anything, known ones in another case nothing."""
    roles = {"action": "a", "agent": "b", "recipient": "c", "theme": "d", "when": "e", "where": "f"}
    check(whole(percept(roles=roles)))
    for name in roles:
        assert fault(whole(percept(roles={name: 1}))) == (f"percepts[0].roles.{name}", "not a text")
        assert fault(whole(percept(roles={name.title(): ""}))) == (
            f"percepts[0].roles.{name}",
            "in another letter case",
        )


def test_an_id_twice() -> None:
    """F7: an id twice in one file is refused; both places are named."""
    percepts = [percept(id=f"p{at}") for at in range(1_200)]
    check(whole(*percepts))
    percepts[1_100] = percept(id="p7")
    assert fault(whole(*percepts)) == ("percepts[1100].id", "the same id as percepts[7]")


def test_the_first_fault_is_named() -> None:
    """F7: of several faulty percepts the first in the file is named."""
    percepts = [percept(id=f"p{at}") for at in range(600)]
    percepts[520] = percept(updated_at="never")
    percepts[530] = percept(id=5)
    assert fault(whole(*percepts))[0] == "percepts[520].updated_at"


# Edges


@pytest.mark.parametrize(
    "edge", [{}, {"from": "a"}, {"from": None, "to": "", "relation": "mentions"}, {"from": "a", "weight": []}]
)
def test_edges_that_are_taken(edge: object) -> None:
    """F3: an edge's fields are texts; milk loads one that lacks some, and so do we."""
    check(whole(edges=[edge, edge]))


@pytest.mark.parametrize("name", ["from", "to", "relation"])
def test_edges_that_are_refused(name: str) -> None:
    """F7: an edge's field of the wrong type or in another letter case is refused."""
    assert fault(whole(edges=[{}, {name: 1}])) == (f"edges[1].{name}", "not a text")
    assert fault(whole(edges=[{}, {name.upper(): "x"}])) == (f"edges[1].{name}", "in another letter case")


@pytest.mark.parametrize("element", [None, "x", []])
def test_an_edge_is_an_object(element: object) -> None:
    """F3: edges are objects; null is none."""
    assert fault(whole(edges=[element])) == ("edges[0]", "not an object")


# The archive


def archived(**fields: Any) -> Any:
    record = {"at": TIME, "reason": "stale", "from": "global"} | fields
    return percept(archived={name: value for name, value in record.items() if value is not ...})


def test_the_archive_says_when_why_and_from_where() -> None:
    """F5: each percept of the archive has `archived` with `at`, `reason` and `from`."""
    check(whole(archived(more=1)), archive=True)
    assert fault(whole(percept()), archive=True) == ("percepts[0].archived", "missing")
    assert fault(whole(percept(archived=None)), archive=True) == ("percepts[0].archived", "missing")
    assert fault(whole(percept(archived=[])), archive=True) == ("percepts[0].archived", "not an object")
    assert fault(whole(percept(Archived={})), archive=True)[1] == "in another letter case"


@pytest.mark.parametrize("name", ["at", "reason", "from"])
@pytest.mark.parametrize("value", [..., None], ids=["missing", "null"])
def test_archived_holds_all_three(name: str, value: object) -> None:
    """F5: none of the three is missing, none of another type."""
    where = f"percepts[0].archived.{name}"
    assert fault(whole(archived(**{name: value})), archive=True) == (where, "missing")
    assert fault(whole(archived(**{name: 5})), archive=True)[0] == where


def test_the_time_of_archiving_is_one() -> None:
    """F5: `at` is a time."""
    assert fault(whole(archived(at="yesterday")), archive=True) == (
        "percepts[0].archived.at",
        "not a time that milk can read",
    )


def test_elsewhere_archived_is_not_known() -> None:
    """F5: only in the archive does `archived` mean anything."""
    check(whole(percept(archived=5)))


# Whole directories


@pytest.mark.parametrize("path", sorted(MILK.glob("*/*.json")), ids=lambda path: path.parent.name)
def test_what_milk_wrote_is_of_the_form(path: Path) -> None:
    """F3: every file that milk wrote is taken."""
    check(codec.decode(path.read_bytes()))
