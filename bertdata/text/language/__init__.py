"""Detect the language of a text by its script, its words and its letters, and its script by its letters."""

from .identify import UNKNOWN, Guess, among, guess, identify, identify_all, outside

__all__ = ["UNKNOWN", "Guess", "among", "guess", "identify", "identify_all", "outside"]
