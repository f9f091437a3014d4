"""Read what users have: Wikipedia dumps, books and other text become pages, paragraphs and named rejects."""

from ..config.inputs import ARCHIVES, DELIMITED, INPUTS, PLAIN, TABLES

__all__ = ["ARCHIVES", "DELIMITED", "PLAIN", "SUFFIXES", "TABLES"]

SUFFIXES = {name: each.suffixes for name, each in INPUTS.items()}  # what each source reads, by the option that names it
