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
from collections.abc import Iterable, Iterator

from tokenizers import Tokenizer

__all__ = ["count_parts", "count_words", "parts_to_words"]

PARTS_AT_A_TIME = 1000  # per call of the normalizer, which takes about 60 bytes a character until it is done
BETWEEN = "."  # separator between parts: a separate word that the normalizer produces from no other character
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
    for part, words_of_part in _words(parts, tokenizer):
        for word in words_of_part:
            words[word] += parts[part]
    return words


def _words(parts: Iterable[str], tokenizer: Tokenizer) -> Iterator[tuple[str, list[str]]]:
    """Yield each part with its words. Parts of ASCII letters only change their case; the library is asked about the others."""
    lowercase = tokenizer.normalizer.lowercase
    others = []
    for part in parts:
        if part.isascii() and part.isprintable():
            yield part, [part.lower() if lowercase else part]
        else:
            others.append(part)
    for start in range(0, len(others), PARTS_AT_A_TIME):
        group = others[start : start + PARTS_AT_A_TIME]
        normal = tokenizer.normalizer.normalize_str(BETWEEN.join(group))
        words_of_parts: list[list[str]] = [[]]
        for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(normal):
            if word == BETWEEN:
                words_of_parts.append([])
            else:
                words_of_parts[-1].append(word)
        yield from zip(group, words_of_parts, strict=True)
