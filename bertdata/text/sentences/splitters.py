"""The sentence splitter of a run: `split_sentences`, which is named sentencex, or a function of yours, module:function."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from ...errors import UsageError
from ...storage.user_functions import load
from .split import split_sentences

Splitter = Callable[[str, str], list[str]]
_DEFAULT = "sentencex"


@functools.lru_cache(maxsize=8)
def splitter(name: str) -> Splitter:
    """Return the function of this name, which takes a paragraph and a language; raise UsageError if it does not exist."""
    if name == _DEFAULT:
        return split_sentences
    if not all(name.partition(":")):
        raise UsageError(f"`sentence_splitter` {name}: use {_DEFAULT} or module:function", field="sentence_splitter", value=name)
    return _checked(name, load(name, "sentence_splitter"))


def _checked(name: str, function: Splitter) -> Splitter:
    """Return a user's function that is checked: its sentences, joined, equal the paragraph except for whitespace."""

    def split(paragraph: str, language: str) -> list[str]:
        try:
            sentences = list(function(paragraph, language))
            joined = "".join("".join(sentences).split())
        except Exception as error:  # whatever it raises, the paragraph is what its author needs to see
            raise refused(f"raises {type(error).__name__}: {error}", paragraph, language) from error
        unspaced = "".join(paragraph.split())
        if joined != unspaced:
            same = len(os.path.commonprefix([joined, unspaced]))
            has, wants = joined[same : same + 20], unspaced[same : same + 20]
            raise refused(f"returns {has!r} instead of {wants!r}", paragraph, language)
        return [sentence for text in sentences if (sentence := text.strip())]

    def refused(what: str, paragraph: str, language: str) -> UsageError:
        where = f"of the paragraph {paragraph[:200]!r} ({language or 'no language'})"
        return UsageError(
            f"`sentence_splitter` {name} {what}, {where}: its sentences, joined, must equal the paragraph except for whitespace",
            field="sentence_splitter",
            value=name,
        )

    return split
