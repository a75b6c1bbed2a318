"""What is stored: percepts, edges and the files that hold them, as the JSON objects they came as (F3).

Nothing is converted: unknown fields, key order and nine-digit times survive because a percept stays the
`dict` it was read as (F4). The types below exist for the type checker only, so that a hook does not pay
for importing `typing`.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NotRequired, TypedDict

    Archived = TypedDict("Archived", {"at": str, "reason": str, "from": str})

    class Percept(TypedDict):
        """One remembered statement; the fields of F3, in their order of writing."""

        id: str
        content: str
        producer: str
        consumer: NotRequired[str | None]
        w: float
        roles: NotRequired[dict[str, str] | None]
        engram_id: NotRequired[str | None]
        created_at: NotRequired[str | None]
        updated_at: str
        core: NotRequired[bool | None]
        evidence: NotRequired[int | None]
        idle_seconds: NotRequired[float | None]
        last_used_at: NotRequired[str | None]
        archived: NotRequired[Archived]

    Edge = TypedDict("Edge", {"from": str, "to": str, "relation": str})

    class Document(TypedDict):
        """One memory file."""

        percepts: NotRequired[list[Percept] | None]
        engrams: NotRequired[list[dict[str, object]] | None]
        edges: NotRequired[list[Edge] | None]


GLOBAL = "global"
SESSION = "session"
ARCHIVE = "archive"

FIELDS = (
    "id",
    "content",
    "producer",
    "consumer",
    "w",
    "roles",
    "engram_id",
    "created_at",
    "updated_at",
    "core",
    "evidence",
    "idle_seconds",
    "last_used_at",
    "archived",
)

ROLES = ("action", "agent", "recipient", "theme", "when", "where")

USER = "user"
PRIMARY = "primary"
ESCALATION = "escalation"
SYSTEM = "system"
PRODUCERS = (USER, PRIMARY, ESCALATION, SYSTEM)
AUDIENCES = (PRIMARY, ESCALATION)
OLD_NAMES = {"local": PRIMARY, "claude": ESCALATION}

POSITIVE_RELATIONS = ("extends", "updates", "derives")
CONTRADICTS = "contradicts"
RELATIONS = (*POSITIVE_RELATIONS, CONTRADICTS)

STALE = "stale"
PRUNED = "pruned"
EVICTED = "evicted"

EVIDENCE_LIMIT = 2**63 - 1

CORE_BIRTH_WEIGHT = 1.0
BIRTH_WEIGHTS = {USER: 0.9, SYSTEM: 0.4}
OTHER_BIRTH_WEIGHT = 0.7


def birth_weight(producer: str, core: bool) -> float:
    """Return the w a new percept starts with (S1)."""
    return CORE_BIRTH_WEIGHT if core else BIRTH_WEIGHTS.get(producer, OTHER_BIRTH_WEIGHT)


def is_core(percept: Percept) -> bool:
    """Return whether the percept is exempt from everything automatic."""
    return percept.get("core") is True


def weight(percept: Percept) -> float:
    """Return w, clamped to [0,1] where the file says otherwise (F7)."""
    w = percept["w"]
    return 0.0 if w < 0 else 1.0 if w > 1 else w


def evidence(percept: Percept) -> int:
    """Return in how many runs the percept was corroborated; missing and null mean 0 (F3)."""
    return percept.get("evidence") or 0


def corroborate(percept: Percept) -> None:
    """Add one to evidence, up to the largest number that milk can load (F3, Z7)."""
    put(percept, "evidence", min(evidence(percept) + 1, EVIDENCE_LIMIT))


def idle_seconds(percept: Percept) -> float:
    """Return the running seconds a global percept went unused; missing and null mean 0 (F3)."""
    return percept.get("idle_seconds") or 0.0


def put(percept: Percept, field: str, value: object) -> None:
    """Set a field of F3; one that was missing goes to its place in the order of `FIELDS` (F4)."""
    fields: dict[str, object] = percept  # type: ignore[assignment]  # the same dict, by any key
    if field in fields:
        fields[field] = value
        return
    later = FIELDS[FIELDS.index(field) + 1 :]
    keys = list(fields)
    behind = next((keys[at:] for at, key in enumerate(keys) if key in later), [])
    fields[field] = value
    for key in behind:
        fields[key] = fields.pop(key)


def take(percept: Percept, field: str) -> None:
    """Remove a field of F3 if it is there."""
    fields: dict[str, object] = percept  # type: ignore[assignment]  # the same dict, by any key
    fields.pop(field, None)


class Malformed(Exception):  # named as the errors of `errors` are
    """A memory file is not of the form of rule F3 (F7).

    `where` is a place in the file (`line 3 column 7`, `byte 120`) or in the document (`percepts[3].w`),
    `what` a few words. Neither holds the content of a percept (Z6).
    """

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where = where
        self.what = what
