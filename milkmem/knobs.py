"""Every knob once: its name, default, bound and meaning (section 3), and the constants that are none.

The parser, `config init`, `config show` and the reference table in the docs all read `KNOBS`; nothing
else states a default. A knob's value is an attribute of `Knobs`.
"""

from __future__ import annotations

import math

from milkmem.instants import SECONDS_PER_DAY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Value = bool | int | float | str
    V = TypeVar("V", bool, int, float, str)

# Constants of the model that are no knobs.
EVIDENCE_STEP = 0.05
EVIDENCE_CAP = 4
PROMOTION_EVIDENCE = 2
POSITIVE_EDGE = 0.05
CONTRADICTION = -0.10
GATE_TOLERANCE = 1e-9
MEASURED_ELAPSED_LIMIT = float(SECONDS_PER_DAY)
RUN_KEPT_DAYS = 30
# Of how many percepts it is known where commands put them last.
PLACES_KEPT = 100
CONTENT_LIMIT_BYTES = 16 * 1024

NEVER = -1
PER_PASS = "pass"
PER_RUN = "run"

RETIRED = ("decay_per_session", "global_decay_per_session")


class Bound:
    """What values a knob takes: a test, and the words for it."""

    __slots__ = ("allows", "words")

    def __init__(self, words: str, allows: Callable[[Any], bool]) -> None:
        self.words = words
        self.allows = allows


ABOVE_ZERO = Bound("above 0", lambda value: value > 0)
UNIT = Bound("above 0, at most 1", lambda value: 0 < value <= 1)
ABOVE_ZERO_OR_NEVER = Bound("above 0, or -1 for never", lambda value: value > 0 or value == NEVER)
COUNT_OR_NO_LIMIT = Bound(
    "a whole number above 0, or -1 for no limit", lambda value: value > 0 or value == NEVER
)
COUNT = Bound("a whole number, 0 for no cap", lambda value: value >= 0)
YES_NO = Bound("true or false", lambda value: True)
CADENCE = Bound(f'"{PER_PASS}" or "{PER_RUN}"', lambda value: value in (PER_PASS, PER_RUN))


class Knob:
    """One tunable: name, default, bound and meaning; its type is its default's."""

    __slots__ = ("bound", "default", "meaning", "name")

    def __init__(self, default: Value, bound: Bound, meaning: str) -> None:
        self.name = ""
        self.default = default
        self.bound = bound
        self.meaning = meaning

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name of the attribute that declares the knob."""
        self.name = name

    def read(self, value: object) -> Value:
        """Return `value` as this knob's type; zero is the default (K1).

        Raises ValueError, with words that complete "KNOB must be …", for a wrong type, a number that
        is not finite, or a value out of bounds.
        """
        kind = type(self.default)
        if kind is float and type(value) is int:
            value = _finite(value)
        if kind is int and type(value) is float and value.is_integer():
            value = int(value)
        if type(value) is not kind:
            raise ValueError(_TYPE_WORDS[kind])
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError("a finite number")
        if kind is not bool and value == 0:
            return self.default
        if not self.bound.allows(value):
            raise ValueError(self.bound.words)
        return value


_TYPE_WORDS = {float: "a number", int: "a whole number", bool: "true or false", str: "a text in quotes"}


def _finite(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _knob(default: V, bound: Bound, meaning: str) -> V:
    return Knob(default, bound, meaning)  # type: ignore[return-value]  # declared as the value it stands for


class Knobs:
    """The knobs in force, one attribute each; keyword arguments replace defaults.

    >>> Knobs(reconfirm_boost=0.1).reconfirm_boost
    0.1
    """

    session_half_life_days = _knob(3.0, ABOVE_ZERO, "Running days in which a session percept's w halves.")
    global_half_life_days = _knob(
        60.0, ABOVE_ZERO, "Running days in which a global percept's w halves towards prune_threshold."
    )
    reconfirm_boost = _knob(0.05, UNIT, "What a restatement adds to w.")
    reconfirm_cap = _knob(0.90, UNIT, "The w that restatements cannot raise a percept above.")
    promote_threshold = _knob(0.80, UNIT, "The w from which a percept may become global.")
    prune_threshold = _knob(
        0.20, UNIT, "The w at which a session percept leaves recall; also the floor of global percepts."
    )
    recency_boost = _knob(0.10, ABOVE_ZERO, "How much of w a percept restated just now gains in rank.")
    recency_half_life_days = _knob(
        30.0, ABOVE_ZERO, "Calendar days since updated_at in which that gain halves."
    )
    global_archive_after_days = _knob(
        14.0, ABOVE_ZERO_OR_NEVER, "Running days unused after which a global percept is archived."
    )
    percept_inject_max = _knob(25, COUNT_OR_NO_LIMIT, "The most percepts injected at once.")
    percept_inject_max_bytes = _knob(
        2048, COUNT_OR_NO_LIMIT, "The most UTF-8 bytes of content injected at once."
    )
    percept_store_max = _knob(0, COUNT, "The most percepts the global store holds after a pass.")
    percept_relevance_gate = _knob(
        True, YES_NO, "Whether a percept must share a content word with the prompt to be injected."
    )
    run_gap_minutes = _knob(120.0, ABOVE_ZERO, "Minutes of silence after which a new run begins.")
    edge_cadence = _knob(PER_PASS, CADENCE, "Whether an edge acts at every pass or once a run.")
    restatement_similarity = _knob(
        0.60, UNIT, "The Jaccard similarity of content words from which a fact may restate another."
    )

    def __init__(self, **values: Value) -> None:
        for name, knob in KNOBS.items():
            setattr(self, name, values.pop(name, knob.default))
        if values:
            raise TypeError(f"no such knob: {', '.join(values)}")


KNOBS: dict[str, Knob] = {name: knob for name, knob in vars(Knobs).items() if isinstance(knob, Knob)}
