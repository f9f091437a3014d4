"""Read Wikipedia dumps, books and other text into pages, paragraphs and rejects with named reasons."""

from ..config.input_kinds import ARCHIVES, DELIMITED, INPUTS, PLAIN, TABLES

__all__ = ["ARCHIVES", "DELIMITED", "PLAIN", "SUFFIXES", "TABLES"]

SUFFIXES = {name: each.suffixes for name, each in INPUTS.items()}  # file suffixes that each source reads, by option name
