"""Choose one word of ``-{…}-``, which wikis in two scripts or orthographies use; flags before a bar control its use.

A block has a word per variant, ``-{zh-cn:域;zh-tw:體}-``, or text that is not converted, ``-{text}-``. Rules for the rest of the
page (flags A, H and -) are ignored: OpenCC converts complete documents.

    >>> resolve_variants("-{zh-cn:域;zh-tw:體}-与-{A|zh-cn:群;zh-tw:羣}-，-{H|zh-cn:a;zh-tw:b}-群", "zh", "zh-tw")
    '體与羣，群'
    >>> resolve_variants("-{zh-cn:域;zh-tw:體}-", "zh", ""), resolve_variants("-{x}-", "en", "")
    ('域', '-{x}-')
"""

import re
from itertools import zip_longest
from typing import Any

from ...errors import UsageError

# For each wiki with variants, their codes in groups of those that are near each other.
_VARIANTS = {
    "zh": "hans cn sg my | hant tw hk mo", "sr": "ec cyrl | el latn", "sh": "latn | cyrl", "kk": "cyrl kz | latn tr | arab cn",
    "ku": "latn | arab", "tg": "latn", "uz": "latn | cyrl", "gan": "hans | hant", "wuu": "hans | hant", "crh": "cyrl | latn",
    "shi": "tfng | latn", "tly": "cyrl", "zgh": "latn",
}  # fmt: skip
_CODES: dict[str, list[list[str]]] = {
    wiki: [[f"{wiki}-{code}" for code in group.split()] for group in groups.split("|")] for wiki, groups in _VARIANTS.items()
}
_CODES["iu"] = [["ike-cans"], ["ike-latn"]]
_NEAREST = {"zh-hk": ["zh-mo"], "zh-mo": ["zh-hk"], "zh-sg": ["zh-my"], "zh-my": ["zh-sg"]}
_EDGE = re.compile(r"-\{|\}-")
_MAX_DEPTH = 10  # deeper blocks are dropped, as in MediaWiki; this also keeps hostile input linear
_FLAGS = frozenset("ATRD-HNES")
_SILENT = frozenset("TH-N")


def _codes(language: str) -> list[str]:
    """Return the codes of a wiki, in the order in which it shows them: the first of each group, then the second."""
    groups = zip_longest(*_CODES.get(language, []))
    return [language, *(code for codes in groups for code in codes if code)]


def _wanted(language: str, variant: str) -> list[str]:
    """Return the codes of a wiki from the nearest to a variant to the farthest."""
    variant = variant.lower()
    group = next((group for group in _CODES[language] if variant in group), [])
    return [variant, *_NEAREST.get(variant, []), *group, *_codes(language)] if group else _codes(language)


def check_variant(variant: str, language: str) -> None:
    """Raise UsageError for a variant that no wiki has, listing those of the wiki in `language`."""
    if not variant or any(variant.lower() in _codes(wiki) for wiki in _CODES):
        return
    *known, last = sorted(_codes(language))
    hint = f"use {', '.join(known)} or {last}" if known else f"the one in {language} has none: omit it"
    raise UsageError(f"`variant` {variant}: no wiki has it: {hint}", field="variant", value=variant)


def _block(content: str, codes: list[str], wanted: list[str]) -> str:
    """Return the text of one block."""
    head, bar, rest = content.partition("|")
    flags = {flag.strip() for flag in head.split(";")} - {""} if bar else set()
    if flags and {flag.lower() for flag in flags} <= set(codes):
        return rest
    flags = {flag.upper() for flag in flags}
    text = rest if bar and flags <= _FLAGS else content
    if flags <= _FLAGS and ("R" in flags or flags & _SILENT):
        return rest if "R" in flags else ""
    # "zh-cn:a;zh-tw:b" has a word per variant, and so has "x=>zh-tw:b". A semicolon can also be part of a word.
    words: dict[str, str] = {}
    code = ""
    for piece in text.split(";"):
        name, colon, word = piece.rpartition("=>")[2].partition(":")
        if colon and name.strip().lower() in codes:
            code = name.strip().lower()
            words[code] = word
        elif code and piece.strip():
            words[code] += ";" + piece
        elif piece.strip():
            return text
    return next((words[code].strip() for code in wanted if code in words), text)


def resolve_variants(text: str, language: str, variant: str) -> str:
    """Return ``text`` with every ``-{…}-`` replaced by the word for ``variant`` (empty: the wiki's own)."""
    if language not in _CODES or "-{" not in text:
        return text
    codes, wanted = _codes(language), _wanted(language, variant)
    parts: list[str] = []
    opened: list[int] = []
    done = 0
    # Blocks nest. Everything since the last "-{" is its content, in which inner blocks are resolved already.
    for edge in _EDGE.finditer(text):
        parts.append(text[done : edge.start()])
        done = edge.end()
        if edge[0] == "-{":
            opened.append(len(parts))
            parts.append("-{")
        elif opened:
            index = opened.pop()
            parts[index:] = ["" if len(opened) >= _MAX_DEPTH else _block("".join(parts[index + 1 :]), codes, wanted)]
        else:
            parts.append("}-")
    parts.append(text[done:])
    return "".join(parts)


def choose_word(found: dict[str, Any], language: str, variant: str) -> str:
    """Return the word of a ``-{…}-`` that Parsoid has parsed, an object such as ``{"twoway": [{"l": "zh-cn", "t": "域"}]}``.

    >>> choose_word({"twoway": [{"l": "zh-cn", "t": "域"}, {"l": "zh-tw", "t": "體"}]}, "zh", "zh-tw")
    '體'
    """
    plain, words = found.get("disabled") or found.get("filter"), found.get("twoway") or found.get("oneway") or ()
    if isinstance(plain, dict):
        return str(plain.get("t", ""))
    by_code = {str(word.get("l", "")).lower(): str(word.get("t", "")) for word in words if isinstance(word, dict)}
    wanted = _wanted(language, variant) if language in _CODES else [variant.lower()]
    return next((by_code[code] for code in wanted if code in by_code), next(iter(by_code.values()), ""))
