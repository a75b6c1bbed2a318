"""Text rules: words, negators and figures, restatements and conflicts, what a query hits (S2, S4, Q1, I1).

Everything here is a pure function of texts. First the rules, for one text or two: `read` takes a text apart,
`similarity` and `verdict` compare two readings, `hits` and `shares_a_word` look at one content. Then the same
questions to a whole store: `find`, `find_hits` and `find_sharing` answer as if each content had been asked,
and `Index` answers as `find` does, for many new facts in a row.
"""

from __future__ import annotations

import re
from itertools import accumulate, islice, repeat

from milkmem.knobs import GATE_TOLERANCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

RESTATEMENT = "restatement"
NEGATION = "negation"
FIGURES = "figures"
DIFFERENT = "different"

_STOP_WORDS = """
a an and are as at be been but by do for from has have he her his i if in is it its me my of on or our out so
that the their them then there they this to up us was we when which who will with you your
"""
_NEGATORS = """
no not never none nor without cannot nicht kein keine keinem keinen keiner keines keins nie jamais nunca
не нет никогда 不 没 沒 未 無 无 ない ません 않 안
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
NEGATORS = frozenset(_NEGATORS.split())
_NT = "n't"
_NE = ("ne", "n")
_PAS = "pas"
# Content words or not, by what else the text says.
_WORDS_IN_CONTEXT = frozenset((*_NE, _PAS))
_NEGATING = NEGATORS | {_PAS}

# Patterns are compiled where they are first used: an ASCII text, which is most, needs few.
# Negators that count inside a word; those in the group are parts of a Hangul word.
_NEGATOR_INSIDE = "[不没沒未無无]|ない|ません|([않안])"
# Chinese and Japanese letters: ideographs, kana, bopomofo, with their marks and variants.
_CJK_RUN = (
    "([\u3005-\u3007\u3021-\u302f\u3031-\u303c\u3041-\u309f\u30a1-\u30fa\u30fc-\u312f\u31a0-\u9fff\uf900-\ufaff"
    "\U0001aff0-\U0001b16f\U00020000-\U0003ffff\U000e0100-\U000e01ef]+)"
)
_FIRST_CJK = "\u3005"
_DIGIT = r"\d"
# The head of an arrow is no comparison; a true one may stand off by a blank.
_COMPARISON = "(?<![-=])[<>]=?|[=!~]="
_LOOSE = ("< ", "> ", "= ")
_APART = f"({_COMPARISON}) "
_FIGURE = rf"({_COMPARISON}|[~^±])?([\w.:/+-]+)"
_FIGURE_END = "_.:/-"
_FIGURE_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2012\u2013\u2212", "-"),
        **dict.fromkeys("≥≧⩾", ">="),
        **dict.fromkeys("≤≦⩽", "<="),
        "≠": "!=",
    }
)

_SHORTEST_FRAGMENT = 3

_APOSTROPHE = "\u2019"
_DOTTED_I = "i\u0307"
_EMOJI_STYLE = "\ufe0f"
_TEXT_STYLE = "\ufe0e"

# Parts the texts of a store where they are searched as one; within a text it parts words.
_BOUND = "\0"
# The apostrophe of an n't form, while every other one is becoming a blank.
_INNER = "\1"
_INNER_NT = "n\1t"
_BLANKS = bytes(
    ord("'") if char == _INNER else ord(char) if char.isalnum() or char == _BOUND else ord(" ")
    for char in map(chr, range(256))
)

# Above so many words, taking every content apart is cheaper than one search for each word.
_MANY_WORDS = 8
# Another search does not pay for so few candidates, nor where the last one left more than this part of them.
_FEW_CANDIDATES = 1000
_WORTH_A_SEARCH = 0.8
_SAMPLE_PARTS = 50
_CHUNK = 1000
# A list of positions that is a smaller part of all than this is kept as it is, a longer one as bits.
_FEW_POSITIONS = 0.001

# What NFKC makes of common characters; an NFKC that has nothing to do is fast.
_PLAIN_FORMS = (
    ("\u2026", "..."),
    ("\u00a0", " "),
    *((chr(ord(char) + 0xFEE0), char) for char in "!(),.:;?~"),
)
_COMPARISONS = "<>=!~^±"


class _Blanks(dict[int, str]):
    """A table for `str.translate`: what is no letter, digit or mark becomes a blank; filled on demand."""

    def __missing__(self, code: int) -> str:
        from unicodedata import category

        char = chr(code)
        kind = category(char)
        self[code] = char if kind[0] in "LN" or kind in ("Mn", "Mc") else " "
        return self[code]


_ANY_BLANKS = _Blanks({ord(_INNER): "'"})


def fold(text: str) -> str:
    """Return the text after NFKC, case folding and white-space folding (S2, S6).

    A typographic apostrophe becomes a plain one. What asks for an emoji's colours is dropped, and so is the
    dot that case folding leaves of a capital dotted i.
    """
    return " ".join(_fold_characters(text).split())


def _fold_characters(text: str) -> str:
    """Return the text folded, but for its white space; every word of it stands in there as it is (S2)."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    folded = normalize("NFKC", text).casefold().replace(_APOSTROPHE, "'").replace(_DOTTED_I, "i")
    return folded.replace(_EMOJI_STYLE, "").replace(_TEXT_STYLE, "")


def words(text: str) -> list[str]:
    """Return the words of a text in order: stop-words, negators and repeats too (S2).

    A run of Chinese or Japanese characters gives its overlapping pairs, one character alone itself. An
    apostrophe parts words, except in an n't form.
    """
    return [word for run in _runs(_fold_characters(text)) for word in _pieces(run)]


def _runs(folded: str) -> list[str]:
    """Return the runs of letters, digits and marks of a text whose characters are folded, in order (S2)."""
    if folded.isascii():
        return _blanked(folded.replace(_BOUND, " ")).split()
    parts = _with_inner(folded).translate(_ANY_BLANKS).split()
    if _may_have_cjk(folded):
        parts = [part for run in parts for part in re.split(_CJK_RUN, run)]
    return [run if run[0].isalnum() else _without_leading_marks(run) for run in parts if _has_letter(run)]


def _blanked(folded: str) -> str:
    """Return a folded ASCII text with a blank for each character that parts words; `_BOUND` stays."""
    return _with_inner(folded).encode().translate(_BLANKS).decode()


def _with_inner(folded: str) -> str:
    if "'" in folded or _INNER in folded:
        return folded.replace(_INNER, " ").replace(_NT, _INNER_NT)
    return folded


def _has_letter(run: str) -> bool:
    """Whether there is a letter or digit: marks alone make no word."""
    return run.isalnum() or any(map(str.isalnum, run))


def _without_leading_marks(run: str) -> str:
    return run.lstrip("".join(char for char in run if not char.isalnum()))


def _pieces(run: str) -> list[str]:
    if len(run) == 1 or not _is_cjk(run):
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]


def _may_have_cjk(text: str) -> bool:
    return max(text) >= _FIRST_CJK


def _is_cjk(word: str) -> bool:
    """Whether a word is of Chinese or Japanese characters, which stand in runs without blanks."""
    return word[0] >= _FIRST_CJK and re.match(_CJK_RUN, word) is not None


class Reading:
    """What a text says, as far as words can tell (S2).

    `content` are its content words; `negated` has, for each negator, the content word after it ("" where
    none follows), sorted; `figures` are in order; `folded` is what texts without content words go by.
    """

    __slots__ = ("content", "figures", "folded", "negated")

    def __init__(
        self, folded: str, content: Iterable[str], negated: Iterable[str], figures: tuple[str, ...]
    ) -> None:
        self.folded = folded
        self.content = frozenset(content)
        self.negated = tuple(sorted(negated))
        self.figures = figures


def read(text: str) -> Reading:
    """Take a text apart; any text will do, an empty one too (S2)."""
    folded = fold(text)
    all_runs = _runs(folded)
    if _is_plain(folded, all_runs):
        return Reading(folded, frozenset(all_runs) - STOP_WORDS, (), _figures(folded))
    content: list[str] = []
    negated: list[str] = []
    waiting = 0
    for of_run, rests in _meanings(all_runs):
        if of_run:
            negated += of_run[:1] * waiting
            waiting = 0
        content += of_run
        negated += [rest for rest in rests if rest != ""]
        waiting += rests.count("")
    negated += [""] * waiting
    return Reading(folded, content, negated, _figures(folded))


def _content_of(folded: str) -> frozenset[str]:
    """Return the content words of a text whose characters are folded: those that `read` finds (S2)."""
    all_runs = _runs(folded)
    if _is_plain(folded, all_runs):
        return frozenset(all_runs) - STOP_WORDS
    return frozenset([word for of_run, _ in _meanings(all_runs) for word in of_run])


def _is_plain(folded: str, all_runs: list[str]) -> bool:
    """Whether every run is a word and none can be a negator, which is so for most texts."""
    return folded.isascii() and "'" not in folded and _NEGATING.isdisjoint(all_runs)


def _meanings(all_runs: list[str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield for each run its content words and, for each negator in it, what of the run stands behind it."""
    paired = _paired(all_runs)
    for at, run in enumerate(all_runs):
        if at in paired:
            yield [], paired[at]
        elif run in NEGATORS or run.endswith(_NT):
            yield [], [""]
        elif run.isascii():
            yield [] if run in STOP_WORDS else [run], []
        else:
            yield [word for word in _pieces(run) if word not in NEGATORS], _rests(run)


def _paired(all_runs: list[str]) -> dict[int, list[str]]:
    """Return where each `ne … pas` stands: one negator, at its `pas`; neither is a word of content."""
    paired: dict[int, list[str]] = {}
    if _PAS not in all_runs:
        return paired
    ne = None
    for at, run in enumerate(all_runs):
        if run in _NE:
            ne = at
        elif run == _PAS and ne is not None:
            paired[ne] = []
            paired[at] = [""]
            ne = None
    return paired


def _rests(run: str) -> list[str]:
    ends = [(found.end(), found[1] is not None) for found in re.finditer(_NEGATOR_INSIDE, run)]
    return [run[end:] if is_hangul else run[end : end + 2] for end, is_hangul in ends]


def _figures(folded: str) -> tuple[str, ...]:
    if re.search(_DIGIT, folded) is None:
        return ()
    if not folded.isascii():
        folded = folded.translate(_FIGURE_SIGNS)
        if _may_have_cjk(folded):
            folded = _without_cjk(folded)
    figures: list[str] = []
    if any(loose in folded for loose in _LOOSE):
        folded = re.sub(_APART, r"\1", folded)
    for part in folded.split():
        if not part.isalpha() and re.search(_DIGIT, part) is not None:
            figures += [
                sign + _without_colon(run.rstrip(_FIGURE_END))
                for sign, run in re.findall(_FIGURE, part)
                if re.search(_DIGIT, run) is not None
            ]
    return tuple(figures)


def _without_cjk(folded: str) -> str:
    """Part figures from Chinese or Japanese around them; one keeps the character behind it, its unit."""
    parts = re.split(_CJK_RUN, folded)
    apart = []
    for before, run in zip(parts[::2], parts[1::2], strict=False):
        figure = before.rstrip()
        apart.append(figure + run[0] if figure[-1:].isdecimal() else before)
    return " ".join([*apart, parts[-1]])


def _without_colon(run: str) -> str:
    return run[1:] if run.startswith(":") and not run.startswith("::") else run


def similarity(one: Reading, other: Reading) -> float:
    """Return the Jaccard similarity of the content words, 0 to 1 (S2).

    Two texts without content words are 1 when equal folded, else 0.
    """
    if not one.content and not other.content:
        return 1.0 if one.folded == other.folded else 0.0
    shared = len(one.content & other.content)
    return shared / (len(one.content) + len(other.content) - shared)


def _is_near(similar: float, threshold: float) -> bool:
    """Whether texts of this similarity are compared further; those that share no word never are."""
    return similar > 0 and similar >= threshold - GATE_TOLERANCE


def verdict(one: Reading, other: Reading, threshold: float) -> str:
    """Return what one text is to the other: `RESTATEMENT`, `NEGATION`, `FIGURES` or `DIFFERENT` (S2, S4).

    `NEGATION` and `FIGURES` are possible conflicts: near matches that fail on negation or on figures.
    """
    if not _is_near(similarity(one, other), threshold):
        return DIFFERENT
    if one.negated != other.negated:
        return NEGATION
    return RESTATEMENT if one.figures == other.figures else FIGURES


class Query:
    """What a query looks for: its distinct words in order, or its folded text where it has none (Q1).

    Stop-words and negators are kept only if nothing else is left.
    """

    __slots__ = ("folded", "words")

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        content = [word for of_run, _ in _meanings(_runs(self.folded)) for word in of_run]
        self.words = tuple(dict.fromkeys(content if content else words(text)))


def _is_fragment(word: str) -> bool:
    """Whether a word hits inside a longer one: from three characters on, or in a run without blanks (Q1)."""
    return len(word) >= _SHORTEST_FRAGMENT or _is_cjk(word)


def hits(query: Query, content: str) -> int:
    """Return how many distinct words of the query hit the content; 0 is no match (Q1).

    A query without words counts 1 where it matches: one with text by its folded text, an empty one always.
    """
    if not query.words:
        return int(query.folded in fold(content))
    folded = _fold_characters(content)
    of_content = _runs(folded)
    return sum(word in (folded if _is_fragment(word) else of_content) for word in query.words)


def shares_a_word(prompt: Reading, content: str) -> bool:
    """Return whether the content has a content word of the prompt; one without any lets all pass (I1)."""
    return not prompt.content or not prompt.content.isdisjoint(_content_of(_fold_characters(content)))


class _Contents:
    """The contents of a store: the ASCII ones folded in one string, the others folded one by one."""

    __slots__ = ("joined", "others", "raw")

    def __init__(self, raw: Sequence[str]) -> None:
        self.raw = raw
        self.others: dict[int, str] = {}
        joined = _join(raw)
        if not joined.isascii():
            others = [at for at, text in enumerate(raw) if not text.isascii()]
            self.others = dict(zip(others, _fold_all([raw[at] for at in others]), strict=True))
            joined = _join([text if text.isascii() else "" for text in raw])
        if joined.count(_BOUND) >= len(raw) > 0:
            joined = _join([text.replace(_BOUND, " ") if text.isascii() else "" for text in raw])
        self.joined = joined.lower()

    def folded(self, at: int) -> str:
        """Return one content with its characters folded."""
        return self.others[at] if at in self.others else self.raw[at].lower()


def _join(texts: Iterable[str]) -> str:
    return f" {_BOUND} ".join(texts)


def _fold_all(texts: list[str]) -> list[str]:
    folded: list[str] = []
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        joined = _BOUND.join(chunk)
        for char, plain in _PLAIN_FORMS:
            joined = joined.replace(char, plain)
        parts = _fold_characters(joined).split(_BOUND)
        folded += parts if len(parts) == len(chunk) else map(_fold_characters, chunk)
    return folded


def _where(needle: str, joined: str) -> list[int]:
    """Return the contents that the needle stands in, by position, once for each time."""
    if not needle.isascii():
        return []
    parts = joined.split(needle)
    parts.pop()
    return list(accumulate(map(str.count, parts, repeat(_BOUND))))


class _Vocabulary:
    """Which contents have a word: ASCII ones by a search for it between two blanks."""

    __slots__ = ("contents", "spaced")

    def __init__(self, contents: _Contents) -> None:
        self.contents = contents
        self.spaced = f" {_blanked(contents.joined)} "

    def having(self, word: str) -> set[int]:
        """Return the contents that have the word, and the others in which it may be one."""
        others = [at for at, folded in self.contents.others.items() if word in folded]
        return {*_where(f" {word} ", self.spaced), *others}

    def rarest_first(self, some_words: Iterable[str]) -> list[str]:
        """Return the words in the order of how often a part of the contents has them."""
        sample = self.spaced[: len(self.spaced) // _SAMPLE_PARTS]
        return sorted(some_words, key=lambda word: (sample.count(f" {word} "), -len(word), word))


def find_hits(query: Query, raw: Sequence[str]) -> dict[int, int]:
    """Return which contents the query hits, by position, and with how many words: `hits` of each (Q1)."""
    if not query.words:
        return {at: 1 for at, text in enumerate(raw) if query.folded in fold(text)}
    contents = _Contents(raw)
    vocabulary = None
    found: dict[int, int] = {}
    for word in query.words:
        if _is_fragment(word):
            others = [at for at, folded in contents.others.items() if word in folded]
            places = {*_where(word, contents.joined), *others}
        else:
            vocabulary = vocabulary or _Vocabulary(contents)
            having = vocabulary.having(word)
            places = {at for at in having if at not in contents.others or word in _runs(contents.others[at])}
        for at in places:
            found[at] = found.get(at, 0) + 1
    return found


def find_sharing(prompt: Reading, raw: Sequence[str]) -> set[int]:
    """Return which contents share a word with the prompt, by position: `shares_a_word` of each (I1)."""
    if not prompt.content:
        return set(range(len(raw)))
    contents = _Contents(raw)
    vocabulary = _Vocabulary(contents)
    places: set[int] = set()
    if len(prompt.content) > _MANY_WORDS:
        lines = vocabulary.spaced.split(_BOUND)
        places.update(at for at, line in enumerate(lines) if not prompt.content.isdisjoint(line.split()))
        places.update(contents.others)
    else:
        for word in prompt.content:
            places |= vocabulary.having(word)
    sure = prompt.content - _WORDS_IN_CONTEXT
    unsure = places.intersection(contents.others) if sure == prompt.content else places
    return places - {
        at
        for at in unsure
        if not _has_one_surely(sure, contents.folded(at))
        and prompt.content.isdisjoint(_content_of(contents.folded(at)))
    }


def _has_one_surely(content_words: Iterable[str], folded: str) -> bool:
    """Whether one of the words stands between blanks, or is a pair in a run: no need to look further then."""
    return any(
        word in folded and (f" {word} " in folded or (len(word) > 1 and _is_cjk(word)))
        for word in content_words
    )


class Found:
    """What a new fact is to those at hand, each named by its position (S2, S4).

    `restates` are the most similar restatements with their similarity, several only if equally similar. Where
    there is none, `conflicts` are the possible conflicts, most similar first, with similarity and reason, no
    more than were asked for; `conflict_count` is how many there are.
    """

    __slots__ = ("conflict_count", "conflicts", "restates")

    def __init__(
        self, restates: list[tuple[int, float]], conflicts: list[tuple[int, float, str]], conflict_count: int
    ) -> None:
        self.restates = restates
        self.conflicts = conflicts
        self.conflict_count = conflict_count


def find(new: Reading, raw: Sequence[str], threshold: float, limit: int) -> Found:
    """Look for the contents that a new fact restates, else for at most `limit` that it may conflict with.

    What a content is to the new fact, its `verdict` says (S2, S4).
    """
    if not new.content:
        return Found([(at, 1.0) for at, text in enumerate(raw) if fold(text) == new.folded], [], 0)
    near = _near(new, _Contents(raw), threshold)
    near.sort(key=lambda match: (-match[1], match[0]))
    restates: list[tuple[int, float]] = []
    for at, similar in near:
        if restates and similar < restates[0][1]:
            break
        if _may_restate(new, raw[at]) and verdict(new, read(raw[at]), threshold) == RESTATEMENT:
            restates.append((at, similar))
    if restates:
        return Found(restates, [], 0)
    conflicts = [(at, similar, verdict(new, read(raw[at]), threshold)) for at, similar in near[:limit]]
    return Found([], conflicts, len(near))


def _may_restate(new: Reading, content: str) -> bool:
    """Whether an ASCII content has the new figures inside: most that do not restate lack one."""
    if not content.isascii():
        return True
    folded = content.lower()
    return all(figure.lstrip(_COMPARISONS) in folded for figure in new.figures)


def _near(new: Reading, contents: _Contents, threshold: float) -> list[tuple[int, float]]:
    """Return which contents are as similar as the threshold asks for, and how similar."""
    vocabulary = _Vocabulary(contents)
    size = len(new.content)
    fewest = _fewest_shared(size, threshold)
    # A content that shares `fewest` of the words has one of any `size - fewest + 1`: look for the rarest.
    searched = size - fewest + 1
    of_new = vocabulary.rarest_first(new.content)
    shared: dict[int, int] = {}
    for word in of_new[:searched]:
        for at in vocabulary.having(word):
            shared[at] = shared.get(at, 0) + 1
    for wanted, word in enumerate(of_new[searched:], 2):
        if len(shared) <= _FEW_CANDIDATES:
            break
        having = vocabulary.having(word)
        counts = ((at, count + (at in having)) for at, count in shared.items())
        worth = len(shared) * _WORTH_A_SEARCH
        shared = {at: count for at, count in counts if count >= wanted}
        if len(shared) > worth:
            break
    near = []
    for at in shared:
        content = _content_of(contents.folded(at))
        common = len(content & new.content)
        similar = common / (size + len(content) - common)
        if _is_near(similar, threshold):
            near.append((at, similar))
    return near


def _fewest_shared(size: int, threshold: float) -> int:
    """Return how many of `size` words a near content shares at least: both together have no fewer."""
    return next((shared for shared in range(1, size) if _is_near(shared / size, threshold)), size)


class _Positions:
    """The positions of the contents that have something in common, given back as the bits of one number."""

    __slots__ = ("bits", "new")

    def __init__(self) -> None:
        self.bits = 0
        self.new: list[int] = []

    def all(self) -> int:
        """Return the bits of all positions; those of a short list are made anew each time, to save memory."""
        if not self.new:
            return self.bits
        bits = self.bits | _bits(self.new)
        if self.bits != 0 or len(self.new) > self.new[-1] * _FEW_POSITIONS:
            self.bits = bits
            self.new = []
        return bits


class _PositionsBy(dict[object, _Positions]):
    """The positions of each of many things; those of a new one are none yet."""

    def __missing__(self, key: object) -> _Positions:
        self[key] = _Positions()
        return self[key]


_NOWHERE = _Positions()


def _bits(positions: list[int]) -> int:
    cells = bytearray(positions[-1] // 8 + 1)
    for at in positions:
        cells[at // 8] |= 1 << at % 8
    return int.from_bytes(cells, "little")


def _positions(bits: int) -> Iterator[int]:
    while bits != 0:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


class Index:
    """The contents at hand, for many new facts in a row: what a fact costs hardly grows with them.

    For each word, the contents that have it are the bits of one number. Adding these numbers up, digit by
    digit, counts the shared words of all contents at once.
    """

    __slots__ = ("_by_folded", "_by_meaning", "_by_size", "_by_word", "_negated")

    def __init__(self) -> None:
        self._by_word = _PositionsBy()
        self._by_size: dict[int, _Positions] = {}
        self._by_meaning = _PositionsBy()
        self._by_folded: dict[str, list[int]] = {}
        self._negated: list[tuple[str, ...]] = []

    def add(self, reading: Reading) -> int:
        """Take a content in and return its position: how many were taken in before it."""
        at = len(self._negated)
        self._negated.append(reading.negated)
        if not reading.content:
            self._by_folded.setdefault(reading.folded, []).append(at)
            return at
        for word in reading.content:
            self._by_word[word].new.append(at)
        self._by_size.setdefault(len(reading.content), _Positions()).new.append(at)
        self._by_meaning[reading.negated, reading.figures].new.append(at)
        return at

    def find(self, new: Reading, threshold: float, limit: int) -> Found:
        """Answer as the function `find` does for the contents taken in (S2, S4)."""
        if not new.content:
            return Found([(at, 1.0) for at in self._by_folded.get(new.folded, ())], [], 0)
        near = self._near(new, threshold)
        same = self._by_meaning.get((new.negated, new.figures), _NOWHERE).all()
        for similar, bits in near:
            if bits & same != 0:
                return Found([(at, similar) for at in _positions(bits & same)], [], 0)
        every = ((at, similar) for similar, bits in near for at in _positions(bits))
        conflicts = [
            (at, similar, FIGURES if self._negated[at] == new.negated else NEGATION)
            for at, similar in islice(every, limit)
        ]
        return Found([], conflicts, sum(bits.bit_count() for _, bits in near))

    def _near(self, new: Reading, threshold: float) -> list[tuple[float, int]]:
        """Return the contents of each similarity that the threshold lets pass, the highest first."""
        size = len(new.content)
        counts = _sum(self._by_word.get(word, _NOWHERE).all() for word in new.content)
        near: dict[float, int] = {}
        for shared in range(_fewest_shared(size, threshold), size + 1):
            sharing = _equal(counts, shared)
            if sharing == 0:
                continue
            for other_size, positions in self._by_size.items():
                bits = sharing & positions.all()
                similar = shared / (size + other_size - shared)
                if bits != 0 and _is_near(similar, threshold):
                    near[similar] = near.get(similar, 0) | bits
        return sorted(near.items(), reverse=True)


def _sum(numbers: Iterable[int]) -> list[int]:
    """Return for each bit how many numbers have it: the binary digits of that count, lowest first."""
    digits: list[int] = []
    for number in numbers:
        carry = number
        for place, digit in enumerate(digits):
            digits[place] = digit ^ carry
            carry &= digit
        if carry != 0:
            digits.append(carry)
    return digits


def _equal(digits: list[int], count: int) -> int:
    """Return the bits for which the digits say this count, which is above 0."""
    if count >> len(digits) != 0:
        return 0
    bits = -1
    for place, digit in enumerate(digits):
        bits &= digit if count >> place & 1 else ~digit
    return bits
