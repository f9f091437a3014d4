"""Split paragraphs into sentences, in any language and with a choice of splitters. Only whitespace is lost."""

from .split import split_sentences
from .splitters import Splitter, packages, splitter, user_functions

__all__ = ["Splitter", "user_functions", "packages", "split_sentences", "splitter"]
