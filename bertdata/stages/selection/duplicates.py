"""Detect identical texts by hash.

Two texts are identical if their words are, ignoring case and whitespace. A document is compared as one sequence of words, so
boundaries of paragraphs and sentences do not matter either.

    >>> fingerprint(normal("The  Tide\\nturns.")) == fingerprint(normal("the tide turns."))
    True
"""

from __future__ import annotations

import hashlib

HASH_BYTES = 16
MIN_PARAGRAPH_CHARS = 100  # minimum characters of a paragraph that must not repeat: shorter ones recur by chance


def normal(text: str) -> str:
    """Normalize a text for comparison: lower case, with one space between words.

    >>> normal(" The tide\\tTURNS. ")
    'the tide turns.'
    """
    lower = text.lower()
    if lower.isprintable() and "  " not in lower:  # a space is the only printable whitespace; splitting takes much longer
        return lower.strip()
    return " ".join(lower.split())


def fingerprint(text: str) -> bytes:
    """Hash a text to `HASH_BYTES` bytes."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES).digest()
