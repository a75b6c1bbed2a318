"""What a memory file must be: the form of rule F3, checked on the decoded document (F7).

One table says it for each kind of object. Percepts are checked in blocks, a field at a time: that is
several times faster than percept by percept, and a block still fits the processor's cache. Only a block
with a fault in it is gone through percept by percept, with the same table, to say where.
"""

from __future__ import annotations

import math

from milkmem import instants
from milkmem.percept import EVIDENCE_LIMIT, ROLES, Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from milkmem.percept import Document

    Fault = tuple[str, str]
    Object = dict[str, Any]

_LARGEST_FLOAT = math.nextafter(math.inf, 0.0)
_NO_TIME = "not a time that milk can read"
_BLOCK = 512


def check(document: Document, *, archive: bool = False) -> None:
    """Raise Malformed unless `document` is of the form of rule F3; `archive` adds that of F5 (F7).

    Unknown fields may hold anything. Engrams are not interpreted, so only that they are objects is
    checked. An edge may lack its fields, as for milk.
    """
    sections: Object = document  # type: ignore[assignment]  # the same dict, by any key
    fault = _fault([sections], _SECTIONS)
    if fault is not None:
        raise Malformed(*fault)
    percepts = _check_each(sections, "percepts", _ARCHIVED_PERCEPT if archive else _PERCEPT)
    _check_each(sections, "edges", _EDGE)
    for at, engram in enumerate(sections.get("engrams") or []):
        if engram is not None and type(engram) is not dict:
            raise Malformed(f"engrams[{at}]", "not an object")
    _check_ids(percepts)


def _check_each(sections: Object, name: str, fields: dict[str, _Field]) -> list[Object]:
    objects: list[Object] = sections.get(name) or []
    for start in range(0, len(objects), _BLOCK):
        block = objects[start : start + _BLOCK]
        if _fault(block, fields) is not None:
            found = ((at, _fault([item], fields)) for at, item in enumerate(block, start))
            at, (path, what) = next((at, fault) for at, fault in found if fault is not None)
            raise Malformed(f"{name}[{at}]{path and '.'}{path}", what)
    return objects


def _check_ids(percepts: list[Object]) -> None:
    ids = [percept["id"] for percept in percepts]
    if len(set(ids)) < len(ids):
        first = {name: at for at, name in reversed(list(enumerate(ids)))}
        at = next(at for at, name in enumerate(ids) if first[name] < at)
        raise Malformed(f"percepts[{at}].id", f"the same id as percepts[{first[ids[at]]}]")


def _fault(objects: list[Object], fields: dict[str, _Field]) -> Fault | None:
    """Return the path at fault and what is wrong there; None when all `objects` are sound.

    What is found first depends on the table, so one object at a time tells the place in the list.
    """
    if not {*map(type, objects)} <= {dict}:
        return "", "not an object"
    names: set[str] = set().union(*objects)
    for name in sorted(names - fields.keys()):
        folded = _folded(name)
        if folded in fields:
            return folded, "in another letter case"
    for name, field in fields.items():
        if field.required:
            values = [item.get(name) for item in objects]
        elif name in names:
            values = [item[name] for item in objects if name in item]
        else:
            continue
        fault = field.fault(values)
        if fault is not None:
            path, what = fault
            return f"{name}{path and '.'}{path}", what
    return None


def _folded(key: str) -> str:
    """Return the key as milk's decoder (Go's) folds it: the Kelvin sign is a k, the long s an s."""
    return key.lower().replace("\u017f", "s")


def _wrong_id(values: list[Any]) -> str:
    return "empty" if "" in values else ""


def _wrong_time(values: list[Any]) -> str:
    return "" if instants.all_valid(values) else _NO_TIME


def _wrong_number(values: list[Any]) -> str:
    try:
        if math.isfinite(sum(values, 0.0)):  # then each of them is, and this is the quickest way to tell
            return ""
    except OverflowError:
        pass
    sound = all(-_LARGEST_FLOAT <= value <= _LARGEST_FLOAT for value in values)
    return "" if sound else "beyond a float"


def _wrong_seconds(values: list[Any]) -> str:
    return _wrong_number(values) or ("below zero" if min(values) < 0 else "")


def _wrong_count(values: list[Any]) -> str:
    if min(values) < 0:
        return "below zero"
    return "beyond 64 bits" if max(values) > EVIDENCE_LIMIT else ""


class _Field:
    """What a known field holds; null and missing are the same, and no fault unless it is required."""

    __slots__ = ("fields", "kinds", "plain", "required", "words", "wrong")

    def __init__(
        self,
        words: str,
        *kinds: type,
        wrong: Callable[[list[Any]], str] | None = None,
        fields: dict[str, _Field] | None = None,
        required: bool = False,
        plain: bool = False,
    ) -> None:
        self.words = words
        self.kinds = frozenset(kinds)
        self.wrong = wrong
        self.fields = fields
        self.required = required
        self.plain = plain

    def fault(self, values: list[Any]) -> Fault | None:
        """Return the path within the field and what is wrong with one of `values`."""
        kinds = {*map(type, values)}
        if type(None) in kinds:
            if self.required:
                return "", "missing"
            kinds.remove(type(None))
            values = [value for value in values if value is not None]
        if not kinds <= self.kinds and not all(map(self._takes, kinds)):
            return "", self.words
        if self.fields is not None:
            return _fault(values, self.fields)
        what = self.wrong(values) if self.wrong is not None and values else ""
        return ("", what) if what else None

    def _takes(self, kind: type) -> bool:
        """Return whether values of `kind` will do: a text or number that remembers its spelling is one."""
        remembers = kind.__base__ in self.kinds and kind is not bool and not self.plain
        return kind in self.kinds or remembers


_TEXT = _Field("not a text", str)
_SOME_TEXT = _Field("not a text", str, required=True)
# The codec remembers the spelling of a time with an escape in it; milk reads times before it unescapes.
_TIME = _Field(_NO_TIME, str, wrong=_wrong_time, plain=True)
_SOME_TIME = _Field(_NO_TIME, str, wrong=_wrong_time, plain=True, required=True)
_LIST = _Field("not a list", list)

_SECTIONS = {"percepts": _LIST, "engrams": _LIST, "edges": _LIST}
_EDGE = {"from": _TEXT, "to": _TEXT, "relation": _TEXT}
_PERCEPT = {
    "id": _Field("not a text", str, wrong=_wrong_id, required=True),
    "content": _SOME_TEXT,
    "producer": _SOME_TEXT,
    "consumer": _TEXT,
    "w": _Field("not a number", float, int, wrong=_wrong_number, required=True),
    "roles": _Field("not an object", dict, fields=dict.fromkeys(ROLES, _TEXT)),
    "engram_id": _TEXT,
    "created_at": _TIME,
    "updated_at": _SOME_TIME,
    "core": _Field("not true or false", bool),
    "evidence": _Field("not a whole number", int, wrong=_wrong_count),
    "idle_seconds": _Field("not a number", float, int, wrong=_wrong_seconds),
    "last_used_at": _TIME,
}
_ARCHIVED = {"at": _SOME_TIME, "reason": _SOME_TEXT, "from": _SOME_TEXT}
_ARCHIVED_PERCEPT = _PERCEPT | {
    "archived": _Field("not an object", dict, fields=_ARCHIVED, required=True),
}
