"""Chinese words, for masks of whole words: which characters of a sentence belong together.

BERT makes a piece of every Chinese character.  A segmenter, jieba, tells the words; a sentence is cut around those of two
characters and more, so that each can be encoded by itself, which gives the same pieces as the sentence does.

    segmenter.parts("他在清华大学读书。")  ->  [("他在", False), ("清华大学", True), ("读书", True), ("。", False)]
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Iterator
from typing import Any

from ..errors import UsageError

__all__ = ["Segmenter", "is_chinese", "require"]

# Characters that BERT sets apart from each other.  No sentence has 1,000 without a mark between them; jieba takes quadratic time.
_RUN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2,1000}")
_CHINESE = frozenset(["zh", "cdo", "gan", "hak", "lzh", "wuu", "yue"])


def is_chinese(language: str) -> bool:
    """Tell whether a language is written in Chinese words, by its code.

    >>> is_chinese("zh-tw"), is_chinese("zh_classical"), is_chinese("ja")
    (True, True, False)
    """
    return language.lower().replace("_", "-").partition("-")[0] in _CHINESE


def require() -> None:
    """Raise UsageError where jieba is not installed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # jieba 0.42 has escapes that newer Pythons warn of
            import jieba  # noqa: F401
    except ImportError as error:
        raise UsageError(f"Chinese words need jieba ({error}): pip install 'bertdata[chinese]'") from None


class Segmenter:
    """Cut Chinese sentences into words by jieba's dictionary and model; raise UsageError where it is not installed."""

    def __init__(self) -> None:
        require()
        self._jieba = _jieba()

    def parts(self, sentence: str) -> Iterator[tuple[str, bool]]:
        """Yield the parts of a sentence, in order and complete, and of each whether it is a word of several characters."""
        done = 0
        for run in _RUN.finditer(sentence):
            position = run.start()
            for word in self._jieba.cut(run[0]):
                if len(word) > 1:
                    if done < position:
                        yield sentence[done:position], False
                    done = position + len(word)
                    yield word, True
                position += len(word)
        if done < len(sentence):
            yield sentence[done:], False


@functools.cache
def _jieba() -> Any:
    """Return jieba with its dictionary, of which a process has one: it takes most of a second, and 56 MB."""
    import jieba

    tokenizer = jieba.Tokenizer()
    # What `initialize` does, less its cache: a file in the shared temporary directory that anybody may have written.
    tokenizer.FREQ, tokenizer.total = tokenizer.gen_pfdict(tokenizer.get_dict_file())
    tokenizer.initialized = True
    return tokenizer
