"""Split paragraphs into sentences, in any language and with a choice of splitters. Only whitespace is lost."""

from .lower_case import is_lower_cased
from .split import split_sentences
from .splitters import Splitter, splitter

__all__ = ["Splitter", "is_lower_cased", "split_sentences", "splitter"]
