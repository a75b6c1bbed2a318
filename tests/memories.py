"""Random memories, healthy and odd, for every test that compares or that states a property.

`random_case` makes all that a pass is given from a `random.Random`; the Hypothesis strategies below it run
the same generator on Hypothesis' own source, so that what they find shrinks. In every choice the plainest
value stands first, because Hypothesis shrinks towards it.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from naive import EdgeKey, Json, edge_key, format_instant

DAY = 86_400
SECOND = 1_000_000_000
NOON = 1_794_744_000 * SECOND  # 2026-11-15T12:00:00Z

RELATIONS = ("extends", "updates", "derives", "contradicts", "contradicts", "resembles")
PRODUCERS = ("primary", "user", "primary", "escalation", "system", "local", "claude", "oracle", "User")
OFFSETS = (("Z", 0), ("Z", 0), ("+00:00", 0), ("+05:30", 19_800), ("-08:00", -28_800))
BIG = 18_446_744_073_709_551_617


class Case(NamedTuple):
    """All that one pass is given; `naive_pass(**case._asdict())` runs it."""

    stores: dict[str, Json]
    knobs: Json
    run: dict[str, set[Any]]
    now: int
    since: int
    elapsed: dict[str, float]
    session_name: str


def random_case(rng: random.Random, most: int = 30, *, clashes: bool = False) -> Case:
    """Return a random memory of at most `most` percepts, with knobs, a run, instants and elapsed times.

    With `clashes` the archive may hold ids that are in the other stores too, as after a crash.
    """
    knobs = random_knobs(rng)
    now = NOON + rng.choice((0, rng.randint(0, 400 * DAY * SECOND)))
    since = now - rng.choice((DAY * SECOND, 3600 * SECOND, rng.randint(1, 10**9), 0, -3600 * SECOND))
    elapsed = random_elapsed(rng)

    names = [f"p{number:02d}" for number in range(rng.randint(0, most))]
    rng.shuffle(names)
    documents: dict[str, Json] = {}
    percepts: dict[str, list[Json]] = {"global": [], "session": []}
    for name in names:
        place = rng.choice(("session", "global"))
        percepts[place].append(random_percept(rng, name, place, knobs, elapsed, now, since))
    if len(percepts["global"]) > 1 and rng.random() < 0.3:
        _make_tie(rng, percepts["global"])
    archived = _random_archived(rng, knobs, elapsed, now, since, names if clashes else [])

    edges = random_edges(rng, names, [percept["id"] for percept in archived])
    homes: dict[str, list[Json]] = {"global": [], "session": [], "archive": []}
    for edge in edges:
        homes[rng.choice(("session", "global"))].append(edge)
        if rng.random() < 0.1:
            homes["archive"].append(dict(edge))
    for edge in random_edges(rng, [percept["id"] for percept in archived], names)[:3]:
        homes["archive"].append(edge)

    for place in ("global", "session", "archive"):
        found = archived if place == "archive" else percepts[place]
        documents[place] = _document(rng, found, homes[place])

    run: dict[str, set[Any]] = {
        "awarded": {name for name in names if rng.random() < 0.2},
        "applied": _random_applied(rng, edges),
    }
    session_name = rng.choice(("session", "milk-1a2b3c4d"))
    return Case(documents, knobs, run, now, since, elapsed, session_name)


def random_knobs(rng: random.Random) -> Json:
    """Return every knob with a valid value, the default half of the time."""

    def knob(default: Any, *others: Any) -> Any:
        return rng.choice((default,) * len(others) + others)

    return {
        "session_half_life_days": knob(3.0, 0.25, 1.0, rng.uniform(0.1, 30.0)),
        "global_half_life_days": knob(60.0, 1.0, 7.0, rng.uniform(0.5, 365.0)),
        "reconfirm_boost": knob(0.05, 0.1),
        "reconfirm_cap": knob(0.90, 0.5, 1.0),
        "promote_threshold": knob(0.80, 0.6, 0.95, 1.0),
        "prune_threshold": knob(0.20, 0.05, 0.3, rng.uniform(0.01, 0.55)),
        "recency_boost": knob(0.10, 0.5, 2.0),
        "recency_half_life_days": knob(30.0, 1.0, 90.0),
        "global_archive_after_days": knob(14.0, 1.0, 7.0, -1.0),
        "percept_inject_max": knob(25, 3, -1),
        "percept_inject_max_bytes": knob(2048, 60, -1),
        "percept_store_max": knob(0, 1, 3, 8),
        "percept_relevance_gate": knob(True, False),
        "run_gap_minutes": knob(120.0, 5.0),
        "edge_cadence": rng.choice(("pass", "run")),
        "restatement_similarity": knob(0.60, 1.0),
    }


def random_elapsed(rng: random.Random) -> dict[str, float]:
    """Return the seconds since the last pass of each store: none, a few, hours or days, often not equal."""

    def seconds() -> float:
        return rng.choice((0.0, 1.0, 90.0, 7200.0, float(DAY), rng.uniform(1.0, 3600.0), 12.5 * DAY))

    session = seconds()
    return {"global": rng.choice((session, seconds())), "session": session}


def random_percept(
    rng: random.Random,
    name: str,
    place: str,
    knobs: Json,
    elapsed: dict[str, float],
    now: int,
    since: int,
) -> Json:
    """Return a percept for one of the stores, its fields in the order in which milk writes them."""
    percept: Json = {
        "id": name,
        "content": f"Statement {name}",
        "producer": rng.choice(PRODUCERS),
        "w": random_weight(rng, place, knobs, elapsed),
    }
    if rng.random() < 0.2:
        percept["consumer"] = rng.choice(("primary", "escalation", "local", None))
    if rng.random() < 0.7:
        percept["roles"] = rng.choice(({}, {"theme": "build"}, None))
    if rng.random() < 0.1:
        percept["engram_id"] = rng.choice(("e1", None))
    if rng.random() < 0.8:
        percept["created_at"] = random_text(rng, now - 90 * DAY * SECOND)
    percept["updated_at"] = random_updated(rng, now)
    core = rng.choice(("missing", "missing", "missing", "missing", False, None, True))
    if core != "missing":
        percept["core"] = core
    if rng.random() < 0.7:
        percept["evidence"] = rng.choice((0, 1, 2, 2, 3, 4, 5, None))
    if rng.random() < (0.7 if place == "global" else 0.1):
        percept["idle_seconds"] = random_idle(rng, knobs, elapsed)
    used = random_used(rng, now, since)
    if used != "missing":
        percept["last_used_at"] = used
    if rng.random() < 0.15:
        percept["x_seen_by"] = rng.choice((BIG, {"tool": ["a", None]}, "", False))
    return percept


def random_weight(rng: random.Random, place: str, knobs: Json, elapsed: dict[str, float]) -> float:
    """Return a w: a birth weight, any, one at or beside a gate before or after this pass, or none at all.

    Globals keep away from the direct neighbourhood of the floor, where whether decay still changes w is a
    matter of the last bit.
    """
    prune, strong = knobs["prune_threshold"], knobs["promote_threshold"]
    gate = rng.choice((strong, prune))
    beside = rng.choice((0.0, 5e-10, -5e-10, 2e-9, -2e-9, 1e-6, -1e-6))
    edges = rng.choice((0.0, 0.05, -0.05, 0.1, 0.2, -0.1))
    half_lives = elapsed["session"] / (knobs["session_half_life_days"] * DAY)
    w: float = rng.choice(
        (
            0.7,
            0.9,
            rng.uniform(0.0, 1.0),
            rng.uniform(strong, 1.0),
            gate,
            gate + beside,
            gate - edges,
            (gate + beside) * 2.0 ** min(half_lives, 20.0),
            (gate - edges) * 2.0 ** min(half_lives, 20.0),
            rng.choice((0, 1, 0.4, 1.0)),
            rng.choice((-0.25, 1.5, -3, 2)),
        )
    )
    if place == "global" and abs(w - prune) < 1e-6:
        return float(prune)
    return w


def random_idle(rng: random.Random, knobs: Json, elapsed: dict[str, float]) -> float | None:
    """Return running seconds unused: none, some, and around what the archive waits for."""
    days = knobs["global_archive_after_days"]
    gate = (14.0 if days == -1 else days) * DAY
    found: float | None = rng.choice(
        (
            None,
            0,
            3600.5,
            max(0.0, gate - elapsed["global"]),
            max(0.0, gate - elapsed["global"] - 0.5),
            gate,
            gate - 0.5,
            gate + 10 * DAY,
            rng.uniform(0.0, gate),
        )
    )
    return found


def random_used(rng: random.Random, now: int, since: int) -> str | None:
    """Return a `last_used_at`, or "missing": never, long ago, at and around the last pass, and to come."""
    kind = rng.choice(("missing", "missing", "null", "zero", "past", "since", "after", "now", "future"))
    if kind == "missing":
        return "missing"
    if kind == "null":
        return None
    if kind == "zero":
        return "0001-01-01T00:00:00Z"
    instants = {
        "past": since - rng.choice((1, 5 * DAY * SECOND)),
        "since": since,
        "after": since + rng.choice((1, 1000, 60 * SECOND)),
        "now": now,
        "future": now + rng.choice((1, 30 * DAY * SECOND)),
    }
    return random_text(rng, instants[kind])


def random_updated(rng: random.Random, now: int) -> str:
    """Return an `updated_at`: just now, any time in the last year, never set, or to come."""
    kind = rng.choice(("recent", "past", "past", "now", "future", "zero"))
    if kind == "zero":
        return "0001-01-01T00:00:00Z"
    instants = {
        "recent": now - rng.randint(0, 3600 * SECOND),
        "past": now - rng.randint(0, 365 * DAY * SECOND),
        "now": now,
        "future": now + 30 * DAY * SECOND,
    }
    return random_text(rng, instants[kind])


def random_text(rng: random.Random, instant: int) -> str:
    """Return exactly this instant as RFC 3339, in one of several zones."""
    zone, seconds = rng.choice(OFFSETS)
    return format_instant(instant + seconds * SECOND).removesuffix("Z") + zone


def random_edges(rng: random.Random, names: list[str], others: list[str]) -> list[Json]:
    """Return edges among `names`, some of them loops, repeated, reversed, or with an end elsewhere."""
    if len(names) < 2:
        return []
    edges: list[Json] = []
    for _ in range(rng.choice((0, 1, 2, len(names) // 2, len(names)))):
        kind = rng.choice(("new", "new", "new", "new", "again", "reversed", "loop", "dangling"))
        source, target = rng.sample(names, 2)
        edge: Json = {"from": source, "to": target, "relation": rng.choice(RELATIONS)}
        if edges and kind == "again":
            edge = dict(rng.choice(edges))
        elif edges and kind == "reversed":
            edge = dict(rng.choice(edges))
            edge["from"], edge["to"] = edge["to"], edge["from"]
        elif kind == "loop":
            edge["to"] = source
        elif kind == "dangling":
            edge[rng.choice(("from", "to"))] = rng.choice(("ghost", *others))
        if rng.random() < 0.1:
            edge["x_why"] = rng.choice(("said so", BIG, None))
        edges.append(edge)
    return edges


def _random_applied(rng: random.Random, edges: list[Json]) -> set[EdgeKey]:
    applied = {edge_key(edge) for edge in edges if rng.random() < 0.3}
    if rng.random() < 0.2:
        applied.add(("extends", "gone", "ghost"))
    return applied


def _random_archived(
    rng: random.Random, knobs: Json, elapsed: dict[str, float], now: int, since: int, taken: list[str]
) -> list[Json]:
    names = [f"a{number}" for number in range(rng.randint(0, 3))]
    names += [name for name in taken if rng.random() < 0.2]
    archived = []
    for name in names:
        percept = random_percept(rng, name, "session", knobs, elapsed, now, since)
        percept["archived"] = {
            "at": random_text(rng, now - DAY * SECOND),
            "reason": rng.choice(("pruned", "stale", "evicted")),
            "from": rng.choice(("global", "session")),
        }
        archived.append(percept)
    return archived


def _make_tie(rng: random.Random, percepts: list[Json]) -> None:
    first, second = rng.sample(percepts, 2)
    for field in ("w", "evidence", "updated_at", "core", "producer"):
        second.pop(field, None)
        if field in first:
            second[field] = first[field]


def _document(rng: random.Random, percepts: list[Json], edges: list[Json]) -> Json:
    doc: Json = {}
    if rng.random() < 0.1:
        doc["x_version"] = BIG
    for key, items in (("percepts", percepts), ("engrams", []), ("edges", edges)):
        if items:
            doc[key] = items
            continue
        empty = rng.choice(("null", "list", "missing"))
        if empty != "missing":
            doc[key] = None if empty == "null" else []
    if rng.random() < 0.1:
        doc["engrams"] = [{"id": "e1", "x": None}]
    if rng.random() < 0.1:
        doc["x_notes"] = {"kept": [1, 2.5, None]}
    return doc


# Hypothesis


def cases(most: int = 8, *, clashes: bool = False) -> SearchStrategy[Case]:
    """Return a strategy for whole cases, with as many percepts at most."""
    return _randoms().map(lambda rng: random_case(rng, most, clashes=clashes))


def knob_sets() -> SearchStrategy[Json]:
    """Return a strategy for valid knobs, all of them."""
    return _randoms().map(random_knobs)


def weights() -> SearchStrategy[float]:
    """Return a strategy for stored w, those outside 0 and 1 and whole numbers included."""
    return st.one_of(st.sampled_from((0.7, 0.2, 0.8, 0.9, 0, 1, -0.25, 1.5)), st.floats(0.0, 1.0))


def seconds() -> SearchStrategy[float]:
    """Return a strategy for elapsed running seconds, none to a year."""
    return st.one_of(st.just(0.0), st.floats(1.0, 365.0 * DAY))


def percepts(name: str = "p00", place: str = "session") -> SearchStrategy[Json]:
    """Return a strategy for one percept as it may stand in a store."""
    return _randoms().map(
        lambda rng: random_percept(
            rng, name, place, random_knobs(rng), random_elapsed(rng), NOON, NOON - DAY * SECOND
        )
    )


def _randoms() -> SearchStrategy[random.Random]:
    return st.randoms(use_true_random=False, note_method_calls=False)
