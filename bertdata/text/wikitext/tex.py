r"""Write a TeX formula as a line of Unicode text if it is simple.

Letters, operators, functions, accents, superscripts, subscripts, short fractions and roots are simple. Arrays, signs over and
under others, and scripts that Unicode lacks are not.

>>> tex_to_text(r"E=mc^2"), tex_to_text(r"\frac{a+b}{2} \le \sqrt{\alpha_1}"), tex_to_text(r"\begin{matrix}a\end{matrix}")
('E = mc²', '(a + b)/2 ≤ √α₁', None)
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from pathlib import Path

from ...config import read_toml
from .inline import decode_entities

_MAX_CHARACTERS, _MAX_DEPTH = 2000, 40  # of a formula; of groups and arguments in it
_TABLES = read_toml(Path(__file__).with_name("tex.toml"))


def _signs(table: dict[str, str]) -> dict[str, tuple[str, str]]:
    """Return the text and the kind of each sign in a table."""
    columns = ((kind, words.split()) for kind, words in table.items())
    return {name: (sign, kind) for kind, words in columns for name, sign in zip(words[::2], words[1::2], strict=True)}


_SIGNS, _CHARACTERS = _signs(_TABLES["signs"]), _signs(_TABLES["characters"])
_KINDS = {name: kind for kind, names in _TABLES["commands"].items() for name in names.split()}
_SCRIPTS = {name: dict(zip(*pair, strict=True)) for name, pair in _TABLES["scripts"].items()}
_RAISED = frozenset(char for table in _SCRIPTS.values() for char in table.values()) - {","}
_DOUBLE_STRUCK = str.maketrans("CFHNPQRZ", "ℂ𝔽ℍℕℙℚℝℤ")
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|%[^\n]*|.", re.DOTALL)
_BRACKETS = re.compile(r"[(\[{⟨⌊⌈][^()\[\]{}⟨⟩⌊⌋⌈⌉]*[)\]}⟩⌋⌉]")
_DECIMAL = re.compile(r"(?<=\d),(?=\d)")  # as in 3,14; a list of numbers has spaces
_NO_BRACKET = re.compile(r"\\(?:left|right) ?\.")  # a bracket's place without one
_FACTOR = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]")


def script(name: str, text: str) -> str | None:
    """Return text in superscript ("sup") or subscript ("sub"), without its spaces; None if Unicode lacks a character."""
    text = "".join(text.split())
    simple = all(char in _SCRIPTS[name] for char in text) and "," not in text[:1] + text[-1:]
    return "".join(map(_SCRIPTS[name].__getitem__, text)) if simple else None


class _Formula:
    """Parse a formula in one pass from left to right; raise ValueError or KeyError if it is not simple."""

    def __init__(self, tex: str) -> None:
        self.tokens = [token for token in _TOKEN.findall(tex) if token[0] != "%"][::-1]
        self.depth = 0

    def peek(self) -> str:
        """Return the next token that is not a space, "" at the end."""
        while self.tokens and self.tokens[-1].isspace():
            self.tokens.pop()
        return self.tokens[-1] if self.tokens else ""

    def take(self) -> str:
        return self.tokens.pop() if self.peek() else ""

    def row(self, end: str) -> tuple[str, str]:
        """Read up to the token that ends a group or the formula; return the text, and its kind if it is a single sign."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError
        shown, before, count = "", "", 0
        while (token := self.take()) != end:
            text, kind = self.sign(token)
            if kind == "space":
                shown = shown.rstrip() + text if before != "opening" else shown
                continue
            # TeX reads scripts after the sign that they belong to: x^2 is the sign x, then its exponent.
            low, high = self.scripts()
            if low or high:
                text = f"({text})" if kind == "fraction" else text
                kind = "letter" if kind in ("fraction", "operator", "sign") else kind
                text = text + low + high if text else high + low
            if text == "|" and kind == "letter":  # |x|: odd bars open, even bars close
                kind = "closing" if shown.count("|") % 2 else "opening"
            # A minus at the start, after a relation or after an opening bracket is a sign: −x, a = −b. It takes no space.
            if kind == "operator" and (before not in ("letter", "closing", "fraction") or self.peek() in ("", end)):
                kind = "sign"
            if kind in ("comma", "closing"):
                shown = shown.rstrip()
            shown = f"{shown.rstrip()} {text}" if shown and _is_apart(before, kind, text) else shown + text
            before, count = kind, count + 1
        self.depth -= 1
        return shown.strip(), before if count == 1 and before in ("fraction", "name", "large") else "letter"

    def scripts(self) -> tuple[str, str]:
        """Read the subscript and superscript of a sign."""
        low = high = ""
        while (mark := self.peek()) and mark in ("^", "_", "'", "\\limits", "\\nolimits"):
            self.take()
            if mark == "'":
                high += "′"
            elif mark in "^_":
                shown = script("sup" if mark == "^" else "sub", self.sign(self.take())[0])
                if shown is None:
                    raise ValueError
                high, low = (high + shown, low) if mark == "^" else (high, low + shown)
        return low, high.replace("′′′", "‴").replace("′′", "″")

    def argument(self) -> str:
        """Read the argument of a command: a group or a single sign."""
        return self.sign(self.take())[0].strip()

    def raw(self) -> str:
        """Read the argument of ``\\text``."""
        content = re.sub(r"[\s~]+", " ", "".join(iter(self.tokens.pop, "}")))
        if content[:1] != "{" or set(content[1:]).intersection("\\${^"):
            raise ValueError
        return content[1:]

    def sign(self, token: str) -> tuple[str, str]:
        """Return the text of a token with its arguments, and its kind."""
        name = token[1:]
        if token == "{":
            return self.row("}")
        if token in ("^", "_", "'"):  # a script without its sign
            self.tokens.append(token)
            return "", "letter"
        if token[:1] != "\\":
            if not token or token in '"$#&`@}' or unicodedata.category(token)[0] == "C":
                raise ValueError
            return (" ", "space") if token == "~" else _CHARACTERS.get(token, (token, "letter"))
        if name in _SIGNS:
            return _SIGNS[name]
        kind = _KINDS.get(name, "space" if name.isspace() else "")
        if kind in ("nothing", "space"):
            return " " if kind == "space" else "", "space"
        if kind == "fraction":
            over, under = self.argument(), self.argument()
            if not over or not under:
                raise ValueError
            return f"{bracketed(over, True)}/{bracketed(under, False)}", "fraction"
        if kind == "argument":
            return self.argument(), "name" if name == "operatorname" else "letter"
        return self.raw() if kind == "text" else self.rare(name), "letter"

    def rare(self, name: str) -> str:
        if name == "mathbb":
            return self.argument().translate(_DOUBLE_STRUCK)
        if accent := _TABLES["accents"].get(name):
            base = self.argument()
            if not base.isalpha() or (len(base) > 1 and name != "overline"):
                raise ValueError
            return "".join(letter + accent for letter in base)
        if name == "sqrt" and self.peek() != "[":
            return "√" + bracketed(self.argument(), False)
        raise ValueError


def _is_apart(before: str, kind: str, text: str) -> bool:
    """Return True if there is a space between two signs."""
    if {before, kind} & {"operator", "relation"}:
        return True
    if kind in ("closing", "comma") or before in ("opening", "sign") or (kind == "sign" and before != "comma"):
        return False
    if before == "name":
        return kind != "opening" or text == "|"
    return before in ("comma", "fraction", "large") or kind in ("name", "fraction", "large")


def bracketed(text: str, product: bool) -> str:
    """Return a part of a fraction or the content of a root, in brackets if it is ambiguous without them.

    ``product``: whether a product stays without brackets, as above a fraction bar.
    """
    if text[:1] == "(":
        return text if re.fullmatch(r"\([^()]*\)", text) else f"({text})"
    base, inner = text, ""
    while base != inner:
        base, inner = _BRACKETS.sub("", base), base
    base = "".join(char for char in base if char not in _RAISED and not unicodedata.combining(char))
    single = product or len(_FACTOR.findall(base)) < 2 or base[0] in "d∂"
    return text if single and not set(" /").intersection(base) else f"({text})"


@lru_cache(maxsize=1 << 12)
def tex_to_text(tex: str) -> str | None:
    """Return a formula as text, or None if it is not simple."""
    try:
        if len(tex) > _MAX_CHARACTERS:
            raise ValueError
        tex = _DECIMAL.sub("{,}", _NO_BRACKET.sub("", decode_entities(tex)).replace("...", "\\ldots "))
        shown = _Formula(tex).row("")[0]
    except (ValueError, LookupError):
        return None
    unpaired = shown.count("{") != shown.count("}")  # a brace that spans several lines
    return None if unpaired else unicodedata.normalize("NFC", " ".join(shown.split()))
