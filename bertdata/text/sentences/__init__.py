"""Split paragraphs into sentences, in any language and with a choice of splitters. Only whitespace is lost."""

from .split import split_sentences
from .splitters import Splitter, own_functions, packages, splitter

__all__ = ["Splitter", "own_functions", "packages", "split_sentences", "splitter"]
