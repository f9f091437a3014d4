"""Superscripts and subscripts, as far as Unicode has them.

>>> superscript("n+1"), subscript("max"), subscript("B")
('ⁿ⁺¹', 'ₘₐₓ', None)
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..entities import decode_entities
from ..marks import HOLE

__all__ = ["ALL_SCRIPTS", "scripts_of_tags", "subscript", "superscript"]

_SUPERSCRIPTS = dict(
    zip(
        "0123456789+-−=()abcdefghijklmnoprstuvwxyzABDEGHIJKLMNOPRTUVWβγδθφχ",
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴬᴮᴰᴱᴳᴴᴵᴶᴷᴸᴹᴺᴼᴾᴿᵀᵁⱽᵂᵝᵞᵟᶿᵠᵡ",
        strict=True,
    )
) | {sign: sign for sign in "′″‴°*∗†‡"}  # those are raised by themselves
_SUBSCRIPTS = dict(zip("0123456789+-−=()aehijklmnoprstuvxβγρφχ", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓᵦᵧᵨᵩᵪ", strict=True))
ALL_SCRIPTS = frozenset([*_SUPERSCRIPTS.values(), *_SUBSCRIPTS.values()])
_TAG = re.compile(r"<(su[pb])\b[^<>]*>([^<>]*)</\1\s*>", re.IGNORECASE)
_LETTERS = re.compile("''+")


def superscript(text: str) -> str | None:
    """Return ``text`` raised, without its spaces; None where Unicode lacks one of its characters."""
    return _translated(text, _SUPERSCRIPTS)


def subscript(text: str) -> str | None:
    """Return ``text`` lowered, without its spaces; None where Unicode lacks one of its characters."""
    return _translated(text, _SUBSCRIPTS)


def _translated(text: str, table: Mapping[str, str]) -> str | None:
    found = [table.get(char) for char in text if not char.isspace()]
    return None if None in found else "".join(filter(None, found))


def scripts_of_tags(text: str) -> str:
    """Return wikitext with what stands in ``<sup>`` and ``<sub>`` raised and lowered; what cannot be is a hole.

    >>> scripts_of_tags("''x''<sub>''i''</sub><sup>&minus;1</sup>"), scripts_of_tags("''T''<sub>c</sub>") == f"''T''{HOLE}"
    ("''x''ᵢ⁻¹", True)
    """

    def show(tag: re.Match[str]) -> str:
        inner = decode_entities(_LETTERS.sub("", tag[2]))
        shown = superscript(inner) if tag[1].lower() == "sup" else subscript(inner)
        return HOLE if shown is None else shown

    return _TAG.sub(show, text) if "<" in text else text
