"""Words, negators and figures, what restates what, and what a query hits (sections 11 to 13)."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milkmem import words
from milkmem.words import (
    DIFFERENT,
    NEGATION,
    RESTATEMENT,
    Found,
    Index,
    Query,
    Reading,
    find,
    find_hits,
    find_sharing,
    fold,
    hits,
    read,
    shares_a_word,
    similarity,
    verdict,
)

DATA = Path(__file__).parent / "data"
DEFAULT = 0.60
QUICK = settings(deadline=None, derandomize=True, max_examples=120)


def table(name: str) -> list[Any]:
    """Return the pairs of one table, each named."""
    pairs = tomllib.loads((DATA / "words" / f"{name}.toml").read_text(encoding="utf-8"))["pair"]
    return [pytest.param(pair["a"], pair["b"], pair["verdict"], id=pair["name"]) for pair in pairs]


def milk_pairs() -> list[dict[str, Any]]:
    """Return the pairs with milk's similarity."""
    pairs: list[dict[str, Any]] = json.loads((DATA / "milk" / "dedup_pairs.json").read_text(encoding="utf-8"))
    return pairs


# Folding and words


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("", ""),
        (" \t\n ", ""),
        ("  The  API\n", "the api"),
        ("a\u00a0b\u3000c", "a b c"),
        ("Don\u2019t", "don't"),
        ("ＡＰＩ ２", "api 2"),
        ("Straße", "strasse"),
        ("\u0130zmir", "izmir"),
        ("cafe\u0301", "caf\u00e9"),
        ("\u26a0\ufe0f \u2714\ufe0e", "\u26a0 \u2714"),
        ("wait…", "wait..."),
    ],
)
def test_fold(text: str, folded: str) -> None:
    """S2: folding is NFKC, case folding, white-space folding, and plain apostrophes for typographic ones."""
    assert fold(text) == folded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("!? -- …", []),
        ("The build, the BUILD", ["the", "build", "the", "build"]),
        ("snake_case-name/path.py", ["snake", "case", "name", "path", "py"]),
        ("the user's editor", ["the", "user", "s", "editor"]),
        ("rock'n'roll", ["rock", "n", "roll"]),
        ("DON\u2019T isn't 'can't' couldn't've", ["don't", "isn't", "can't", "couldn't", "ve"]),
        ("nul\0and\1one don't", ["nul", "and", "one", "don't"]),
        ("nul\1é\0ê don't", ["nul", "é", "ê", "don't"]),
        ("naïveté", ["naïveté"]),
        ("ज्वार के आँकड़े", ["ज्वार", "के", "आँकड़े"]),
        ("x\u0302 y", ["x\u0302", "y"]),
        ("\u0301 \u0301a", ["a"]),
        ("tide\u200btable tide\u00adtable", ["tide", "table", "tide", "table"]),
        ("5\ufe0f\u20e3 b", ["5", "b"]),
        ("東", ["東"]),
        ("東京", ["東京"]),
        ("東京都庁", ["東京", "京都", "都庁"]),
        ("東京、都。庁", ["東京", "都", "庁"]),
        ("潮汐APIは4100を", ["潮汐", "api", "は", "4100", "を"]),
        ("テスト・サーバー", ["テス", "スト", "サー", "ーバ", "バー"]),
        ("㐀𠀀々〇ㄅ", ["㐀𠀀", "𠀀々", "々〇", "〇ㄅ"]),
        ("a々々々", ["a", "々々", "々々"]),
        ("か\u309a\u304d", ["か\u309a", "\u309aき"]),
        ("조석 자료는", ["조석", "자료는"]),
        ("\ud800a \udfff", ["a"]),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """S2: words are runs of letters, digits and marks, Chinese and Japanese ones overlapping pairs."""
    assert words.words(text) == expected


def test_stop_words() -> None:
    """S2: the stop-words are the rule's, among them neither "no" nor "not"."""
    listed = (
        "a an and are as at be been but by do for from has have he her his i if in is it its me my of on or "
        "our out so that the their them then there they this to up us was we when which who will with you "
        "your"
    )
    assert sorted(words.STOP_WORDS) == sorted(listed.split())
    assert read(listed).content == frozenset()


def is_comparable(pair: dict[str, Any]) -> bool:
    """Return whether milk's similarity of a pair must be ours: ASCII, content words, no negators."""
    negated = read(pair["a"]).negated or read(pair["b"]).negated
    return (pair["a"] + pair["b"]).isascii() and bool(pair["tokens_a"] + pair["tokens_b"]) and not negated


COMPARABLE = [pair for pair in milk_pairs() if is_comparable(pair)]


@pytest.mark.parametrize("pair", COMPARABLE, ids=lambda pair: pair["category"])
def test_similarity_is_milks(pair: dict[str, Any]) -> None:
    """S2: of ASCII texts without negators, words and similarity are milk's."""
    one, other = read(pair["a"]), read(pair["b"])
    assert one.content == set(pair["tokens_a"])
    assert other.content == set(pair["tokens_b"])
    assert similarity(one, other) == pytest.approx(pair["jaccard"], abs=1e-9)


def test_most_pairs_are_comparable() -> None:
    """S2: the comparison with milk leaves out negated, empty and other than ASCII texts, and no more."""
    assert len(milk_pairs()) == 92
    assert len(COMPARABLE) == 55


# Negators and figures


@pytest.mark.parametrize(
    "negator",
    [
        *("no", "not", "never", "none", "nor", "without", "cannot"),
        *("don't", "can't", "won't", "isn\u2019t", "shouldn't", "ain't", "needn't", "n't"),
        *("nicht", "kein", "keine", "keinem", "keinen", "keiner", "keines", "keins", "nie"),
        *("ne faut pas", "n'est pas", "jamais", "nunca", "не", "нет", "никогда"),
        *("不", "没", "沒", "未", "無", "无", "ない", "ません", "않", "안"),
    ],
)
def test_every_negator_counts_once(negator: str) -> None:
    """S2: each negator counts, is no content word, and is told from the text without it."""
    reading = read(f"harbour {negator.upper()} open")
    assert reading.negated == ("open",)
    assert reading.content <= {"harbour", "open", "faut", "est"}
    assert verdict(reading, read("harbour open"), 0.5) == NEGATION


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("open", ()),
        ("no", ("",)),
        ("not the open door", ("open",)),
        ("not never open", ("open", "open")),
        ("open but not", ("",)),
        ("not z, not y", ("y", "z")),
        ("knot cannots nota donut", ()),
        ("dont cant", ()),
        ("can'tx isn't", ("",)),
        ("ne jamais", ("",)),
        ("il ne faut pas faire", ("faire",)),
        ("il n’est pas là", ("là",)),
        ("pas de panique", ()),
        ("ne faut, pas, pas", ("pas",)),
        ("ne faut ne veut pas aller", ("aller",)),
        ("pas ne", ()),
        ("不允许部署", ("允许",)),
        ("部署不允许", ("允许",)),
        ("这样不好", ("好",)),
        ("不，好", ("好",)),
        ("好不 open", ("open",)),
        ("不允许没", ("", "允许")),
        ("not 部署", ("部署",)),
        ("not 不允许部署", ("不允", "允许")),
        ("許可されない", ("",)),
        ("ないので", ("ので",)),
        ("안된다 말", ("된다",)),
        ("안 된다", ("된다",)),
        ("보안 설정", ("설정",)),
        ("하지 않는다", ("는다",)),
        ("안 않는다", ("는다", "않는다")),
        ("naïvn't open", ("open",)),
    ],
)
def test_negated_words(text: str, negated: tuple[str, ...]) -> None:
    """S2: the content word after each negator counts, in any order; within a run, what stands behind it."""
    assert read(text).negated == negated


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ("no figure at all", ()),
        ("a_b - c/d . : +", ()),
        ("4100", ("4100",)),
        ("Port 4100, host 10.", ("4100", "10")),
        ("v1.2.3-RC1; see /api/v2/.", ("v1.2.3-rc1", "/api/v2")),
        ("py3.11: 3.11+", ("py3.11", "3.11+")),
        ("at 10:30:", ("10:30",)),
        ("_1_ 2026-10-28 -5 +5", ("_1", "2026-10-28", "-5", "+5")),
        ("(5) [6] `7` '8'", ("5", "6", "7", "8")),
        (":4100 ::1 a:1", ("4100", "::1", "a:1")),
        ("https://example.org/v2?a=1&b=2", ("https://example.org/v2", "1", "2")),
        (">=2.0 <=2 >2 <2 ==2 !=2 ~=2 =2", (">=2.0", "<=2", ">2", "<2", "==2", "!=2", "~=2", "2")),
        ("a>=2.0 b < 3 >= -4", (">=2.0", "<3", ">=-4")),
        ("a == 1 b != 2 c ~= 3 = 4", ("==1", "!=2", "~=3", "4")),
        (">= many 5", ("5",)),
        ("~5 ^1.2 ±3 ~/v1 ~ 5", ("~5", "^1.2", "±3", "~/v1", "5")),
        ("3 -> 5 => 6 ->7 =>8", ("3", "5", "6", "7", "8")),
        ("≥5 ≤ 6 ≠7 ≧8 ≦9", (">=5", "<=6", "!=7", ">=8", "<=9")),
        ("−5 3–4 5‑6", ("-5", "3-4", "5-6")),
        ("１２ ٣ ४", ("12", "٣", "४")),
        ("½ m² H₂O", ("1", "2", "m2", "h2o")),
        ("测试4100端口", ("4100端",)),
        ("测试 4100 端口 5 x", ("4100端", "5")),
        ("测试4100，端口:5。", ("4100", "5")),
        ("10ms的", ("10ms",)),
        ("3月4日a", ("3月", "4日")),
        ("制限30초", ("30초",)),
        ("é 5", ("5",)),
    ],
)
def test_figures(text: str, figures: tuple[str, ...]) -> None:
    """S2: figures are runs with a digit, in order, with what compares before, without what ends them."""
    assert read(text).figures == figures


@pytest.mark.parametrize(
    ("one", "other", "expected"), [*table("negation"), *table("figures"), *table("scripts")]
)
def test_verdicts(one: str, other: str, expected: str) -> None:
    """S2, S4: what a text is to another, either way round."""
    assert verdict(read(one), read(other), DEFAULT) == expected
    assert verdict(read(other), read(one), DEFAULT) == expected


def test_threshold() -> None:
    """S2, W3: the similarity must reach the threshold, to within the tolerance of the gates."""
    one, other = read("alpha beta gamma delta"), read("alpha beta gamma epsilon")
    assert similarity(one, other) == 0.6
    assert verdict(one, other, 0.6 + 0.9e-9) == RESTATEMENT
    assert verdict(one, other, 0.6 + 1.1e-9) == DIFFERENT
    assert verdict(read("alpha"), read("beta"), 1e-10) == DIFFERENT


ANY_TEXT = st.text(st.characters(), max_size=40)
# What texts are made of so that they have much in common, and what the short ways must not trip over.
PIECES = (
    *("tests", "run", "Nightly", "port", "report", "the", "of", "a", "4100", "4200", ">= 2", "v1.2", "-5"),
    *("not", "no", "isn't", "don’t", "can'tx", "'t", "ne", "n'", "pas", "jamais", "nicht", "don", "t"),
    *(
        "東京",
        "東京都",
        "東",
        "不",
        "部署不允許",
        "は",
        "ない",
        "안된다",
        "않",
        "не",
        "тест",
        "café",
        "cafe\u0301",
    ),
    *(
        "!!",
        "?",
        "—",
        "…",
        "（ｘ）",
        "\0",
        "\1",
        "\n",
        "\u00a0",
        "⚠️",
        "⚠",
        "x\u0302",
        "\u0301",
        "\ud800",
        "İz",
        "iz",
    ),
)
TEXTS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=4).map("".join),
)


@QUICK
@given(one=st.one_of(ANY_TEXT, TEXTS), other=st.one_of(ANY_TEXT, TEXTS))
def test_similarity_properties(one: str, other: str) -> None:
    """S2: any texts can be compared; similarity and verdict are symmetric, and a text restates itself."""
    left, right = read(one), read(other)
    assert 0.0 <= similarity(left, right) <= 1.0
    assert similarity(left, right) == similarity(right, left)
    assert verdict(left, right, DEFAULT) == verdict(right, left, DEFAULT)
    assert similarity(left, left) == 1.0
    assert verdict(left, read(f" {one}\n"), 1.0) == RESTATEMENT


@QUICK
@given(text=st.one_of(ANY_TEXT, TEXTS))
def test_reading_is_of_the_words(text: str) -> None:
    """S2: content words are among the words, none is a stop-word or a negator, and folding loses none."""
    reading = read(text)
    assert reading.content <= set(words.words(text))
    assert reading.content.isdisjoint(words.STOP_WORDS | words.NEGATORS)
    assert read(fold(text)).content == reading.content
    assert reading.folded == fold(text)


# Queries and prompts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ("?!", ()),
        ("Tests of the tests", ("tests",)),
        ("is the of the", ("is", "the", "of")),
        ("do not test", ("test",)),
        ("don't", ("don't",)),
        ("not the", ("not", "the")),
        ("東京都 東京", ("東京", "京都")),
        ("ne faut pas", ("faut",)),
    ],
)
def test_query_words(text: str, expected: tuple[str, ...]) -> None:
    """Q1: a query's words are its distinct content words, all its words only if nothing else is left."""
    assert Query(text).words == expected


@pytest.mark.parametrize(
    ("query", "content", "count"),
    [
        ("tests", "Run the TESTS", 1),
        ("tests run", "Run the tests, run", 2),
        ("tests build", "Run the tests", 1),
        ("est", "Run the tests", 1),
        ("es", "Run the tests", 0),
        ("es", "Run es", 1),
        ("don't", "Don’t run", 1),
        ("the", "Other things", 1),
        ("a", "cat", 0),
        ("東京", "Latin only", 0),
        ("東京", "私は東京都に", 1),
        ("東京都", "京都", 1),
        ("東京", "東。京", 0),
        ("猫", "私は猫が好き", 1),
        ("ﬁle", "the FILE", 1),
        ("?!", "why ?! now", 1),
        ("?  !", "why ?\n! now", 1),
        ("？！", "why?!", 1),
        ("?!", "why !?", 0),
        ("", "anything", 1),
        ("", "", 1),
    ],
)
def test_hits(query: str, content: str, count: int) -> None:
    """Q1, case 6: a word hits whole or, from three characters on, inside; without words, the text does."""
    assert hits(Query(query), content) == count
    assert find_hits(Query(query), [content, ""]).get(0, 0) == count


@pytest.mark.parametrize(
    ("prompt", "content", "shares"),
    [
        ("Run the tests", "Tests pass", True),
        ("Run the test", "Tests pass", False),
        ("is it the", "Tests pass", True),
        ("not!", "Tests pass", True),
        ("", "Tests pass", True),
        ("run it", "is it", False),
        ("東京", "Tests pass", False),
        ("東京", "私は東京都に", True),
        ("don", "Don't run", False),
        ("pas", "ne faut pas", False),
        ("pas", "pas à pas", True),
    ],
)
def test_sharing(prompt: str, content: str, shares: bool) -> None:
    """I1, case 6: one equal content word is needed; a prompt of stop-words only lets all pass."""
    assert shares_a_word(read(prompt), content) is shares
    assert find_sharing(read(prompt), [content]) == ({0} if shares else set())


# A whole store at once


def each_in_turn(new: Reading, contents: list[str], threshold: float, limit: int) -> Found:
    """Return what `find` should, by the verdict on one content after the other."""
    readings = [read(content) for content in contents]
    judged = [
        (-similarity(new, reading), at, verdict(new, reading, threshold))
        for at, reading in enumerate(readings)
    ]
    near = sorted(match for match in judged if match[2] != DIFFERENT)
    restates = [(at, -opposite) for opposite, at, is_what in near if is_what == RESTATEMENT]
    if restates:
        return Found([match for match in restates if match[1] == restates[0][1]], [], 0)
    return Found([], [(at, -opposite, is_what) for opposite, at, is_what in near][:limit], len(near))


def told(found: Found) -> Any:
    """Return all that was found."""
    return found.restates, found.conflicts, found.conflict_count


CONTENTS = st.lists(TEXTS, max_size=12)
THRESHOLDS = st.sampled_from((1e-10, 0.2, 0.5, 0.6, 0.8, 1.0))
# The short ways as they are, and those for large stores taken by small ones.
WAYS: tuple[dict[str, float], ...] = (
    {},
    {"_FEW_CANDIDATES": 0, "_WORTH_A_SEARCH": 1.0, "_MANY_WORDS": 2, "_CHUNK": 2, "_FEW_POSITIONS": 3.0},
)


@pytest.mark.parametrize("way", WAYS, ids=["small", "large"])
def test_find(way: dict[str, float]) -> None:
    """S2, S4: the search of a whole store, and of an index, find what asking each content in turn does."""

    @QUICK
    @given(text=TEXTS, contents=CONTENTS, threshold=THRESHOLDS, limit=st.integers(0, 3))
    def holds(text: str, contents: list[str], threshold: float, limit: int) -> None:
        new = read(text)
        expected = told(each_in_turn(new, contents, threshold, limit))
        assert told(find(new, contents, threshold, limit)) == expected
        index = Index()
        for at, content in enumerate(contents):
            index.find(new, threshold, limit)
            assert index.add(read(content)) == at
        assert told(index.find(new, threshold, limit)) == expected

    with pytest.MonkeyPatch.context() as patch:
        for name, value in way.items():
            patch.setattr(words, name, value)
        holds()


@pytest.mark.parametrize("way", WAYS, ids=["small", "large"])
def test_find_hits_and_sharing(way: dict[str, float]) -> None:
    """Q1, I1: the search of a whole store finds what asking each content in turn does."""

    @QUICK
    @given(text=TEXTS, contents=CONTENTS)
    def holds(text: str, contents: list[str]) -> None:
        counts = [hits(Query(text), content) for content in contents]
        assert find_hits(Query(text), contents) == {at: count for at, count in enumerate(counts) if count > 0}
        prompt = read(text)
        sharing = {at for at, content in enumerate(contents) if shares_a_word(prompt, content)}
        assert find_sharing(prompt, contents) == sharing

    with pytest.MonkeyPatch.context() as patch:
        for name, value in way.items():
            patch.setattr(words, name, value)
        holds()


def test_find_in_a_large_store() -> None:
    """S2, S4: among many contents that have most words in common, the right ones are found."""
    fact = "Fact {}: the staging service listens on port {} and reloads its files at midnight"
    contents = [fact.format(at, at + 4000) for at in range(1500)]
    contents += [f"Harbour {at} opens at noon" for at in range(200)]
    index = Index()
    for content in contents:
        index.add(read(content))
    for text, restates, conflicts in (
        (fact.format(77, 9999), [], [77, 0, 1, 2, 3]),
        (fact.format(9999, 9999), [], [0, 1, 2, 3, 4]),
        (fact.format(77, 4077), [77], []),
        ("Harbour 5 opens at noon", [1505], []),
        ("Never open harbour 5", [], []),
    ):
        expected = told(each_in_turn(read(text), contents, DEFAULT, 5))
        assert [at for at, _ in expected[0]] == restates
        assert [at for at, _, _ in expected[1]] == conflicts
        assert expected[2] == (1500 if conflicts else 0)
        assert told(find(read(text), contents, DEFAULT, 5)) == expected
        assert told(index.find(read(text), DEFAULT, 5)) == expected


@pytest.mark.parametrize("way", WAYS, ids=["small", "large"])
def test_find_any_part(way: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    """S2: whichever of the words two texts share, it is their number that counts."""
    for name, value in way.items():
        monkeypatch.setattr(words, name, value)
    some = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
    contents = [" ".join(part) for size in range(1, 7) for part in combinations(some, size)]
    for text in (" ".join(some), " ".join(some[:5]), " ".join((*some, "eta", "theta"))):
        new = read(text)
        assert told(find(new, contents, 0.5, 99)) == told(each_in_turn(new, contents, 0.5, 99))
        # Restatements hide one another: with a figure more, all that are near enough are told.
        new = read(f"{text} 5")
        near = told(find(new, contents, 0.5, 99))
        assert near == told(each_in_turn(new, contents, 0.5, 99))
        assert near[2] > 5


def test_find_most_similar() -> None:
    """S2: of several restatements only the most similar are taken, all that are equally similar."""
    contents = ["alpha beta gamma delta", "Gamma, beta, alpha", "alpha beta", "alpha beta gamma"]
    index = Index()
    for content in contents:
        index.add(read(content))
    new = read("alpha beta gamma")
    assert told(find(new, contents, DEFAULT, 5)) == ([(1, 1.0), (3, 1.0)], [], 0)
    assert told(index.find(new, DEFAULT, 5)) == ([(1, 1.0), (3, 1.0)], [], 0)


def test_find_figures_in_capitals() -> None:
    """S2: figures are compared case-folded in a store too."""
    assert told(find(read("pin the parser to v1.2-rc1"), ["PIN THE PARSER TO V1.2-RC1"], DEFAULT, 5))[0] == [
        (0, 1.0)
    ]


@pytest.mark.parametrize("first", ["a\0b", "a\1b", "é\0ê", "don't", ""])
def test_positions_in_a_store(first: str) -> None:
    """Q1, I1, S2: control characters within a content do not shift those behind it."""
    contents = [first, "harbour", "é harbour", "port"]
    assert find_hits(Query("harbour ox"), contents) == {1: 1, 2: 1}
    assert find_sharing(read("harbour"), contents) == {1, 2}
    assert told(find(read("port"), contents, DEFAULT, 5))[0] == [(3, 1.0)]


def test_ascii_needs_no_tables() -> None:
    """The tables of Unicode are loaded only for a text that is not ASCII."""
    code = (
        "import sys; from milkmem import words; words.find(words.read('a b 5'), ['a b 6'], 0.6, 5);"
        "words.find_hits(words.Query('a'), ['b']); words.find_sharing(words.read('x'), ['x']);"
        "assert 'unicodedata' not in sys.modules; words.read('é'); assert 'unicodedata' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parent.parent)
