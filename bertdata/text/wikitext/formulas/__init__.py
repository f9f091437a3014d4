"""Formulas of a page: write them as Unicode text or TeX, or drop them, with or without their sentences."""

from .chemistry import chemical_parts
from .holes import drop_sentences
from .layout import root
from .modes import CHOICES, Formulas
from .scripts import figures_of_tags
from .tex import tex_to_text

__all__ = ["CHOICES", "Formulas", "chemical_parts", "drop_sentences", "figures_of_tags", "root", "tex_to_text"]
