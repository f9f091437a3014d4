"""Superscripts and subscripts in Unicode.

>>> superscript("n+1"), subscript("max"), subscript("B")
('ⁿ⁺¹', 'ₘₐₓ', None)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ..entities import decode_entities
from ..marks import HOLE

__all__ = ["ALL_SCRIPTS", "figures_of_tags", "scripts_of_tags", "subscript", "superscript"]

_SUPERSCRIPTS = dict(
    zip(
        "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ",
        strict=True,
    )
) | {sign: sign for sign in "′″‴°*∗†‡"}  # already raised
_SUBSCRIPTS = dict(zip("0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
ALL_SCRIPTS = frozenset([*_SUPERSCRIPTS.values(), *_SUBSCRIPTS.values()])
_TAG = re.compile(r"<(su[pb])\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)
_FIGURES = re.compile(r"<(su[pb])\b[^<>]*>((?:[+\u2212-]|&minus;)?\d{1,9}[+\u2212-]?)</\1\s*>", re.IGNORECASE)
_LETTERS = re.compile("''+")


def superscript(text: str) -> str | None:
    """Return ``text`` in superscript, without its spaces; None if Unicode lacks one of its characters.

    A comma between raised digits or letters stays on the line.
    """
    return _translated(text, _SUPERSCRIPTS)


def subscript(text: str) -> str | None:
    """Return ``text`` in subscript, without its spaces; None if Unicode lacks one of its characters.

    >>> subscript("i, j"), subscript(",x")
    ('ᵢ,ⱼ', None)
    """
    return _translated(text, _SUBSCRIPTS)


def _translated(text: str, table: Mapping[str, str]) -> str | None:
    parts = "".join(text.split()).split(",")
    if len(parts) > 1 and not all(parts):
        return None
    scripts = [[table.get(char) for char in part] for part in parts]
    return None if any(None in script for script in scripts) else ",".join("".join(filter(None, script)) for script in scripts)


def scripts_of_tags(text: str) -> str:
    """Return wikitext with the content of ``<sup>`` and ``<sub>`` raised and lowered, or a hole if that is not possible.

    >>> scripts_of_tags("''x''<sub>''i''</sub><sup>&minus;1</sup>"), scripts_of_tags("''T''<sub>c</sub>") == f"''T''{HOLE}"
    ("''x''ᵢ⁻¹", True)
    """
    return _TAG.sub(lambda tag: _script(tag[1].lower(), tag[2]), text) if "<" in text else text


@lru_cache(maxsize=1 << 12)
def _script(name: str, content: str) -> str:
    """Return the text of ``<sup>`` or ``<sub>``; cached, because a page repeats the same few."""
    inner = decode_entities(_LETTERS.sub("", content))
    shown = superscript(inner) if name == "sup" else subscript(inner)
    return HOLE if shown is None else shown


def figures_of_tags(text: str) -> str:
    """Return wikitext with numbers in ``<sup>`` and ``<sub>`` raised and lowered; letters, as in ordinals, keep their tags.

    >>> figures_of_tags("10<sup>&minus;6</sup> m<sup>2</sup> of H<sub>2</sub>O, 1<sup>st</sup>")
    '10⁻⁶ m² of H₂O, 1<sup>st</sup>'

    A raised number after a Chinese or Japanese end mark is a footnote mark, and is removed:

    >>> figures_of_tags("喝茶。<sup>2</sup>喝水。")
    '喝茶。喝水。'
    """
    return _FIGURES.sub(_figure, text) if "<" in text else text


def _figure(tag: re.Match[str]) -> str:
    before = tag.string[max(tag.start() - 1, 0) : tag.start()]
    return "" if before and before in "。！？" and tag[1] in ("sup", "SUP") else _script(tag[1].lower(), tag[2])
