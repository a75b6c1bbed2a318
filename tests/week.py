"""A week of an agent's events through the real program, beside a model of what they must leave.

The model takes from the run records only when things happened. What then follows is worked out here, by hand
for sittings, Δt, recording and use, and by `naive` for the pass; it shares nothing with the package.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hooking import CLAUDE_CODE, CODEX, Agent
from naive import listed, naive_pass, parse_instant

if TYPE_CHECKING:
    from program import Program

    Json = dict[str, Any]

KNOBS: Json = {
    "session_half_life_days": 3.0,
    "global_half_life_days": 60.0,
    "reconfirm_boost": 0.05,
    "reconfirm_cap": 0.90,
    "promote_threshold": 0.80,
    "prune_threshold": 0.20,
    "recency_boost": 0.10,
    "recency_half_life_days": 30.0,
    "global_archive_after_days": 14.0,
    "percept_store_max": 0,
    "edge_cadence": "pass",
}
SECOND = 1_000_000_000
MINUTE = 60.0
HOUR = 3600.0
GAP = 2 * HOUR
TURN = 6 * MINUTE
BETWEEN_RUNS = 3 * HOUR
OVER_NIGHT = 13 * HOUR
TOLERANCE = 1e-9

# What the agent says in the runs of each topic; the wordings of a topic restate each other and are no echoes.
WORDINGS = {
    "daily": (
        "The release branch is cut on Tuesday",
        "On Tuesday the release branch is cut",
        "Cut the release branch on Tuesday",
        "It is Tuesday when the release branch is cut",
    ),
    "some": (
        "Integration tests need a running database",
        "A running database is what integration tests need",
        "Integration tests: need running database",
        "For integration tests you need a running database",
    ),
    "chatty": ("Logs rotate every midnight",),
    "once": ("@escalation: Invoices come from the old printer",),
    "early": ("Alice owns billing",),
}


class Week:
    """The program at work for some days, and the model of its memory."""

    def __init__(self, program: Program, *, separate: bool) -> None:
        self.program = program
        self.separate = separate
        self.stores: dict[str, Json] = {
            store: {"percepts": [], "edges": []} for store in ("global", "session", "archive")
        }
        self.run: dict[str, set[Any]] = {"awarded": set(), "applied": set()}
        self.sitting: Json = {}
        self.clocks: dict[str, Json] = {}
        self.silence = 0.0
        self.sittings = 0
        self.passes = 0
        self.graduated: dict[str, int] = {}
        self.topics: dict[str, str] = {}  # first wording -> topic
        faint = {"id": "faint", "content": "faint", "producer": "primary", "w": 0.205, "roles": {}}
        faint |= dict.fromkeys(("created_at", "updated_at"), "2026-11-01T08:00:00Z")
        program.write("session", faint)
        self.stores["session"]["percepts"].append(dict(faint))

    def live(self, days: int, runs: int, turns: int) -> None:
        """Live through days of runs of turns, and compare after every event."""
        for day in range(days):
            for run in range(runs):
                self.wait(OVER_NIGHT if run == 0 else BETWEEN_RUNS)
                self._sit(day * runs + run, turns)

    def _sit(self, number: int, turns: int) -> None:
        """Sit through one run: every second one has two sessions of the agent, as after `clear`."""
        self.sittings += 1
        agent = self._begin(number, 0)
        for turn in range(turns):
            if turn == turns // 2 and number % 2 == 1:
                self._end(agent)
                agent = self._begin(number, 1)
            self.wait(TURN)
            self._turn(agent, self._said(number, turn, turns))
        self._end(agent)

    def _said(self, number: int, turn: int, turns: int) -> list[tuple[str, str]]:
        """Return the topics tagged in one turn of a run, each with its wording."""
        said = []
        if turn == 1:
            said += [("daily", number)]
            said += [("some", number // 3)] if number % 3 == 0 else []
            said += [("once", 0)] if number == 2 else []
        if number == 0 and turn < 5:
            said += [("chatty", 0)]
        if number == 0 and turn == turns - 1:
            said += [("early", 0)]
        return [
            (topic, WORDINGS[topic][0 if at == 0 else 1 + at % (len(WORDINGS[topic]) - 1)])
            for topic, at in said
        ]

    def wait(self, seconds: float) -> None:
        """Let time pass: by this process' clocks, or for other processes by making the records older."""
        self.silence += seconds
        if not self.separate:
            self.program.shift += seconds
            return
        path = self.program.data / ".milkmem" / "runs.json"
        if path.exists():
            path.write_text(json.dumps(_older(json.loads(path.read_bytes()), round(seconds * SECOND))))
            self._look()

    # The events

    def _begin(self, number: int, part: int) -> Agent:
        agent = Agent(self.program, (CLAUDE_CODE, CODEX)[number % 2], session=f"s-{number}-{part}")
        agent.separate = self.separate
        context = agent.begin()
        before, at = self.sitting, self._look()
        assert agent.nonce != ""
        assert (before.get("run") != self.sitting["run"]) == (self.silence > GAP) == (part == 0)
        self.silence = 0.0
        if part == 0:
            self.run = {"awarded": set(), "applied": set()}
        for store in ("global", "session"):
            for percept in listed(self.stores[store], "percepts"):
                visible = percept.get("consumer") != "escalation"
                assert (f"\n- {percept['content']}" in context) == visible
                if visible:
                    percept["last_used_at"] = at
                    percept.pop("idle_seconds", None)
        self.compare()
        return agent

    def _turn(self, agent: Agent, said: list[tuple[str, str]]) -> None:
        agent.note(*(wording for _, wording in said))
        self._pass(said)

    def _end(self, agent: Agent) -> None:
        agent.end()
        self._pass([])

    # The model

    def _pass(self, said: list[tuple[str, str]]) -> None:
        before, at = self.clocks, self._look()
        self.silence = 0.0
        elapsed = {}
        since = parse_instant(before["global"]["at"] if "global" in before else self.sitting["started"]["at"])
        for store in ("global", "session"):
            begun = self.sitting["started"] if store == "global" else self.sitting["named"][store]
            last = max(begun["monotonic"], before[store]["monotonic"] if store in before else 0)
            elapsed[store] = (self.clocks[store]["monotonic"] - last) / SECOND
        for topic, wording in said:
            self._record(topic, wording, at)
        was = {percept["id"] for percept in listed(self.stores["global"], "percepts")}
        result = naive_pass(self.stores, KNOBS, self.run, parse_instant(at), since, elapsed, "session")
        self.stores, self.run = result.stores, result.run
        for percept in listed(self.stores["global"], "percepts"):
            if percept["id"] not in was:
                self.graduated[percept["id"]] = self.sittings
        self.passes += 1
        self.compare()

    def _record(self, topic: str, wording: str, at: str) -> None:
        for store in ("global", "session"):
            for percept in listed(self.stores[store], "percepts"):
                if percept["id"] == topic:
                    percept["w"] = max(percept["w"], min(percept["w"] + 0.05, 0.9))
                    percept["updated_at"] = at
                    if topic not in self.run["awarded"]:
                        percept["evidence"] = percept.get("evidence", 0) + 1
                        self.run["awarded"].add(topic)
                    return
        address, colon, rest = wording.partition(":")
        consumer = address[1:] if colon and address.startswith("@") else ""
        content = rest.strip() if consumer else wording
        made: Json = {"id": topic, "content": content, "producer": "primary", "w": 0.7, "updated_at": at}
        if consumer:
            made["consumer"] = consumer
        listed(self.stores["session"], "percepts").append(made)
        self.topics[content] = topic

    def _look(self) -> str:
        """Read when things happened; return the instant of the last event."""
        record = json.loads((self.program.data / ".milkmem" / "runs.json").read_bytes())
        self.sitting, self.clocks = record["sitting"], record["clocks"]
        return str(record["sitting"]["active"]["at"])

    def compare(self) -> None:
        """Assert that the files hold what the model says."""
        for store, document in self.stores.items():
            expected = {percept["content"]: percept for percept in listed(document, "percepts")}
            found = {percept["content"]: percept for percept in self.program.facts(store).values()}
            assert list(found) == list(expected) or store != "session", store
            assert found.keys() == expected.keys(), (store, self.passes)
            for content, percept in found.items():
                other = expected[content]
                assert abs(percept["w"] - other["w"]) <= TOLERANCE, (content, self.passes)
                for field in ("evidence", "consumer", "last_used_at", "updated_at", "core"):
                    assert percept.get(field) == other.get(field), (content, field, self.passes)
                idle = percept.get("idle_seconds", 0) - other.get("idle_seconds", 0)
                assert abs(idle) <= TOLERANCE * max(1.0, other.get("idle_seconds", 0)), (content, self.passes)

    def evidence(self, topic: str) -> int:
        """Return a topic's evidence as the files have it."""
        for store in ("global", "session", "archive"):
            for percept in self.program.facts(store).values():
                if self.topics.get(percept["content"]) == topic:
                    return int(percept.get("evidence", 0))
        raise LookupError(topic)


def _older(record: Any, nanoseconds: int) -> Any:
    """Return a run record in which everything happened so much earlier; stored instants stay."""
    if isinstance(record, dict):
        aged = {key: _older(value, nanoseconds) for key, value in record.items()}
        for clock in ("monotonic", "wall"):
            if type(record.get(clock)) is int:
                aged[clock] = record[clock] - nanoseconds
        return aged
    return record


def whole_week(program: Program, *, separate: bool) -> Week:
    """Live through five days of three runs of twenty turns, and assert what the issue asks for."""
    week = Week(program, separate=separate)
    week.live(5, 3, 20)
    assert (week.sittings, week.passes) == (15, 15 + 7 + 15 * 20)
    # Tagged once in each run: global in the fourth, with the evidence of the runs after the first.
    assert week.graduated["daily"] == 4
    assert week.evidence("daily") == 14
    assert set(week.graduated) == {"daily"}
    # Tagged five times in one sitting: one award, and never global.
    assert week.evidence("chatty") == 1
    assert week.evidence("some") == 4
    assert [percept["content"] for percept in program.facts("archive").values()] == ["faint"]
    return week
