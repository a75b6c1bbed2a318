"""What holds for every memory: properties of the pass, of recall and of recording, each with its clause."""

from __future__ import annotations

import copy
import random
from itertools import pairwise
from typing import Any

from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

from builders import DAY, NOW, WORK, document, edge, memory, moment, percept, recorder, run
from memories import Case, knob_sets, percepts, random_case, seconds, weights
from milkmem import rules
from milkmem.consolidate import Elapsed, Report, consolidate
from milkmem.knobs import Knobs
from milkmem.memory import Memory
from milkmem.percept import ARCHIVE, GLOBAL, OLD_NAMES, evidence, is_core, weight
from milkmem.recall import in_rank_order, inject, is_visible, mark_used, one_line, query
from milkmem.remember import Fact
from milkmem.runs import Book, Run, elapsed, passed, touch

QUICK = settings(deadline=None, derandomize=True, max_examples=60)
# A whole case is made from one seed: many different ones in little time, but nothing to shrink.
WHOLE = settings(QUICK, max_examples=100, phases=[Phase.explicit, Phase.generate])
SEEDS = st.integers(0, 2**32 - 1)
CASES = SEEDS.map(lambda seed: random_case(random.Random(seed), 6))
CLASHES = SEEDS.map(lambda seed: random_case(random.Random(seed), 6, clashes=True))
TOLERANCE = 1e-9
KNOWN = Knobs()


class Setting:
    """A random memory as the package takes it, with its knobs, run and Δt."""

    def __init__(self, case: Case) -> None:
        files = copy.deepcopy(case.stores)
        files[case.session_name] = files.pop("session")
        self.case = case
        self.memory = Memory(files, case.session_name, lambda store: None)  # type: ignore[arg-type]
        self.knobs = Knobs(**case.knobs)
        self.run = Run("run", False, moment(0, at=case.since))
        self.run.awarded = set(case.run["awarded"])
        self.run.applied = set(case.run["applied"])

    def do(self, elapsed: Elapsed | None = None, since: int | None = None) -> Report:
        """Do one pass, by default after the case's own Δt."""
        given_elapsed = Elapsed(self.case.elapsed["global"], self.case.elapsed["session"])
        return consolidate(
            self.memory,
            self.knobs,
            self.run,
            now=self.case.now,
            global_since=self.case.since if since is None else since,
            elapsed=given_elapsed if elapsed is None else elapsed,
        )

    def edgeless(self) -> Setting:
        """Take all edges out."""
        for store in self.memory.files:
            self.memory.remove_edges(store, lambda edge: True)
        self.memory.changed.clear()
        return self

    def by_id(self) -> dict[str, Any]:
        """Return every percept by its id, with the store it is in."""
        return {
            each["id"]: (store, each) for store in self.memory.files for each in self.memory.percepts(store)
        }


# The pass


@WHOLE
@given(CASES)
def test_w_stays_a_weight(case: Case) -> None:
    """Section 1, F7: whatever a pass writes as w is in [0,1]."""
    setting = Setting(case)
    before = copy.deepcopy(setting.by_id())
    report = setting.do()
    for name, (_, each) in setting.by_id().items():
        assert 0 <= each["w"] <= 1 or before[name][1] == each
    assert all(0 <= change[key] <= 1 for change in report.changes for key in ("w_before", "w_after"))


@QUICK
@given(weights(), st.floats(1e-9, 365 * DAY), knob_sets())
def test_decay_never_raises(w: float, running: float, knobs: dict[str, Any]) -> None:
    """D1, D2: decay never raises a weight, takes none below 0, and no global below the floor."""
    known = Knobs(**knobs)
    before = weight(percept("a", w))
    floor = known.prune_threshold
    assert 0 <= rules.decay(before, rules.session_halving(running, known), 0.0) <= before
    assert min(before, floor) <= rules.decay(before, rules.global_halving(running, known), floor) <= before


@WHOLE
@given(CASES)
def test_time_alone_never_raises(case: Case) -> None:
    """D1, D2: without edges a pass raises no weight, and of core it changes none."""
    setting = Setting(case).edgeless()
    before = {name: (each["w"], weight(each)) for name, (_, each) in setting.by_id().items()}
    setting.do()
    for name, (store, each) in setting.by_id().items():
        assert weight(each) <= before[name][1]
        if is_core(each) and store == case.session_name:
            assert each["w"] == before[name][0]


@WHOLE
@given(CASES, st.randoms(use_true_random=False))
def test_order_is_irrelevant(case: Case, rng: Any) -> None:
    """E1, W2: the order of percepts and of edges changes nothing, to the last bit."""
    one, other = Setting(case), Setting(case)
    for store in other.memory.files:
        for listed in (other.memory.percepts(store), other.memory.edges(store)):
            rng.shuffle(listed)
    reports = one.do(), other.do()
    assert reports[0].counts == reports[1].counts
    assert one.by_id() == other.by_id()
    assert one.run.to_json() == other.run.to_json()
    assert one.memory.changed == other.memory.changed
    assert sorted(map(str, reports[0].changes)) == sorted(map(str, reports[1].changes))
    assert _edges(one.memory) == _edges(other.memory)


def _edges(kept: Memory) -> dict[str, list[str]]:
    return {
        store: sorted(str(sorted(each.items(), key=str)) for each in kept.edges(store))
        for store in kept.files
    }


@WHOLE
@given(CASES)
def test_no_time_no_edges(case: Case) -> None:
    """D3, C2: at Δt = 0 and without edges, what one pass leaves the next one leaves alone."""
    setting = Setting(case).edgeless()
    setting.do(Elapsed(0.0, 0.0))
    setting.memory.changed.clear()
    before = copy.deepcopy(setting.memory.files)
    report = setting.do(Elapsed(0.0, 0.0))
    assert setting.memory.changed == set()
    assert setting.memory.files == before
    assert {name for name, count in report.counts.items() if count} <= {"promotion_deferred"}


@QUICK
@given(st.lists(percepts(), max_size=6), st.lists(percepts(place="global"), max_size=6))
def test_no_time_changes_nothing(in_session: list[Any], in_global: list[Any]) -> None:
    """D3: at Δt = 0 a memory in which nothing is due is left as it is, a w out of range too."""
    for number, each in enumerate(in_session + in_global):
        each["id"] = f"p{number}"
    in_session = [each for each in in_session if not rules.is_pruned(each, KNOWN)]
    in_session = [each for each in in_session if not rules.strong_enough(each, KNOWN)]
    in_global = [each for each in in_global if not rules.is_stale(each, KNOWN)]
    kept = memory(in_global, in_session)
    before = copy.deepcopy(kept.files)
    report = consolidate(kept, KNOWN, run(), now=NOW, global_since=0, elapsed=Elapsed(0.0, 0.0))
    assert kept.files == before
    assert kept.changed == set()
    assert set(report.counts.values()) == {0}


@QUICK
@given(weights(), weights(), seconds(), st.lists(st.floats(0.0, 1.0), min_size=1, max_size=4))
def test_splitting(in_session: float, in_global: float, running: float, cuts: list[float]) -> None:
    """D3: splitting a Δt into parts changes nothing, to 1e-9, wherever it is split."""
    known = Knobs(global_archive_after_days=-1.0, promote_threshold=1.0, prune_threshold=0.2)
    at = [0.0, *sorted(running * cut for cut in cuts), running]
    assume(in_session != 1 and in_session <= 1)
    left = []
    for parts in ([running], [later - earlier for earlier, later in pairwise(at)]):
        kept = memory([percept("g", in_global)], [percept("s", in_session)])
        for part in parts:
            consolidate(kept, known, run(), now=NOW, global_since=0, elapsed=Elapsed(part, part))
        if kept.percepts(WORK):
            left.append([weight(kept.percepts(WORK)[0]), weight(kept.percepts(GLOBAL)[0])])
        else:
            left.append([weight(kept.percepts(GLOBAL)[0])])
    assert len(left[0]) == len(left[1])
    assert all(abs(one - other) < TOLERANCE for one, other in zip(*left, strict=True))


@WHOLE
@given(CASES)
def test_nothing_is_lost(case: Case) -> None:
    """A3, F5: a pass loses no percept and doubles none; what leaves recall is in the archive."""
    setting = Setting(case)
    before = sorted(setting.by_id())
    setting.do()
    after = [each["id"] for store in setting.memory.files for each in setting.memory.percepts(store)]
    assert sorted(after) == before


@WHOLE
@given(CASES)
def test_one_evidence_a_run(case: Case) -> None:
    """E2: however many passes a run does, no percept gains more than one evidence in it."""
    setting = Setting(case)
    before = {name: evidence(each) for name, (_, each) in setting.by_id().items()}
    known = set(setting.run.awarded)
    for _ in range(3):
        setting.do()
    gained = {name: evidence(each) - before[name] for name, (_, each) in setting.by_id().items()}
    assert set(gained.values()) <= {0, 1}
    assert {name for name, more in gained.items() if more} == setting.run.awarded - known


@WHOLE
@given(CASES)
def test_cap_of_the_store(case: Case) -> None:
    """A2: after a pass the global store is within its cap, or all of it is core."""
    setting = Setting(case)
    setting.do()
    left = setting.memory.percepts(GLOBAL)
    most = setting.knobs.percept_store_max
    assert most == 0 or len(left) <= most or all(is_core(each) for each in left)


@WHOLE
@given(CLASHES)
def test_healing(case: Case) -> None:
    """Z3: after healing every id is in one file, no live copy is lost, and healing again changes nothing."""
    setting = Setting(case)
    kept = setting.memory
    live = {each["id"]: copy.deepcopy(each) for store in kept.live() for each in kept.percepts(store)}
    kept.heal()
    ids = [each["id"] for store in kept.files for each in kept.percepts(store)]
    assert len(ids) == len(set(ids))
    assert {each["id"]: each for store in kept.live() for each in kept.percepts(store)} == live
    kept.changed.clear()
    kept.heal()
    assert kept.changed == set()


# Running time


@QUICK
@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from(("s1", "s2")), st.floats(0.0, 7200.0), st.booleans()),
        max_size=20,
    )
)
def test_running_time_counts_once(turns: list[tuple[int, str, float, bool]]) -> None:
    """R4: whatever runs and sessions overlap, no store is given more running time than went by."""
    book = Book()
    runs: dict[int, Run] = {}
    now = 0.0
    sums = {GLOBAL: 0.0, "s1": 0.0, "s2": 0.0}
    for which, session, gap, is_pass in turns:
        now += gap
        at = moment(now)
        of = runs.setdefault(which, Run(f"run-{which}", False, at))
        touch(book, of, session, at, 120.0)
        if is_pass:
            for store in (GLOBAL, session):
                seconds_, was_cut = elapsed(book, of, store, at)
                assert seconds_ >= 0
                assert not was_cut or seconds_ == DAY
                sums[store] += seconds_
            passed(book, session, at)
    assert all(total <= now + 1e-6 for total in sums.values())


# Rank


@QUICK
@given(st.lists(percepts(), max_size=12), knob_sets(), st.integers(-400, 400))
def test_rank_order(found: list[Any], knobs: dict[str, Any], days: int) -> None:
    """W1, W2: the order is that of a plain sort by rank_score, highest first, then id, for every instant."""
    known = Knobs(**knobs)
    now = NOW + days * 86_400 * 10**9
    for number, each in enumerate(found):
        each["id"] = f"p{(number * 7) % 12:02d}"
    pairs = [(each, WORK) for each in found]
    plain = sorted(pairs, key=lambda pair: (-rules.rank_score(pair[0], now, known), pair[0]["id"]))
    assert list(in_rank_order(pairs, now, known)) == plain
    assert list(in_rank_order(pairs[::-1], now, known)) == plain
    for each, most in zip(found, rules.most_rank_scores(found, known), strict=True):
        assert 0 <= rules.rank_score(each, now, known) <= most


@QUICK
@given(st.integers(1, 100), st.integers(1, 200), st.integers(0, 5), st.permutations("abcd"))
def test_ties_by_id(w: int, boost: int, had: int, order: list[str]) -> None:
    """W2: equal ranks are ordered by id whatever the knobs: no rounding of a bound comes between them."""
    known = Knobs(recency_boost=boost / 100)
    pairs = [(percept(name, w / 100, evidence=had), WORK) for name in order]
    assert [each["id"] for each, _ in in_rank_order(pairs, NOW, known)] == list("abcd")


# Query

WORDS = st.sampled_from(("tests", "run", "server", "the", "a", "東京", "né", "42"))
TEXTS = st.lists(WORDS, max_size=5).map(" ".join)


@QUICK
@given(
    st.lists(st.tuples(TEXTS, percepts(), st.booleans()), max_size=10),
    TEXTS,
    st.integers(1, 6),
    st.sampled_from((0.0, 0.4, 0.8)),
    st.sampled_from((None, "primary", "escalation")),
)
def test_query_order(
    facts: list[tuple[str, Any, bool]], text: str, limit: int, confidence: float, audience: str | None
) -> None:
    """Q2, Q3: by words hit, then rank, then id; nothing below the gate, nothing hidden uncounted."""
    stores: dict[bool, list[Any]] = {True: [], False: []}
    for number, (content, each, in_global) in enumerate(facts):
        stores[in_global].append({**each, "id": f"p{number:02d}", "content": content})
    kept = memory(stores[True], stores[False])

    def ask(most: int, gate: float) -> Any:
        return query(kept, KNOWN, text, now=NOW, min_confidence=gate, limit=most, audience=audience)

    whole = ask(len(facts) + 1, 0.0)
    keys = [
        (-hits, -rules.rank_score(each, NOW, KNOWN), each["id"])
        for (each, _), hits in zip(whole.percepts, whole.hits, strict=True)
    ]
    assert keys == sorted(keys)
    assert len({key[2] for key in keys}) == len(keys)
    assert all(is_visible(each, audience) for each, _ in whole.percepts)
    got = ask(limit, confidence)
    passing = [pair for pair in whole.percepts if weight(pair[0]) >= confidence - TOLERANCE]
    assert got.percepts == passing[:limit]
    assert got.over_limit == len(passing) - len(got.percepts)
    assert got.below_confidence == len(whole.percepts) - len(passing)


# Who is given what


@QUICK
@given(percepts())
def test_visibility(each: Any) -> None:
    """I1: the table of `--for`, old names and unknown ones included."""
    old: dict[Any, str] = {None: "", **OLD_NAMES}
    producer = old.get(each["producer"], each["producer"])
    consumer = old.get(each.get("consumer"), each.get("consumer"))
    assert is_visible(each, "primary") is (consumer != "escalation")
    assert is_visible(each, "escalation") is (producer != "escalation" and consumer != "primary")
    assert is_visible(each, None)


# Injection

CONTENTS = st.text(st.characters(), max_size=30) | st.sampled_from(
    ("a\nb", "\r\n", "\u2028x", "- x\n[Remembered facts]", "\x85\x0b\x0c\x1c\x1d\x1e", "x" * 40, "é" * 20, "")
)


@QUICK
@given(
    st.lists(st.tuples(CONTENTS, weights()), max_size=12),
    st.one_of(st.just(-1), st.integers(0, 6)),
    st.one_of(st.just(-1), st.integers(0, 90)),
)
def test_budgets(facts: list[tuple[str, float]], most: int, most_bytes: int) -> None:
    """I2, I3: bytes and count keep to the budget; the block has a line a fact and two more, always."""
    kept = memory(
        [percept(f"p{number:02d}", w, content=content) for number, (content, w) in enumerate(facts)]
    )
    got = inject(kept, KNOWN, None, now=NOW, audience=None, most=most, most_bytes=most_bytes)
    size = sum(len(each["content"].encode("utf-8", "surrogatepass")) for each, _ in got.percepts)
    assert got.bytes == size
    assert most_bytes == -1 or size <= most_bytes
    assert most == -1 or len(got.percepts) <= most
    lines = got.block.splitlines()
    assert len(lines) == (len(got.percepts) + 2 if got.percepts else 0)
    assert got.block.split("\n") == (lines or [""])
    assert all(line.startswith("- ") for line in lines[2:])
    left = [pair[0]["id"] for pair in got.dropped]
    assert sorted([each["id"] for each, _ in got.percepts] + left) == [f"p{n:02d}" for n in range(len(facts))]
    assert len(set(left)) == len(left)
    for each, reason in got.dropped:
        rest = most_bytes - got.bytes
        assert reason == "count" or len(each["content"].encode("utf-8", "surrogatepass")) > rest


@QUICK
@given(CONTENTS)
def test_one_line(text: str) -> None:
    """I3: a text becomes one line, as long as it was, in which nothing but blanks is new."""
    line = one_line(text)
    assert len((line + "x").splitlines()) == 1
    assert len(line) == len(text)
    assert all(new in (old, " ") for new, old in zip(line, text, strict=True))
    assert one_line(line) == line


# Use


@WHOLE
@given(CASES, st.sets(st.sampled_from([f"p{number:02d}" for number in range(8)])))
def test_use_never_strengthens(case: Case, used: set[str]) -> None:
    """Section 1, Q3: use changes `last_used_at` and idling of live percepts and nothing else."""
    setting = Setting(case)
    before = copy.deepcopy(setting.by_id())
    mark_used(setting.memory, used, case.now)
    touched = ("last_used_at", "idle_seconds", "w")
    for name, (store, each) in setting.by_id().items():
        old = before[name][1]
        if name in used and store != ARCHIVE:
            assert {k: v for k, v in each.items() if k not in touched} == {
                k: v for k, v in old.items() if k not in touched
            }
            assert weight(each) == weight(old)
            assert "idle_seconds" not in each
        else:
            assert each == old


# Restatement


@QUICK
@given(weights(), st.integers(1, 8), knob_sets(), st.sampled_from((None, 0, 1, 7)), st.booleans())
def test_restatement(w: float, times: int, knobs: dict[str, Any], had: int | None, in_global: bool) -> None:
    """S3: a restatement never lowers w, never passes the cap unless w was above it, and awards once a run."""
    store = GLOBAL if in_global else WORK
    kept = memory()
    kept.files[store] = document([percept("a", w, content="tests run nightly", evidence=had)])
    each = kept.percepts(store)[0]
    before, during = weight(each), run()
    for _ in range(times):
        known = {**knobs, "restatement_similarity": 0.6}
        outcome = recorder(kept, during=during, **known).record(Fact("tests run nightly", "primary"))
        assert outcome.percept is each
        after = each["w"]
        assert before <= after <= max(before, knobs["reconfirm_cap"])
        assert after - before <= knobs["reconfirm_boost"] + TOLERANCE
        before = after
    assert each["evidence"] == (had or 0) + 1
    assert during.awarded == {"a"}


@QUICK
@given(weights(), knob_sets())
def test_restored(w: float, knobs: dict[str, Any]) -> None:
    """G3: a restore never lowers w and leaves it a weight above the prune threshold, if there is any."""
    known = Knobs(**knobs)
    after = rules.restored(weight(percept("a", w)), known)
    assert weight(percept("a", w)) <= after <= 1
    assert after >= min(1.0, known.prune_threshold + known.reconfirm_boost)


# Moves


@WHOLE
@given(CASES, st.sets(st.sampled_from([f"p{number:02d}" for number in range(8)])))
def test_forgetting(case: Case, chosen: set[str]) -> None:
    """G1: what is forgotten is in no file, nor is an edge that touches it; the rest stays as it was."""
    setting = Setting(case)
    before = copy.deepcopy(setting.memory.files)
    setting.memory.forget(chosen)
    for store, old in before.items():
        assert old is not None
        kept = setting.memory
        assert kept.percepts(store) == [
            each for each in old.get("percepts") or [] if each["id"] not in chosen
        ]
        assert kept.edges(store) == [
            each for each in old.get("edges") or [] if each["from"] not in chosen and each["to"] not in chosen
        ]
        assert (kept.files[store] != old) is (store in kept.changed)


@WHOLE
@given(CASES, st.data())
def test_restoring(case: Case, data: st.DataObject) -> None:
    """G3, C2: restoring moves one percept and the edges that became live, and changes no other file."""
    setting = Setting(case)
    names = [each["id"] for each in setting.memory.percepts(ARCHIVE)]
    assume(names)
    chosen = data.draw(st.sampled_from(names))
    ends = data.draw(
        st.lists(st.sampled_from([*sorted(setting.memory.ids()), "ghost"]), min_size=1, max_size=3)
    )
    setting.memory.add_edges(ARCHIVE, [edge(chosen, "derives", end) for end in ends])
    setting.memory.changed.clear()
    before = copy.deepcopy(setting.memory.files)
    setting.memory.restore(chosen)
    assert [each["id"] for each in setting.memory.percepts(ARCHIVE)] == [
        name for name in names if name != chosen
    ]
    for store in setting.memory.files:
        now, old = setting.memory.files[store], before.get(store)
        moved = any(
            ((now or {}).get(key) or []) != ((old or {}).get(key) or []) for key in ("percepts", "edges")
        )
        assert (now != old) is (store in setting.memory.changed) is moved


@WHOLE
@given(CASES)
def test_healthy(case: Case) -> None:
    """Z3: a memory without a doubled percept needs no healing, whatever its edges."""
    kept = Setting(case).memory
    before = copy.deepcopy(kept.files)
    kept.heal()
    assert kept.files == before
    assert kept.changed == set()
