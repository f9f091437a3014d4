"""Which language a text is in, told by its script, its words and its letters."""

from .identify import UNKNOWN, Guess, among, guess, identify, outside

__all__ = ["UNKNOWN", "Guess", "among", "guess", "identify", "outside"]
