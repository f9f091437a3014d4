"""Choose who splits sentences, by name, for all languages or for some.

sentencex                  the library, and the rules of `rules`
regex                      one rule, nothing to install
spacy_split:split          a function of yours: (paragraph, language) -> its sentences
regex,zh=sentencex         regex, except for Chinese
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable

from ...errors import UsageError
from ...storage.user_functions import load
from .plain import split_plain
from .split import split_sentences

__all__ = ["Splitter", "user_functions", "packages", "splitter"]

Splitter = Callable[[str, str], list[str]]


@functools.lru_cache(maxsize=8)
def splitter(names: str) -> Splitter:
    """Return the function of this name, which takes a paragraph and a language; raise UsageError if it does not exist.

    >>> splitter("regex,zh=sentencex")("He came. She left.", "en")
    ['He came.', 'She left.']
    """
    chosen: dict[str, Splitter] = {}
    for part in names.split(","):
        language, _, name = part.strip().rpartition("=")
        if language in chosen:
            raise UsageError(
                f"`sentence_splitter` {names}: {language or 'the default'} twice", field="sentence_splitter", value=names
            )
        chosen[language.lower()] = _by_name(name)
    default = chosen.pop("", split_sentences)
    if not chosen:
        return default

    def split(paragraph: str, language: str) -> list[str]:
        code = language.lower().replace("_", "-")
        return chosen.get(code, chosen.get(code.partition("-")[0], default))(paragraph, language)

    return split


def packages(names: str) -> tuple[str, ...]:
    """Return the modules outside bertdata that split sentences; raise UsageError if one is missing.

    >>> packages("sentencex"), packages("zh=regex"), packages("regex,zh=sentencex"), packages("regex")
    (('sentencex',), ('sentencex',), ('sentencex',), ())
    """
    modules = {name.partition(":")[0] for name in _chosen(names)}
    return tuple(sorted(modules - {"regex"}))


def user_functions(names: str) -> tuple[str, ...]:
    """Return the splitters that are functions of the user's, ``module:function``."""
    return tuple(sorted(name for name in _chosen(names) if ":" in name))


def _chosen(names: str) -> set[str]:
    splitter(names)  # raises for a name that cannot be right
    return {*({"": "sentencex"} | dict(part.strip().rpartition("=")[::2] for part in names.split(","))).values()}


def _by_name(name: str) -> Splitter:
    if name in _KNOWN:
        return _KNOWN[name]
    if not all(name.partition(":")):
        raise UsageError(
            f"`sentence_splitter` {name}: use {', '.join(_KNOWN)} or module:function",
            field="sentence_splitter",
            value=name,
        )
    return _checked(name, load(name, "sentence_splitter"))


_KNOWN: dict[str, Splitter] = {"sentencex": split_sentences, "regex": split_plain}


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
