"""Encode documents, and flag the tokens that continue a word, by ``##`` or, in Chinese, by the words that jieba finds.

BERT makes a token of every Chinese character, so its vocabulary does not show that 北京 is a word. Only Chinese documents are
segmented. Other languages, including Japanese, use only ``##``.

    他  读  ##s  北  京  。          tokens of 他读s北京。
    0   0   1    0   1   0           does it continue a word?

A sentence is cut around words of two or more characters, and each part is encoded, with the same tokens as the full sentence:

    parts("他在清華大學讀書。")  ->  [("他在", False), ("清華大學", True), ("讀書", True), ("。", False)]

jieba's dictionary is mostly simplified. Traditional characters are converted one for one with OpenCC's tables, in the text and in
the dictionary, so that 著名 and 看著, 乾隆 and 乾淨 are all found.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..extras import missing_package
from .encode import Encoder

# Characters that BERT sets apart from each other.  No sentence has 1,000 without a mark between them; jieba takes quadratic time.
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_RUN = re.compile(f"{_HAN.pattern}{{2,1000}}")
_CONVERSIONS = ("t2s", "hk2s", "tw2s")  # of OpenCC, to simplified characters: from its standard, of Hong Kong and of Taiwan
_CHINESE = frozenset(["zh", "cdo", "gan", "hak", "lzh", "wuu", "yue"])


def is_chinese(language: str) -> bool:
    """Return True if a language is written in Chinese words, by its code.

    >>> is_chinese("zh-tw"), is_chinese("zh_classical"), is_chinese("ja")
    (True, True, False)
    """
    return language.lower().replace("_", "-").partition("-")[0] in _CHINESE


def packages() -> tuple[Any, Any]:
    """Import jieba and OpenCC. Raise UsageError where one is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jieba 0.42 has escapes that newer Pythons warn of
            import jieba
            import opencc
    except ImportError as error:
        raise missing_package("Chinese words need jieba and OpenCC", "chinese", error) from None
    return jieba, opencc


def parts(sentence: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a Chinese sentence, in order and complete, and of each whether it is a word of several characters."""
    done = 0
    for run in _RUN.finditer(sentence):
        position = run.start()
        for word in _jieba().cut(run[0].translate(_simplified())):
            end = position + len(word)
            if len(word) > 1:
                if done < position:
                    yield sentence[done:position], False
                yield sentence[position:end], True
                done = end
            position = end
    if done < len(sentence):
        yield sentence[done:], False


def encode_words(
    encoder: Encoder, languages: Sequence[str], documents: Sequence[Sequence[str]]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return all ids [T], where each sentence ends [S], and which tokens continue a word [T]."""
    cut: list[tuple[str, bool]] = []
    counts: list[int] = []
    for language, sentences in zip(languages, documents, strict=True):
        for sentence in sentences:
            cut += parts(sentence) if is_chinese(language) else [(sentence, False)]
            counts.append(len(cut))
    tokens, ends = encoder.encode([part for part, _ in cut])
    edges = np.append(0, ends)
    inside = np.repeat(np.array([is_word for _, is_word in cut], bool), np.diff(edges))
    inside[edges[edges < len(tokens)]] = False  # where a part begins
    return tokens, edges[np.array(counts, np.int64)], encoder.vocabulary.continues[tokens] | inside


@functools.cache
def _jieba() -> Any:
    """Return jieba with its dictionary, of which a process has one: with OpenCC it takes a second, and 72 MB."""
    tokenizer = packages()[0].Tokenizer()
    # What `initialize` does, less its cache: a file in the shared temporary directory that anybody may have written.
    known, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    table = _simplified()
    traditional = set(map(chr, table))
    for word in [word for word in known if not traditional.isdisjoint(word)]:
        simplified = word.translate(table)
        known[simplified] = max(known.pop(word), known.get(simplified, 0))
    tokenizer.FREQ, tokenizer.initialized = known, True
    return tokenizer


@functools.cache
def _simplified() -> dict[int, str]:
    """Return what traditional characters are in simplified, for `str.translate`.

    Of several simplified characters it is OpenCC's first; one that is itself simplified stays, as 么, which is 麼 in traditional.
    """
    characters = _HAN.findall("".join(map(chr, range(0x3400, 0xA000))))
    found: dict[str, str] = {}
    for conversion in _CONVERSIONS:
        simplified = packages()[1].OpenCC(conversion).convert("\n".join(characters)).split("\n")
        for old, new in zip(characters, simplified, strict=True):
            if len(new) == 1 and new != old:
                found.setdefault(old, new)
    kept = set(found.values())
    return {ord(old): new for old, new in found.items() if old not in kept}
