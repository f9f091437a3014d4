"""Count the words of sentences for training WordPiece, as BERT's normalizer and pre-tokenizer make them.

Sentences are first cut into parts at whitespace and around punctuation and Chinese characters, like `tokenizers`. The library
then processes each distinct part once, which produces the same words much faster.

>>> from bertdata.tokens.vocab import SPECIAL, Vocabulary
>>> tokenizer = Vocabulary(list(SPECIAL), lowercase=True, strip_accents=True).tokenizer()
>>> sorted(count_words(["Tea, tea", "TEA!"], tokenizer).items())
[('!', 1), (',', 1), ('tea', 3)]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from tokenizers import Tokenizer

__all__ = ["count_parts", "count_words", "parts_to_words"]

_ALONE = r"!-/:-@\[-`{-~\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # punctuation of ASCII, and Chinese characters
_PART = re.compile(rf"[^ \t\n\r{_ALONE}]+|[{_ALONE}]")


def count_parts(sentences: Iterable[str]) -> Counter[str]:
    """Count the parts of sentences; counts of several calls may be added up before they become words."""
    counts: Counter[str] = Counter()
    for sentence in sentences:
        counts.update(_PART.findall(sentence))
    return counts


def count_words(sentences: Iterable[str], tokenizer: Tokenizer) -> Counter[str]:
    """Count the words of sentences."""
    return parts_to_words(count_parts(sentences), tokenizer)


def parts_to_words(parts: Counter[str], tokenizer: Tokenizer) -> Counter[str]:
    """Turn counted parts into counted words, as the tokenizer's normalizer and pre-tokenizer make them."""
    words: Counter[str] = Counter()
    normalize, cut = tokenizer.normalizer.normalize_str, tokenizer.pre_tokenizer.pre_tokenize_str
    for part, count in parts.items():
        for word, _ in cut(normalize(part)):
            words[word] += count
    return words
