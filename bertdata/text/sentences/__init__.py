"""Split paragraphs into sentences, in any language and with a choice of splitters. Only whitespace is lost."""

from .choose import Splitter, own_functions, packages, splitter
from .rules import split_sentences

__all__ = ["Splitter", "own_functions", "packages", "split_sentences", "splitter"]
