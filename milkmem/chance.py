"""What is drawn by chance: the only module that asks the system for random bytes for the memory's sake."""

from __future__ import annotations

import os

NONCE_LENGTH = 6
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def new_id() -> str:
    """Return a UUID of version 4; `uuid` itself takes longer to import than a whole pass."""
    digits = bytearray(os.urandom(16))
    digits[6] = digits[6] & 0x0F | 0x40
    digits[8] = digits[8] & 0x3F | 0x80
    text = digits.hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def new_nonce() -> str:
    """Return letters and digits that nobody can guess in the time of a session."""
    drawn = int.from_bytes(os.urandom(16), "big")
    return "".join(_LETTERS[drawn // len(_LETTERS) ** place % len(_LETTERS)] for place in range(NONCE_LENGTH))
