"""Paragraphs become sentences, in any language, and nothing but white space is lost; who splits them can be chosen."""

from .choose import Splitter, own_functions, packages, splitter
from .rules import split_sentences

__all__ = ["Splitter", "own_functions", "packages", "split_sentences", "splitter"]
