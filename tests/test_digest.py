"""The digest of texts that must not be kept."""

from __future__ import annotations

import hashlib

from milkmem.digest import digest

TEXTS = ("", "a", "A", "tests run nightly", "\ud800", "\ud801", "日本", "x" * 100_000)


def test_digests_differ() -> None:
    """S6: different texts have different digests of one form, the same text always the same."""
    digests = {digest(text) for text in TEXTS}
    assert len(digests) == len(TEXTS)
    assert all(len(each) == 16 and set(each) <= set("0123456789abcdef") for each in digests)
    assert [digest(text) for text in TEXTS] == [digest(text) for text in TEXTS]


def test_it_is_the_library_s() -> None:
    """S6: the digest is BLAKE2b of the text in UTF-8, as the standard library has it."""
    assert digest("tests") == hashlib.blake2b(b"tests", digest_size=8).hexdigest()
