"""Moves of percepts and edges between the stores, and the healing of moves cut short (F5, F7, E4, Z3, G3)."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from builders import (
    DAY,
    NOW,
    WORK,
    ago,
    all_edges,
    archived,
    document,
    edge,
    found,
    memory,
    one_pass,
    percept,
    where,
)
from milkmem.memory import Memory, contradicting_pairs, contradictions, edge_key, empty, live_edges, touches
from milkmem.percept import ARCHIVE, GLOBAL

# Files


def test_files_are_fetched_once() -> None:
    """Z1: a file that is not at hand is read when it is first asked for, and only then."""
    asked: list[str] = []

    def fetch(store: str) -> Any:
        asked.append(store)
        return document([percept("old")]) if store == "other" else None

    kept = Memory({GLOBAL: document(), WORK: None}, WORK, fetch)
    assert [kept.percepts(store) for store in (GLOBAL, WORK)] == [[], []]
    assert asked == []
    for _ in range(2):
        assert [each["id"] for each in kept.percepts("other")] == ["old"]
        assert kept.edges("gone") == []
        assert kept.percepts("gone") == []
    assert asked == ["other", "gone"]
    assert kept.changed == set()


def test_live_stores() -> None:
    """Section 1: live are the global store and the session at hand, not the archive nor another session."""
    kept = memory([percept("g")], [percept("s")], [archived("a")], others={"other": document([percept("o")])})
    kept.percepts("other")
    assert kept.live() == (GLOBAL, WORK)
    assert kept.ids() == {"g", "s"}


def test_scope() -> None:
    """Section 16: output calls every session "session"."""
    kept = memory()
    assert [kept.scope(store) for store in (GLOBAL, ARCHIVE, WORK, "other")] == [
        *("global", "archive", "session", "session"),
    ]


def test_new_file() -> None:
    """Section 18: a new file has all three lists, null as milk writes them."""
    assert list(empty().items()) == [("percepts", None), ("engrams", None), ("edges", None)]
    kept = Memory({}, WORK, lambda store: None)
    kept.append(WORK, percept("a"))
    assert kept.files[WORK] == {"percepts": [percept("a")], "engrams": None, "edges": None}
    assert kept.changed == {WORK}


@pytest.mark.parametrize("empty_list", [None, [], "missing"])
def test_empty_lists(empty_list: Any) -> None:
    """F4, section 18: an empty list stays what it was until something is added; one that we emptied is []."""
    kept = memory()
    session: Any = {"percepts": copy.copy(empty_list), "x": 1, "edges": copy.copy(empty_list)}
    if empty_list == "missing":
        session = {"x": 1}
    kept.files[WORK] = session
    before = copy.deepcopy(session)
    assert kept.remove(WORK, {"a"}) == kept.remove(WORK, set()) == []
    assert kept.remove_edges(WORK, lambda each: True) == []
    kept.add_edges(WORK, [])
    assert session == before
    assert kept.changed == set()
    kept.append(WORK, percept("a"))
    kept.add_edges(WORK, [edge("a", "extends", "b")])
    assert session == {**before, "percepts": [percept("a")], "edges": [edge("a", "extends", "b")]}
    kept.remove(WORK, {"a"})
    kept.remove_edges(WORK, lambda each: True)
    assert session == {**before, "percepts": [], "edges": []}
    assert kept.changed == {WORK}
    assert kept.files[GLOBAL] == document()


def test_append_keeps_order() -> None:
    """F4: a new percept goes to the end."""
    kept = memory(None, [percept("b"), percept("a")])
    kept.append(WORK, percept("aa"))
    assert [each["id"] for each in kept.percepts(WORK)] == ["b", "a", "aa"]


def test_add_replaces() -> None:
    """Z3: a percept that arrives takes the place of one with its id, so that no id is twice in a file."""
    kept = memory(None, None, [archived("a", 0.1), archived("b"), archived("c")])
    kept.add(ARCHIVE, [percept("a", 0.9), percept("d")])
    assert [(each["id"], each["w"]) for each in kept.percepts(ARCHIVE)] == [
        *(("b", 0.2), ("c", 0.2), ("a", 0.9), ("d", 0.7)),
    ]


def test_remove() -> None:
    """F4: what is taken out is returned, the rest keeps its order."""
    kept = memory([percept(name) for name in "dbca"])
    assert [each["id"] for each in kept.remove(GLOBAL, {"a", "b", "ghost"})] == ["b", "a"]
    assert [each["id"] for each in kept.percepts(GLOBAL)] == ["d", "c"]


def test_add_edges_once() -> None:
    """E4: an edge that stands there already is not added again; one with other unknown fields is another."""
    kept = memory(edges=[edge("a", "extends", "b")])
    kept.add_edges(WORK, [edge("a", "extends", "b")])
    assert kept.changed == set()
    kept.add_edges(
        WORK,
        [
            edge("b", "extends", "a"),
            edge("b", "extends", "a"),
            edge("a", "extends", "b", x=1),
            edge("a", "updates", "b"),
        ],
    )
    assert kept.edges(WORK) == [
        edge("a", "extends", "b"),
        edge("b", "extends", "a"),
        edge("a", "extends", "b", x=1),
        edge("a", "updates", "b"),
    ]


def test_move_edges() -> None:
    """E4: the chosen edges move, the others keep their order."""
    edges = [edge("a", "extends", "b"), edge("c", "extends", "d"), edge("b", "derives", "a")]
    kept = memory(edges=edges, global_edges=[edge("x", "extends", "y")])
    kept.move_edges(WORK, GLOBAL, lambda each: touches(each, {"a"}))
    assert all_edges(kept) == {
        GLOBAL: [("x", "extends", "y"), ("a", "extends", "b"), ("b", "derives", "a")],
        WORK: [("c", "extends", "d")],
    }
    kept.changed.clear()
    kept.move_edges(WORK, GLOBAL, lambda each: False)
    assert kept.changed == set()


@pytest.mark.parametrize(
    ("ids", "touched"), [({"a"}, True), ({"b"}, True), ({"c"}, False), (set(), False), ({"a", "b"}, True)]
)
def test_touches(ids: set[str], touched: bool) -> None:
    """E4: an edge touches a percept that is one of its ends."""
    assert touches(edge("a", "extends", "b"), ids) is touched


# Live edges


def test_edge_key() -> None:
    """E1: duplicates have relation and ends in common; for `contradicts` in either direction."""
    assert edge_key(edge("b", "contradicts", "a")) == edge_key(edge("a", "contradicts", "b"))
    assert edge_key(edge("b", "extends", "a")) == ("extends", "b", "a")
    assert edge_key(edge("a", "extends", "b")) != edge_key(edge("b", "extends", "a"))
    assert edge_key(edge("a", "extends", "b")) != edge_key(edge("a", "updates", "b"))


def test_live_edges() -> None:
    """E1: of a known relation, between two different live percepts, of either file, each once."""
    kept = memory(
        [percept("g")],
        [percept("s"), percept("t")],
        [archived("a")],
        edges=[edge("s", "extends", "g", x=1), edge("s", "extends", "s"), edge("s", "resembles", "t")],
        global_edges=[edge("g", "contradicts", "t"), edge("s", "extends", "g"), edge("g", "updates", "a")],
        archived_edges=[edge("s", "derives", "t")],
    )
    assert live_edges(kept) == {
        ("contradicts", "g", "t"): edge("g", "contradicts", "t"),
        ("extends", "s", "g"): edge("s", "extends", "g"),
    }


def test_contradictions() -> None:
    """P3: each end of a live contradiction has the ids it contradicts, sorted."""
    kept = memory(
        [percept("g")],
        [percept("b"), percept("a"), percept("free")],
        edges=[
            edge("g", "contradicts", "b"),
            edge("a", "contradicts", "g"),
            edge("g", "contradicts", "a"),
            edge("free", "extends", "g"),
            edge("free", "contradicts", "free"),
            edge("free", "contradicts", "ghost"),
        ],
    )
    assert contradictions(kept) == {"g": ["a", "b"], "a": ["g"], "b": ["g"]}


def test_contradicting_pairs() -> None:
    """P3: each live contradiction is told as one pair of ids, whichever way it is written."""
    kept = memory(
        [percept("b"), percept("a"), percept("c")],
        edges=[
            edge("b", "contradicts", "a"),
            edge("a", "contradicts", "b"),
            edge("b", "contradicts", "c"),
            edge("a", "contradicts", "ghost"),
            edge("a", "extends", "c"),
        ],
    )
    assert contradicting_pairs(kept) == [("a", "b"), ("b", "c")]


# The archive


def test_archive() -> None:
    """F5, E4: an archived percept keeps its fields, gains `archived`, and takes its edges along."""
    kept = memory(
        [percept("g", x=1, idle_seconds=5)],
        [percept("s")],
        edges=[edge("g", "extends", "s"), edge("s", "extends", "ghost")],
        global_edges=[edge("g", "derives", "s"), edge("g", "extends", "g")],
        archived_edges=[edge("g", "derives", "s")],
    )
    moved = kept.archive(GLOBAL, {"g"}, "stale", NOW)
    at = {"at": ago(0), "reason": "stale", "from": GLOBAL}
    assert moved == kept.percepts(ARCHIVE) == [percept("g", x=1, idle_seconds=5, archived=at)]
    assert kept.percepts(GLOBAL) == []
    assert all_edges(kept) == {
        ARCHIVE: [("g", "derives", "s"), ("g", "extends", "g"), ("g", "extends", "s")],
        WORK: [("s", "extends", "ghost")],
    }
    assert kept.changed == {GLOBAL, WORK, ARCHIVE}


def test_archive_nothing() -> None:
    """C2: archiving nothing changes no file, the edges of an id that is not there neither."""
    kept = memory([percept("g")], edges=[edge("ghost", "extends", "g")])
    assert kept.archive(WORK, {"ghost"}, "pruned", NOW) == kept.archive(GLOBAL, set(), "stale", NOW) == []
    assert kept.changed == set()


def test_archive_of_a_session() -> None:
    """F5: `from` is the session's own name."""
    kept = memory(None, [percept("s")])
    kept.archive(WORK, ["s"], "pruned", NOW)
    assert found(kept, "s")["archived"]["from"] == WORK


# Restoring


def test_restore_to_global() -> None:
    """G3: a percept comes back to the store it came from, without `archived` and `idle_seconds`."""
    kept = memory([percept("g")], None, [archived("a", 0.3, idle_seconds=9, x=1), archived("b")])
    assert kept.restore("a") == (percept("a", 0.3, x=1), GLOBAL)
    assert kept.percepts(GLOBAL) == [percept("g"), percept("a", 0.3, x=1)]
    assert [each["id"] for each in kept.percepts(ARCHIVE)] == ["b"]
    assert kept.changed == {GLOBAL, ARCHIVE}


def test_restore_to_a_session() -> None:
    """G3: so does one of the session at hand, and one of another session that there still is."""
    others = {"other": document([percept("o")])}
    kept = memory(None, None, [archived("a", home=WORK), archived("b", home="other")], others=others)
    assert kept.restore("a")[1] == WORK
    assert kept.restore("b")[1] == "other"
    assert where(kept) == {"a": WORK, "o": "other", "b": "other"}
    assert kept.changed == {ARCHIVE, WORK, "other"}


@pytest.mark.parametrize("home", ["gone", ARCHIVE])
def test_restore_from_a_session_that_is_gone(home: str) -> None:
    """G3: where the session is gone, the percept comes to the current one."""
    kept = memory(None, None, [archived("a", home=home)])
    assert kept.restore("a")[1] == WORK
    assert where(kept) == {"a": WORK}
    assert "gone" not in kept.changed


def test_restore_to_a_global_store_that_is_not_there() -> None:
    """G3: what came from the global store goes back to it, though its file is not there."""
    kept = memory(None, [percept("s")], [archived("a")])
    kept.files[GLOBAL] = None
    assert kept.restore("a")[1] == GLOBAL
    assert kept.files[GLOBAL] == document([percept("a", 0.2)])


def test_restore_what_is_not_there() -> None:
    """G3: an id that is not archived is refused, one that is live too."""
    kept = memory([percept("g")])
    for name in ("g", "ghost"):
        with pytest.raises(KeyError, match=name):
            kept.restore(name)
    assert kept.changed == set()


def test_edges_come_back() -> None:
    """E4: edges come back with a restored percept where the other end is live, to the file they belong in."""
    kept = memory(
        [percept("g")],
        [percept("s")],
        [archived("a"), archived("b", home=WORK), archived("c")],
        archived_edges=[
            edge("a", "extends", "g"),
            edge("s", "extends", "a"),
            edge("a", "extends", "b"),
            edge("c", "extends", "g"),
            edge("a", "derives", "ghost"),
            edge("s", "derives", "g"),
        ],
    )
    left = [("c", "extends", "g"), ("a", "derives", "ghost"), ("s", "derives", "g")]
    kept.restore("a")
    assert all_edges(kept) == {
        GLOBAL: [("a", "extends", "g")],
        WORK: [("s", "extends", "a")],
        ARCHIVE: [("a", "extends", "b"), *left],
    }
    kept.restore("b")
    assert all_edges(kept) == {
        GLOBAL: [("a", "extends", "g")],
        WORK: [("s", "extends", "a"), ("a", "extends", "b")],
        ARCHIVE: left,
    }


def test_edges_come_back_to_another_session() -> None:
    """E4: with a percept of another session come the edges to what lives there and in the global store."""
    kept = memory(
        [percept("g")],
        [percept("s")],
        [archived("a", home="other")],
        archived_edges=[edge("a", "extends", "g"), edge("a", "extends", "o"), edge("a", "extends", "s")],
        others={"other": document([percept("o")])},
    )
    kept.restore("a")
    assert all_edges(kept) == {
        "other": [("a", "extends", "g"), ("a", "extends", "o")],
        ARCHIVE: [("a", "extends", "s")],
    }


def test_edges_do_not_double() -> None:
    """Z3: an edge that a crash left behind in a live file is not added a second time."""
    kept = memory(
        [percept("g"), percept("h")],
        [percept("s")],
        [archived("a")],
        edges=[edge("a", "extends", "s")],
        global_edges=[edge("a", "extends", "g")],
        archived_edges=[edge("a", "extends", "g"), edge("a", "extends", "s"), edge("a", "extends", "h")],
    )
    kept.restore("a")
    assert all_edges(kept) == {
        GLOBAL: [("a", "extends", "g"), ("a", "extends", "h")],
        WORK: [("a", "extends", "s")],
    }


def test_there_and_back() -> None:
    """F5, E4: archiving and restoring gives back the files as they were."""
    kept = memory(
        [percept("g", x=1)],
        [percept("s")],
        edges=[edge("g", "extends", "s")],
        global_edges=[edge("g", "contradicts", "h")],
    )
    kept.append(GLOBAL, percept("h"))
    before = copy.deepcopy(kept.files)
    kept.archive(GLOBAL, {"h"}, "stale", NOW)
    kept.restore("h")
    assert kept.files[GLOBAL] == before[GLOBAL]
    assert kept.files[WORK] == before[WORK]
    assert kept.files[ARCHIVE] == {"percepts": [], "engrams": None, "edges": []}


def test_restore_writes_only_where_it_must() -> None:
    """F4, C2: an edge that comes back to the global file leaves the session's `null` list alone."""
    kept = memory([percept("g")], None, [archived("a")], archived_edges=[edge("a", "extends", "g")])
    kept.restore("a")
    assert all_edges(kept) == {GLOBAL: [("a", "extends", "g")]}
    assert kept.files[WORK] == document()
    assert kept.changed == {GLOBAL, ARCHIVE}


def test_archive_with_what_returned() -> None:
    """Z3: until a restore is done the archive can be written with all that leaves it, as it stood."""
    before: Any = document(
        [archived("b"), archived("a", 1.5, idle_seconds=9, x=1)],
        [edge("b", "extends", "ghost"), edge("a", "extends", "g")],
    )
    kept = memory([percept("g")])
    stored: Any = {**copy.deepcopy(before), "x": 1}
    kept.files[ARCHIVE] = stored
    assert kept.archive_with_returned() == {**before, "x": 1}
    kept.restore("a")
    assert kept.archive_with_returned() == {**before, "x": 1}
    assert kept.percepts(ARCHIVE) == [archived("b")]
    kept.restore("b")
    whole = kept.archive_with_returned()
    assert sorted(each["id"] for each in whole["percepts"] or []) == ["a", "b"]
    assert whole["edges"] == before["edges"]
    assert kept.archives is False


def test_archive_with_what_healing_returned() -> None:
    """Z3: what healing brings back is in it too, and a copy that a live one beat is not."""
    ends = edge("a", "extends", "g")
    kept = memory([percept("a"), percept("g")], None, [archived("a")], archived_edges=[ends])
    kept.heal()
    assert kept.archive_with_returned() == document([], [ends])


def test_no_archive_and_nothing_returned() -> None:
    """Z3: without an archive file there is an empty archive to write."""
    kept = Memory({}, WORK, lambda store: None)
    assert kept.archive_with_returned() == {"percepts": [], "engrams": None, "edges": []}


def test_archiving_is_noted() -> None:
    """Z3: a memory says whether something went to the archive, since the order of writing depends on it."""
    kept = memory([percept("g")])
    kept.archive(GLOBAL, {"ghost"}, "stale", NOW)
    assert kept.archives is False
    kept.archive(GLOBAL, {"g"}, "stale", NOW)
    assert kept.archives is True


def test_restore_makes_no_file() -> None:
    """F4, C2: where there is no session file, an edge that comes back to the global file makes none."""
    kept = memory([percept("g")], None, [archived("a")], archived_edges=[edge("a", "extends", "g")])
    kept.files[WORK] = None
    kept.restore("a")
    assert kept.files[WORK] is None


# Promotion


def test_promote() -> None:
    """P5, E4: percepts move with all fields but `idle_seconds`, and edges whose ends are now global."""
    kept = memory(
        [percept("g")],
        [percept("b", idle_seconds=3, x=1), percept("a"), percept("s")],
        edges=[edge("a", "extends", "b"), edge("b", "extends", "g"), edge("s", "extends", "a")],
        global_edges=[edge("b", "extends", "g")],
    )
    kept.promote({"a", "b"})
    assert kept.percepts(GLOBAL) == [percept("g"), percept("b", x=1), percept("a")]
    assert kept.percepts(WORK) == [percept("s")]
    assert all_edges(kept) == {
        GLOBAL: [("b", "extends", "g"), ("a", "extends", "b")],
        WORK: [("s", "extends", "a")],
    }


def test_promote_nothing() -> None:
    """C2: promoting nothing moves no edge either."""
    kept = memory([percept("g"), percept("h")], edges=[edge("g", "extends", "h")])
    kept.promote(set())
    kept.promote({"ghost"})
    assert kept.changed == set()


# Forgetting


def test_forget() -> None:
    """G1, E4: what is forgotten goes with its edges from every file at hand; an edge without it stays."""
    kept = memory(
        [percept("a"), percept("g")],
        [percept("b"), percept("s")],
        [archived("c"), archived("a"), archived("d")],
        edges=[edge("s", "extends", "a"), edge("s", "extends", "g")],
        global_edges=[edge("b", "contradicts", "g"), edge("g", "derives", "s")],
        archived_edges=[edge("d", "extends", "c"), edge("d", "extends", "g")],
        others={"other": document([percept("a")], [edge("c", "extends", "x")])},
    )
    kept.percepts("other")
    kept.files["gone"] = None
    kept.forget({"a", "b", "c"})
    assert where(kept) == {"g": GLOBAL, "s": WORK, "d": ARCHIVE}
    assert all_edges(kept) == {
        GLOBAL: [("g", "derives", "s")],
        WORK: [("s", "extends", "g")],
        ARCHIVE: [("d", "extends", "g")],
    }
    assert kept.changed == {GLOBAL, WORK, ARCHIVE, "other"}


def test_forget_only_where_it_is() -> None:
    """G1: a file that holds nothing of it is not changed."""
    kept = memory([percept("g")], [percept("s")])
    kept.forget({"s"})
    assert kept.changed == {WORK}


# Healing


def test_healthy() -> None:
    """Z3: healing a healthy memory changes nothing."""
    kept = memory(
        [percept("g"), percept("h")],
        [percept("s")],
        [archived("a")],
        edges=[edge("g", "extends", "h")],
        archived_edges=[edge("g", "extends", "h"), edge("a", "extends", "g")],
    )
    before = copy.deepcopy(kept.files)
    kept.heal()
    assert kept.changed == set()
    assert kept.files == before


def test_promoted_halfway() -> None:
    """F7, Z3: of a percept in both stores the global copy stands, its edges settled as by promotion."""
    kept = memory(
        [percept("a", 0.9, evidence=2), percept("g")],
        [percept("a", 0.8), percept("s")],
        edges=[edge("a", "extends", "g"), edge("s", "extends", "a")],
        global_edges=[edge("a", "extends", "g")],
    )
    kept.heal()
    assert kept.percepts(GLOBAL) == [percept("a", 0.9, evidence=2), percept("g")]
    assert kept.percepts(WORK) == [percept("s")]
    assert all_edges(kept) == {GLOBAL: [("a", "extends", "g")], WORK: [("s", "extends", "a")]}


def test_archived_halfway() -> None:
    """Z3: both stores win over the archive, and the edges that had gone ahead come back, once."""
    kept = memory(
        [percept("a", 0.3), percept("g")],
        [percept("s", 0.1)],
        [archived("a", 0.2), archived("s", 0.1, "pruned", WORK), archived("old")],
        edges=[edge("a", "extends", "s")],
        archived_edges=[
            edge("a", "extends", "s"),
            edge("a", "extends", "g"),
            edge("s", "extends", "g"),
            edge("old", "extends", "g"),
            edge("a", "extends", "old"),
        ],
    )
    kept.heal()
    assert where(kept) == {"a": GLOBAL, "g": GLOBAL, "s": WORK, "old": ARCHIVE}
    assert found(kept, "a") == percept("a", 0.3)
    assert all_edges(kept) == {
        GLOBAL: [("a", "extends", "g")],
        WORK: [("a", "extends", "s"), ("s", "extends", "g")],
        ARCHIVE: [("old", "extends", "g"), ("a", "extends", "old")],
    }


def test_edge_left_in_the_session() -> None:
    """Z3, E4: an edge of two globals in the session file is there once after an archiving cut short."""
    edges = [edge("a", "extends", "g")]
    kept = memory([percept("a"), percept("g")], None, [archived("a")], edges=edges, archived_edges=[*edges])
    kept.heal()
    assert [len(listed) for listed in all_edges(kept).values()] == [1]
    assert ARCHIVE not in all_edges(kept)


def test_edge_left_in_the_global_file() -> None:
    """Z3, E4: a session percept's edge in the global file is there once after a pruning cut short."""
    edges = [edge("s", "extends", "g")]
    kept = memory(
        [percept("g")],
        [percept("s")],
        [archived("s", 0.1, "pruned", WORK)],
        global_edges=edges,
        archived_edges=[*edges],
    )
    kept.heal()
    assert [len(listed) for listed in all_edges(kept).values()] == [1]
    assert ARCHIVE not in all_edges(kept)


def test_everywhere() -> None:
    """Z3: of three copies the global one stands."""
    kept = memory([percept("a", 0.9)], [percept("a", 0.8)], [archived("a", 0.2)])
    kept.heal()
    assert where(kept) == {"a": GLOBAL}
    assert found(kept, "a") == percept("a", 0.9)


def test_heal_without_the_archive() -> None:
    """Z3: healing the live stores leaves the archive unread."""
    asked: list[str] = []
    files = {GLOBAL: document([percept("a", 0.9)]), WORK: document([percept("a", 0.8)])}
    kept = Memory({**files}, WORK, asked.append)
    kept.heal_live()
    assert where(kept) == {"a": GLOBAL}
    assert asked == []
    kept.changed.clear()
    kept.heal_live()
    assert kept.changed == set()


def test_healing_awards_nothing() -> None:
    """Z3: healing changes no w and no evidence; the next pass archives what was archived halfway."""
    kept = memory([percept("a", 0.3, idle_seconds=14 * DAY)], None, [archived("a", 0.2)])
    kept.heal()
    assert found(kept, "a") == percept("a", 0.3, idle_seconds=14 * DAY)
    one_pass(kept)
    assert where(kept) == {"a": ARCHIVE}
    assert found(kept, "a")["w"] == 0.3
