"""Formulas of a page: written as Unicode text or TeX, or left out, alone or with the sentence that they stand in."""

from .chemistry import chemical_parts
from .choose import CHOICES, Formulas
from .holes import drop_sentences
from .layout import root
from .tex import tex_to_text

__all__ = ["CHOICES", "Formulas", "chemical_parts", "drop_sentences", "root", "tex_to_text"]
