"""The sentence splitter of a run: `split_sentences`, which is named sentencex, or a function of yours, module:function."""

from __future__ import annotations

import functools
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
        cause: Exception | None = None
        try:
            sentences = list(function(paragraph, language))
            is_same = "".join("".join(sentences).split()) == "".join(paragraph.split())
            problem = "" if is_same else f"returns {sentences!r:.200}"
        except Exception as error:  # whatever it raises, the paragraph is what its author needs to see
            problem, cause = f"raises {type(error).__name__}: {error}", error
        if problem:
            where = f"of the paragraph {paragraph[:200]!r} ({language or 'no language'})"
            rule = "its sentences, joined, must equal the paragraph except for whitespace"
            fault = f"`sentence_splitter` {name} {problem}, {where}: {rule}"
            raise UsageError(fault, field="sentence_splitter", value=name) from cause
        return [sentence for text in sentences if (sentence := text.strip())]

    return split
