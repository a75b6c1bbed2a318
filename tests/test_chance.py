"""Ids and nonces: their form, and that no two are alike."""

from __future__ import annotations

import uuid

from milkmem import chance


def test_ids_are_uuids_of_version_4() -> None:
    """F3: a new percept's id is a UUID v4, in its usual spelling."""
    ids = [chance.new_id() for _ in range(1000)]
    assert len(set(ids)) == len(ids)
    for each in ids:
        parsed = uuid.UUID(each)
        assert (str(parsed), parsed.version, parsed.variant) == (each, 4, uuid.RFC_4122)


def test_nonces_are_six_letters_or_digits() -> None:
    """A nonce is six letters or digits, each as likely as any other."""
    nonces = [chance.new_nonce() for _ in range(4000)]
    assert len(set(nonces)) == len(nonces)
    assert all(
        len(nonce) == 6 and nonce.isascii() and nonce.isalnum() and nonce == nonce.lower() for nonce in nonces
    )
    for place in range(6):
        counts = [
            sum(nonce[place] == letter for nonce in nonces)
            for letter in "abcdefghijklmnopqrstuvwxyz0123456789"
        ]
        assert min(counts) > 50
