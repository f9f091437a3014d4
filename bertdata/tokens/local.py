"""Tell whether a tokenizer gives a part of a text, from one space on to before the next, the ids that it has in the whole text.

That holds where words are cut before the spaces in front of them, no rule looks across such a cut, and no piece reaches over it.
It is told from a tokenizer.json: each of its steps must be in a table here.  Anything else is taken to look further.
"""

from __future__ import annotations

import re
from typing import Any

from ..pieces import BEGINS

__all__ = ["cuts_at_marks", "is_local"]

_NORMALIZERS = frozenset(
    ["NFC", "NFD", "NFKC", "NFKD", "Nmt", "Lowercase", "StripAccents", "Strip", "BertNormalizer", "Precompiled", "Prepend"]
)
_WORDS = frozenset(["WhitespaceSplit", "Whitespace", "BertPreTokenizer"])  # cut at white space, whatever their settings
_INSIDE = frozenset(["Digits", "Punctuation", "ByteLevel", "Metaspace"])  # cut further, by characters, or not at all
_ENDINGS = "'s|'t|'re|'ve|'m|'ll|'d"
_RUNS = r"\s+(?!\S)|\s+"
_PATTERNS = frozenset(  # of published tokenizers: no alternative takes a space that does not stand at its front
    [
        rf"{_ENDINGS}| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{_RUNS}",  # GPT-2
        rf"'(?:[sdmt]|ll|ve|re)| ?\p{{L}}+| ?\p{{N}}+| ?[^\s\p{{L}}\p{{N}}]+|{_RUNS}",
        *(
            rf"(?i:{_ENDINGS})|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{most}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|\s*[\r\n]+|{_RUNS}"
            for most in ("{1,3}", "")  # cl100k and Llama 3; Qwen 2
        ),
    ]
)
_CHARACTERS = frozenset(["NFC", "NFD", "NFKC", "NFKD", "Lowercase"])  # normalizers that leave marks of ASCII alone
_MARKED = re.compile(r"[A-Za-z][!-/:-@\[-`{-~]")
_RUN_OF_SPACES = re.compile(r" \{\d,\}|\\s\+")  # what stands in a tokenizer.json: " {2,}", or "\s+"
_REACHES = re.compile(r"\S\s")
Part = dict[str, Any]


def is_local(tokenizer: Part) -> bool:
    """Tell whether parts of a text have the ids of the whole, by a tokenizer.json."""
    normalizers, cutters = _steps(tokenizer)
    if not all(map(_keeps_spaces, normalizers)) or any(map(_reaches, tokenizer.get("added_tokens") or [])):
        return False
    spaces_go = any(part["type"] == "Replace" and part["pattern"].get("String") == " " for part in normalizers)
    cutters = [part for part in cutters if not (spaces_go and _at_spaces(part))]
    if not all(part["type"] in _WORDS | _INSIDE or _known(part) for part in cutters):
        return False
    return any(map(_cuts, cutters)) or _no_piece_reaches(tokenizer["model"])


def cuts_at_marks(tokenizer: Part) -> bool:
    """Tell whether a local tokenizer also cuts between a letter of ASCII and a mark behind it, whatever stands before the letter.

    So do GPT-2's pattern and those like it: letters are a match of their own, which no mark ends.  So does `Punctuation`, where
    all other steps look at characters.
    """
    normalizers, cutters = _steps(tokenizer)
    looked_for = [token["content"] for token in tokenizer.get("added_tokens") or [] if not token["special"]]
    if not all(part["type"] in _CHARACTERS or _is_run(part) for part in normalizers) or any(map(_MARKED.search, looked_for)):
        return False
    patterns = [part for part in cutters if _known(part) or (part["type"] == "ByteLevel" and part.get("use_regex", True))]
    others = [part["type"] for part in cutters if part not in patterns and part["type"] != "ByteLevel"]
    if any(part.get("add_prefix_space") for part in cutters):
        return False
    if patterns:
        return len(patterns) == 1 and not others
    isolated = [part["type"] == "Punctuation" and part["behavior"] == "Isolated" for part in cutters]
    return any(isolated) and _INSIDE.issuperset(others)


def _steps(tokenizer: Part) -> tuple[list[Part], list[Part]]:
    """Return the normalizers and the pre-tokenizers, each in order."""
    return _parts(tokenizer.get("normalizer"), "normalizers"), _parts(tokenizer.get("pre_tokenizer"), "pretokenizers")


def _parts(part: Part | None, key: str) -> list[Part]:
    """Return the steps of a sequence of them, in order."""
    if part is None:
        return []
    return [step for each in part[key] for step in _parts(each, key)] if part["type"] == "Sequence" else [part]


def _keeps_spaces(part: Part) -> bool:
    """Tell whether a normalizer looks at single characters and their marks, and takes no space away between words."""
    if part["type"] != "Replace":
        return part["type"] in _NORMALIZERS
    pattern, content = part["pattern"], part["content"]
    if "Regex" in pattern:
        return bool(_RUN_OF_SPACES.fullmatch(pattern["Regex"])) and content in (" ", "▁")
    if pattern["String"] == " ":
        return bool(content == "▁")
    return bool(content) and not re.search(r"[\s▁]", pattern["String"] + content)


def _is_run(part: Part) -> bool:
    """Tell whether a normalizer makes one space of several."""
    runs = part["type"] == "Replace" and _RUN_OF_SPACES.fullmatch(part["pattern"].get("Regex", ""))
    return bool(runs) and part["content"] == " "


def _reaches(token: Part) -> bool:
    """Tell whether an added token, which is looked for in the whole text, may reach over the space in front of a word."""
    if token["special"]:
        return False  # the special ones are not looked for
    return bool(token.get("lstrip") or token.get("rstrip") or token.get("single_word") or _REACHES.search(token["content"]))


def _known(part: Part) -> bool:
    return part["type"] == "Split" and part["pattern"].get("Regex") in _PATTERNS and part["behavior"] in ("Isolated", "Removed")


def _at_spaces(part: Part) -> bool:
    return bool(part["type"] == "Split" and part["pattern"].get("String") == " ")


def _cuts(part: Part) -> bool:
    """Tell whether a pre-tokenizer cuts before every space behind a word."""
    if part["type"] == "ByteLevel":
        return bool(part.get("use_regex", True))
    if part["type"] == "Metaspace":
        return bool(part.get("split", True))
    return part["type"] in _WORDS or _known(part)


def _no_piece_reaches(model: Part) -> bool:
    """Tell whether a BPE that is given the whole text joins nothing over a space, as it has no such piece."""
    if model["type"] != "BPE":
        return False  # Unigram weighs all ways through a text: sums of many numbers, which are rounded
    vocabulary = model["vocab"]
    marks = [mark for mark in BEGINS if mark in vocabulary]
    return len(marks) == 1 and not any(marks[0] in piece.lstrip(marks[0]) for piece in vocabulary)
