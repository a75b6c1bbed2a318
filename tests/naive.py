"""A slow, plain model of one consolidation pass, written from the record and the specification alone.

It shares no code and no number with the package: the two are compared on random memories, so a
misreading has to be made twice, by two authors, to stay unseen. One function a step; nothing is clever.

Stores are the three decoded files, `{"global": doc, "session": doc, "archive": doc}`, healed: no id is in
both the global and the session store. Instants are whole nanoseconds since 1970 in UTC, elapsed times
seconds. The order of the keys in a percept and the order of edges in a file are not modelled.
"""

from __future__ import annotations

import copy
import re
from datetime import datetime, timedelta
from typing import Any, NamedTuple

Json = dict[str, Any]
EdgeKey = tuple[str, str, str]

COUNTS = ("decayed", "global_decayed", "pruned", "archived", "promoted", "promotion_deferred", "evicted")
POSITIVE = ("extends", "updates", "derives")
SECONDS_A_DAY = 86_400
NANOSECONDS = 1_000_000_000
TOLERANCE = 1e-9


class Result(NamedTuple):
    """What a pass leaves: new stores, the run, the counts of step 7, and (event, id) in order of steps."""

    stores: dict[str, Json]
    run: dict[str, set[Any]]
    counts: dict[str, int]
    changes: list[tuple[str, str]]


def naive_pass(
    stores: dict[str, Json],
    knobs: Json,
    run: dict[str, set[Any]],
    now: int,
    since: int,
    elapsed: dict[str, float],
    session_name: str,
) -> Result:
    """Return what one pass makes of these stores and this run; the arguments stay as they are.

    `since` is the stored instant of the previous global pass; `elapsed` has the seconds for "global" and
    for "session"; `run` has "awarded" (ids) and "applied" (edge keys).
    """
    _check_healed(stores)
    new = copy.deepcopy(stores)
    run = {"awarded": set(run["awarded"]), "applied": set(run["applied"])}
    changes: list[tuple[str, str]] = []

    # Step 1
    decayed = decay_session(new, knobs, elapsed["session"])
    global_decayed = decay_global(new, knobs, elapsed["global"])
    accrue_idle(new, now, since, elapsed["global"])
    # Step 2
    changes += propagate_edges(new, knobs, run)
    # Step 3
    changes += prune_session(new, knobs, now, session_name)
    # Step 4
    changes += archive_stale(new, knobs, now, session_name)
    # Step 5
    changes += promote(new, knobs)
    # Step 6
    changes += evict(new, knobs, now, session_name)

    write_clamped(stores, new)
    events = [event for event, _ in changes]
    counts = {
        "decayed": decayed,
        "global_decayed": global_decayed,
        "pruned": events.count("pruned"),
        "archived": events.count("archived"),
        "promoted": events.count("promoted"),
        "promotion_deferred": events.count("deferred"),
        "evicted": events.count("evicted"),
    }
    return Result(new, run, counts, changes)


# The steps


def decay_session(stores: dict[str, Json], knobs: Json, seconds: float) -> int:
    """Step 1, D1: halve w once a half-life; return how many changed."""
    if seconds == 0:
        return 0
    half_lives = seconds / (knobs["session_half_life_days"] * SECONDS_A_DAY)
    changed = 0
    for percept in listed(stores["session"], "percepts"):
        if not is_core(percept) and set_weight(percept, weight(percept) * 2.0**-half_lives):
            changed += 1
    return changed


def decay_global(stores: dict[str, Json], knobs: Json, seconds: float) -> int:
    """Step 1, D2: halve what w has above the floor once a half-life; return how many changed."""
    if seconds == 0:
        return 0
    half_lives = seconds / (knobs["global_half_life_days"] * SECONDS_A_DAY)
    floor = knobs["prune_threshold"]
    changed = 0
    for percept in listed(stores["global"], "percepts"):
        w = weight(percept)
        if is_core(percept) or w <= floor:
            continue
        sunk = floor + (w - floor) * 2.0**-half_lives
        if set_weight(percept, min(w, sunk)):
            changed += 1
    return changed


def accrue_idle(stores: dict[str, Json], now: int, since: int, seconds: float) -> None:
    """Step 1, D4: every non-core global that was not used since the last global pass idled."""
    if seconds == 0:
        return
    for percept in listed(stores["global"], "percepts"):
        if is_core(percept) or used(percept, now, since):
            continue
        percept["idle_seconds"] = idle(percept) + seconds


def propagate_edges(stores: dict[str, Json], knobs: Json, run: dict[str, set[Any]]) -> list[tuple[str, str]]:
    """Step 2, E1 to E3: sum the deltas of each percept, clamp once, award evidence once a run."""
    hundredths: dict[str, int] = {}  # of w; whole numbers, so that the order of edges cannot matter
    boosted: set[str] = set()
    for key in sorted(live_edge_keys(stores)):
        if knobs["edge_cadence"] == "run":
            if key in run["applied"]:
                continue
            run["applied"].add(key)
        relation, source, target = key
        if relation == "contradicts":
            hundredths[source] = hundredths.get(source, 0) - 10
            hundredths[target] = hundredths.get(target, 0) - 10
        else:
            hundredths[target] = hundredths.get(target, 0) + 5
            boosted.add(target)

    changes = []
    for percept in listed(stores["global"], "percepts") + listed(stores["session"], "percepts"):
        name = percept["id"]
        if is_core(percept) or name not in hundredths:
            continue
        before = weight(percept)
        if hundredths[name] != 0:
            set_weight(percept, min(1.0, max(0.0, before + hundredths[name] / 100)))
        after = weight(percept)
        awarded = name in boosted and name not in run["awarded"]
        if awarded:
            run["awarded"].add(name)
            percept["evidence"] = evidence(percept) + 1
        if after > before or awarded:
            changes.append(("boosted", name))
        if after < before:
            changes.append(("penalized", name))
    return changes


def prune_session(stores: dict[str, Json], knobs: Json, now: int, session_name: str) -> list[tuple[str, str]]:
    """Step 3, A3: session percepts that faded to the threshold go to the archive."""
    changes = []
    for percept in list(listed(stores["session"], "percepts")):
        if not is_core(percept) and weight(percept) <= knobs["prune_threshold"] + TOLERANCE:
            archive(stores, "session", percept, "pruned", now, session_name)
            changes.append(("pruned", percept["id"]))
    return changes


def archive_stale(stores: dict[str, Json], knobs: Json, now: int, session_name: str) -> list[tuple[str, str]]:
    """Step 4, A1: globals that idled long enough go to the archive; -1 is never."""
    if knobs["global_archive_after_days"] == -1:
        return []
    changes = []
    for percept in list(listed(stores["global"], "percepts")):
        if not is_core(percept) and idle(percept) >= knobs["global_archive_after_days"] * SECONDS_A_DAY:
            archive(stores, "global", percept, "stale", now, session_name)
            changes.append(("archived", percept["id"]))
    return changes


def promote(stores: dict[str, Json], knobs: Json) -> list[tuple[str, str]]:
    """Step 5, P1 to P5: strong session percepts that are vouched for and not in conflict become global."""
    contradicted: set[str] = set()
    for relation, one, other in live_edge_keys(stores):
        if relation == "contradicts":
            contradicted |= {one, other}

    changes = []
    for percept in list(listed(stores["session"], "percepts")):
        if weight(percept) < knobs["promote_threshold"] - TOLERANCE:
            continue
        vouched = is_core(percept) or percept["producer"] == "user" or evidence(percept) >= 2
        if not vouched or percept["id"] in contradicted:
            changes.append(("deferred", percept["id"]))
            continue
        remove(stores["session"], "percepts", percept)
        percept.pop("idle_seconds", None)
        append(stores["global"], "percepts", percept)
        changes.append(("promoted", percept["id"]))

    if any(event == "promoted" for event, _ in changes):
        in_global = ids(stores["global"])
        for edge in list(listed(stores["session"], "edges")):
            if edge["from"] in in_global and edge["to"] in in_global:
                remove(stores["session"], "edges", edge)
                append_unless_equal(stores["global"], "edges", edge)
    return changes


def evict(stores: dict[str, Json], knobs: Json, now: int, session_name: str) -> list[tuple[str, str]]:
    """Step 6, A2: while the global store is too large, the non-core percept ranked last goes."""
    most = knobs["percept_store_max"]
    if most == 0:
        return []
    changes = []
    while len(listed(stores["global"], "percepts")) > most:
        ranked = [percept for percept in listed(stores["global"], "percepts") if not is_core(percept)]
        if not ranked:
            break
        ranked.sort(key=lambda percept: (-rank_score(percept, knobs, now), percept["id"]))
        last = ranked[-1]
        archive(stores, "global", last, "evicted", now, session_name)
        changes.append(("evicted", last["id"]))
    return changes


def write_clamped(old: dict[str, Json], new: dict[str, Json]) -> None:
    """F7: a percept that the pass changed or moved is written with its w clamped, others as they are."""
    for place in ("global", "session", "archive"):
        before = {percept["id"]: percept for percept in listed(old[place], "percepts")}
        for percept in listed(new[place], "percepts"):
            if before.get(percept["id"]) != percept and not 0 <= percept["w"] <= 1:
                percept["w"] = weight(percept)


# What the steps ask of a percept


def is_core(percept: Json) -> bool:
    """Return whether the percept is exempt from everything automatic."""
    return percept.get("core") is True


def weight(percept: Json) -> float:
    """Return w as it is used: never outside 0 and 1 (F7)."""
    return float(min(1.0, max(0.0, percept["w"])))


def set_weight(percept: Json, w: float) -> bool:
    """Write a new w; return whether that changed anything."""
    if w == weight(percept):
        return False
    percept["w"] = w
    return True


def evidence(percept: Json) -> int:
    """Return the evidence, 0 where the file says nothing (F3)."""
    found = percept.get("evidence")
    return 0 if found is None else int(found)


def idle(percept: Json) -> float:
    """Return the running seconds unused, 0 where the file says nothing (F3)."""
    found = percept.get("idle_seconds")
    return 0.0 if found is None else float(found)


def used(percept: Json, now: int, since: int) -> bool:
    """Return whether the percept was used since the last global pass; the future counts as now (D4)."""
    text = percept.get("last_used_at")
    return text is not None and min(parse_instant(text), now) > since


def rank_score(percept: Json, knobs: Json, now: int) -> float:
    """Return what orders percepts (W1)."""
    age_days = max(0, now - parse_instant(percept["updated_at"])) / (SECONDS_A_DAY * NANOSECONDS)
    recency = knobs["recency_boost"] * 0.5 ** (age_days / knobs["recency_half_life_days"])
    bonus = 0.05 * min(evidence(percept), 4)
    return float(weight(percept) * (1 + recency) * (1 + bonus))


# Edges


def edge_key(edge: Json) -> EdgeKey:
    """Return what makes two edges the same: relation and ends, those of `contradicts` in either order."""
    relation, source, target = edge["relation"], edge["from"], edge["to"]
    if relation == "contradicts":
        source, target = sorted((source, target))
    return relation, source, target


def live_edge_keys(stores: dict[str, Json]) -> set[EdgeKey]:
    """Return the edges that count, each once: of a known relation, between two live percepts."""
    here = ids(stores["global"]) | ids(stores["session"])
    found = set()
    for edge in listed(stores["global"], "edges") + listed(stores["session"], "edges"):
        known = edge["relation"] in POSITIVE or edge["relation"] == "contradicts"
        if known and edge["from"] != edge["to"] and edge["from"] in here and edge["to"] in here:
            found.add(edge_key(edge))
    return found


# Moves between files


def archive(
    stores: dict[str, Json], place: str, percept: Json, reason: str, now: int, session_name: str
) -> None:
    """Move a percept and every edge that touches it to the archive (F5)."""
    remove(stores[place], "percepts", percept)
    home = "global" if place == "global" else session_name
    percept["archived"] = {"at": format_instant(now), "reason": reason, "from": home}
    for older in list(listed(stores["archive"], "percepts")):
        if older["id"] == percept["id"]:
            remove(stores["archive"], "percepts", older)
    append(stores["archive"], "percepts", percept)
    for file in ("global", "session"):
        for edge in list(listed(stores[file], "edges")):
            if percept["id"] in (edge["from"], edge["to"]):
                remove(stores[file], "edges", edge)
                append_unless_equal(stores["archive"], "edges", edge)


def ids(doc: Json) -> set[str]:
    """Return the ids of the percepts in one file."""
    return {percept["id"] for percept in listed(doc, "percepts")}


def listed(doc: Json, key: str) -> list[Json]:
    """Return a list of a file; one that is null or missing is empty (F3)."""
    found: list[Json] | None = doc.get(key)
    return [] if found is None else found


def append(doc: Json, key: str, item: Json) -> None:
    """Add to a list of a file, which is made where it was null or missing."""
    doc[key] = [*listed(doc, key), item]


def append_unless_equal(doc: Json, key: str, item: Json) -> None:
    """Add to a list of a file unless it holds the same object, unknown fields included."""
    if item not in listed(doc, key):
        append(doc, key, item)


def remove(doc: Json, key: str, item: Json) -> None:
    """Take one object, and not one that is merely equal, out of a list of a file."""
    doc[key] = [other for other in doc[key] if other is not item]


def _check_healed(stores: dict[str, Json]) -> None:
    both = ids(stores["global"]) & ids(stores["session"])
    if both:
        raise ValueError(f"in both stores, which is for the loader to heal: {sorted(both)}")


# Times

_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))")
_EPOCH = datetime(1970, 1, 1)


def parse_instant(text: str) -> int:
    """Return nanoseconds since 1970 in UTC; raises ValueError for what is not RFC 3339."""
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ValueError(f"not a time: {text}")
    local, fraction, sign, hours, minutes = match.groups()
    passed = datetime.fromisoformat(local) - _EPOCH
    seconds = passed.days * SECONDS_A_DAY + passed.seconds
    if sign is not None:
        offset = int(hours) * 3600 + int(minutes) * 60
        seconds += offset if sign == "-" else -offset
    return seconds * NANOSECONDS + int((fraction or "").ljust(9, "0"))


def format_instant(instant: int) -> str:
    """Return RFC 3339 in UTC: at most nine fraction digits, no trailing zeros, `Z` (section 18)."""
    seconds, fraction = divmod(instant, NANOSECONDS)
    text = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    if fraction != 0:
        text += "." + f"{fraction:09d}".rstrip("0")
    return text + "Z"


# Comparing


def comparable(stores: dict[str, Json]) -> dict[str, Json]:
    """Return a copy in which two results of the same pass are equal, up to float noise in w.

    Sorted are what the specification gives no order: the edges of each file, and the archive's percepts.
    """
    copied = copy.deepcopy(stores)
    for doc in copied.values():
        if doc.get("edges") is not None:
            doc["edges"].sort(key=_edge_order)
    if copied["archive"].get("percepts") is not None:
        copied["archive"]["percepts"].sort(key=lambda percept: percept["id"])
    return copied


def _edge_order(edge: Json) -> str:
    return repr(sorted(edge.items(), key=lambda item: item[0]))
