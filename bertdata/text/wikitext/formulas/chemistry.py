"""Chemical formulas in ``<chem>``, ``<ce>``, ``\\ce`` and the templates ``{{chem}}`` and ``{{chem2}}``.

The notation is that of mhchem (https://mhchem.github.io/MathJax-mhchem/): numbers after an element or a bracket are
subscripts; charges and text after ``^`` are superscripts.

>>> from bertdata.text.wikitext.formulas.scripts import scripts_of_tags
>>> scripts_of_tags(chemical("2 H2 + O2 -> 2 H2O")), scripts_of_tags(chemical("SO4^2- + Ca^{2+} <=> CaSO4 v"))
('2 H₂ + O₂ → 2 H₂O', 'SO₄²⁻ + Ca²⁺ ⇌ CaSO₄ ↓')
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..marks import HOLE

__all__ = ["chemical", "chemical_parts"]

_ARROWS = {"<-->": "⇄", "<=>>": "⇌", "<<=>": "⇌", "<->": "↔", "<=>": "⇌", "->": "→", "<-": "←"}
_TOKEN = re.compile(
    r"""
      (?P<arrow>(?:(?<!\s)\s+)?(?:<-->|<=>>|<<=>|<->|<=>|->|<-)(?!\[)\s*)
    | (?P<gas>(?<=\s)[v^](?=\s|$))
    | (?P<high>\^(?:\{(?P<high_group>[^{}]*)\}|(?P<high_bare>[0-9]*[-+−•]?)))
    | (?P<low>_(?:\{(?P<low_group>[^{}]*)\}|(?P<low_bare>[0-9]+|[A-Za-z])))
    | (?P<charge>(?<=[A-Za-z0-9)\]}])(?:\((?P<in_brackets>[0-9]*[-+−])\)|(?P<sign>[+-])(?=$|[\s)\]}(,.;/|])))
    | (?P<count>(?<=[A-Za-z)\]}•])(?:0\.[0-9]+|[0-9]+))
    | (?P<dot>(?<=[A-Za-z0-9)\]])\s*[*.·]\s*(?=[A-Za-z0-9(\[]))
    | (?P<other>[\w\s()\[\]+,.;:=#/•·*−–→⇌↔←|'′-])
    | (?P<refused>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def chemical(formula: str) -> str:
    """Return a chemical formula as text with ``<sub>`` and ``<sup>``, or a hole if it contains unknown notation."""
    return "".join(map(_shown, _TOKEN.finditer(formula.replace("{}", "").strip())))


def chemical_parts(parts: Sequence[str]) -> str:
    """Return the formula of a template with alternating elements and counts; a single part is a complete formula.

    >>> chemical_parts(["SO", "4", "2-"]), chemical_parts(["H2O"])
    ('SO<sub>4</sub><sup>2−</sup>', 'H<sub>2</sub>O')
    """
    if len(parts) == 1:
        return chemical(parts[0])
    shown: list[str] = []
    for part in map(str.strip, parts):
        if re.fullmatch(r"[0-9]*[-+−]", part) and shown:
            shown.append(f"<sup>{_minus(part)}</sup>")
        elif shown and re.fullmatch(r"[0-9.,]+|[nxymz]", part):
            shown.append(f"<sub>{part}</sub>")
        else:
            shown.append(part)
    return "".join(shown)


def _minus(text: str) -> str:
    return text.replace("-", "−")


def _shown(token: re.Match[str]) -> str:
    kind, text = token.lastgroup, token[0]
    if token["arrow"]:
        return f" {_ARROWS[text.strip()]} "
    if token["gas"]:
        return "↓" if text == "v" else "↑"
    if token["high"]:
        raised = token["high_group"] or token["high_bare"]
        return f"<sup>{_minus(raised)}</sup>" if raised else HOLE
    if token["low"]:
        return f"<sub>{token['low_group'] or token['low_bare']}</sub>"
    if token["charge"]:
        return f"<sup>{_minus(token['in_brackets'] or token['sign'])}</sup>"
    if token["count"]:
        return f"<sub>{text}</sub>"
    if token["dot"]:
        return "·"
    if text == "#":
        return "≡"
    return HOLE if kind == "refused" else text
