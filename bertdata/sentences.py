"""Paragraphs become sentences."""

from __future__ import annotations

__all__ = ["split_sentences"]


def split_sentences(paragraph: str, language: str = "en") -> list[str]:
    """Split a paragraph into its sentences; nothing is lost but white space."""
    from sentencex import segment

    found = [sentence for part in segment(language or "en", paragraph) if (sentence := part.strip())]
    if "".join("".join(found).split()) != "".join(paragraph.split()):
        return [paragraph.strip()] if paragraph.strip() else []
    return found
