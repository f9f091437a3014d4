r"""Convert a TeX formula to a line of Unicode text, if possible.

>>> tex_to_text(r"E=mc^2"), tex_to_text(r"\frac{a+b}{2} \le \sqrt{\alpha_1}"), tex_to_text(r"\begin{matrix}a\end{matrix}")
('E = mc²', '(a + b)/2 ≤ √α₁', None)
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ..entities import decode_entities
from .arguments import ARROWS, NoTextError, accented, arrow, character, lowered, marked, plain, raised
from .chemistry import chemical
from .layout import FRACTION, UNARY, Atom, bracketed, write
from .scripts import scripts_of_tags
from .signs import (
    ACCENTS,
    BINARY,
    CLOSE,
    LARGE,
    LETTER,
    NAME,
    NOTHING,
    OPEN,
    POSTFIX,
    RELATION,
    SIGNS,
    SPACE,
    STYLES,
    alphabet,
)  # fmt: skip

__all__ = ["tex_to_text"]

_MAX_CHARACTERS = 2000  # maximum characters of a formula
_MAX_DEPTH = 40  # nesting of groups and arguments
_TOKEN = re.compile(r"\\[a-zA-Z]+|\\.|%[^\n]*|.", re.DOTALL)
_FRACTIONS = frozenset(["frac", "dfrac", "tfrac", "cfrac", "sfrac", "nicefrac"])
_TEXTS = frozenset(["text", "textrm", "textbf", "textit", "textsf", "texttt", "textnormal", "mbox", "hbox", "textup"])
_UNSEEN = frozenset(["label", "phantom", "hphantom", "vphantom", "hspace", "vspace", "color", "definecolor", "class", "cssId"])
_OVER = frozenset(["stackrel", "overset"])
_CASES = frozenset(["cases", "dcases"])
_LINES = frozenset([
    "align", "align*", "aligned", "alignat", "alignat*", "eqnarray", "eqnarray*", "equation", "equation*", "gather", "gather*",
    "gathered", "multline", "multline*", "split",
])  # fmt: skip
_BY_COUNT = frozenset(["alignat", "alignat*"])  # the number of columns follows the name
_DISTANCE = re.compile(r"\s*\[\s*-?[0-9.]+\s*[a-z]{2}\s*\]")  # between two lines, as in ``\\[2pt]``
_DISTANCE_TOKENS = 20
_ROOTS = {"": "√", "2": "√", "3": "∛", "4": "∜"}
_PRIMES = ("", "′", "″", "‴")


class _Formula:
    """Parse a formula in one pass from left to right."""

    def __init__(self, tex: str) -> None:
        self.tokens = [token for token in _TOKEN.findall(tex) if token[0] != "%"]
        self.at = 0
        self.depth = 0
        self.last = ""

    def peek(self) -> str:
        """Return the next nonspace token, "" at the end."""
        while self.at < len(self.tokens) and self.tokens[self.at].isspace():
            self.at += 1
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def deeper(self) -> None:
        """Enter a group or an argument."""
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise NoTextError

    def row(self, *ends: str) -> list[Atom]:
        """Read up to a token that ends a group, a line or the formula; ``last`` is that token."""
        self.deeper()
        atoms: list[Atom] = []
        while (token := self.take()) not in ends:
            if not token:
                raise NoTextError
            # {a+b \over c+d}: everything read so far in the group is the numerator, the rest of the group the denominator.
            if token == "\\over":
                atoms = [self.fraction(write(atoms), write(self.row(*ends)))]
                break
            # TeX reads scripts after the sign that they belong to: x^2 is the atom x, then its exponent.
            atom = self.atom(token)
            if atom is not None:
                atoms.append(self.with_scripts(atom))
        self.last = self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""
        self.depth -= 1
        return atoms

    def argument(self) -> str:
        """Read the argument of a command: a group or a single sign."""
        return self.argument_atom().text.strip()

    def argument_atom(self) -> Atom:
        self.deeper()
        atom = self.atom(self.take())
        if atom is None:
            raise NoTextError
        self.depth -= 1
        return atom

    def raw(self) -> str:
        """Read a group verbatim."""
        if self.take() != "{":
            raise NoTextError
        start, depth = self.at, 1
        while depth and self.at < len(self.tokens):
            token = self.tokens[self.at]
            depth += (token == "{") - (token == "}")
            self.at += 1
        if depth:
            raise NoTextError
        return "".join(self.tokens[start : self.at - 1])

    def option(self) -> str:
        """Read ``[...]``, "" if there is none."""
        if self.peek() != "[":
            return ""
        self.take()
        return write(self.row("]"))

    def atom(self, token: str) -> Atom | None:
        """Return the text of a token and its arguments; None if it has no text."""
        if token == "{":
            atoms = [atom for atom in self.row("}") if atom.kind != SPACE or atom.text]
            return atoms[0] if len(atoms) == 1 and atoms[0].kind in (FRACTION, LARGE, NAME) else Atom(write(atoms))
        if token[:1] == "\\":
            return self.command(token[1:])
        if token in ("^", "_", "'"):
            self.at -= 1
            return Atom("")
        if token == "," and "".join(self.tokens[self.at - 2 : self.at + 1 : 2]).isdigit():
            return Atom(",")  # as in 3,14; a list of numbers has a space after it
        return character(token)

    def command(self, name: str) -> Atom | None:
        """Return the text of a command."""
        if name in NOTHING:
            if name in ("left", "right", "middle") or name[:3].lower() == "big":
                if self.peek() == ".":
                    self.take()
                elif self.peek() in ("<", ">"):
                    return Atom("⟨", OPEN) if self.take() == "<" else Atom("⟩", CLOSE)
            return None
        if name in SIGNS:
            return Atom(*SIGNS[name])
        if name in _UNSEEN:
            self.raw()
            return None
        if name in _FRACTIONS:
            return self.fraction(self.argument(), self.argument())
        if name in STYLES:
            return Atom("".join(alphabet(STYLES[name], letter) for letter in self.argument()))
        if name in ACCENTS:
            return Atom(accented(self.argument(), *ACCENTS[name]))
        if name in _TEXTS:
            return Atom(plain(self.raw()))
        return self.rare_command(name)

    def rare_command(self, name: str) -> Atom | None:
        if name == "sqrt":
            degree, content = self.option(), self.argument()
            root = _ROOTS.get(degree) or raised(degree) + "√"
            return Atom(root + bracketed(content, False))
        if name == "operatorname":
            if self.peek() == "*":
                self.take()
            return Atom(self.argument(), NAME)
        if name == "not":
            atom = self.argument_atom()
            return Atom(atom.text + "\u0338", atom.kind)
        if name in ("pmod", "tag"):
            return Atom(f" (mod {self.argument()})" if name == "pmod" else f" ({plain(self.raw())})")
        if name == "ce":
            shown = scripts_of_tags(chemical(self.raw()))
            return Atom(shown)
        if name == "textcolor":
            self.raw()
            return self.argument_atom()
        if name in ARROWS:
            under = self.option()
            return arrow(self.argument(), under, *ARROWS[name])
        if name in _OVER:
            return marked(self.argument(), self.argument_atom())
        if name == "underset" and not self.argument():
            return self.argument_atom()
        if name == "begin":
            return self.environment(self.raw())
        raise NoTextError

    def environment(self, name: str) -> Atom:
        """Return an environment: cases in braces, or lines in a row; matrices raise an error."""
        if name in _BY_COUNT:
            self.raw()
        if name in _CASES:
            lines = [", ".join(filter(None, (write(cell).strip(" ,;") for cell in line))) for line in self.lines()]
            stop = "." * lines[-1].endswith(".")
            shown = "{" + "; ".join(line.rstrip(".") for line in lines if line) + "}" + stop
        elif name in _LINES:
            shown = ""
            for line in self.lines():
                atoms = [atom for cell in line for atom in cell]
                apart = "" if not shown or shown[-1] in ",;." or atoms[:1] and atoms[0].kind in (RELATION, BINARY) else ";"
                shown += f"{apart} {write(atoms)}" if atoms else ""
        else:
            raise NoTextError
        if self.raw() != name or not shown.strip(" {}"):
            raise NoTextError
        return Atom(shown.strip())

    def lines(self) -> list[list[list[Atom]]]:
        """Read the lines of an environment, each as a list of cells."""
        lines: list[list[list[Atom]]] = [[]]
        while self.last != "\\end":
            lines[-1].append(self.row("&", "\\\\", "\\end"))
            if self.last == "\\\\":
                lines.append([])
                distance = _DISTANCE.match("".join(self.tokens[self.at : self.at + _DISTANCE_TOKENS]))
                self.at += distance.end() if distance else 0  # each character is a token
        self.last = ""
        return lines

    def fraction(self, over: str, under: str) -> Atom:
        if not over.strip() or not under.strip():
            raise NoTextError
        return Atom(f"{bracketed(over.strip(), True)}/{bracketed(under.strip(), False)}", FRACTION)

    def with_scripts(self, atom: Atom) -> Atom:
        """Return an atom with its superscript and subscript."""
        low = high = ""
        while (token := self.peek()) in ("^", "_", "'", "\\limits", "\\nolimits") and token:
            self.take()
            if token == "'":
                count = 1
                while self.peek() == "'":
                    self.take()
                    count += 1
                high += _PRIMES[count] if count < len(_PRIMES) else "′" * count
            elif token == "^":
                high += raised(self.argument())
            elif token == "_":
                low += lowered(self.argument())
        if not low and not high:
            return atom
        text = f"({atom.text})" if atom.kind == FRACTION else atom.text
        kind = LETTER if atom.kind in (FRACTION, BINARY, POSTFIX, SPACE, UNARY) else atom.kind
        scripts = low + high if text.strip() else high + low  # before an element: mass number, then atomic number
        return Atom(text + scripts, kind)


@lru_cache(maxsize=1 << 12)
def tex_to_text(tex: str) -> str | None:
    """Return a formula as text; None if that is not possible, as for a matrix, or a subscript that Unicode lacks."""
    if len(tex) > _MAX_CHARACTERS:
        return None
    try:
        formula = _Formula(decode_entities(tex))
        shown = write(formula.row(""))
    except NoTextError:
        return None
    if shown.count("{") != shown.count("}"):
        return None  # a brace that spans several lines
    return unicodedata.normalize("NFC", " ".join(shown.split()).replace("...", "…"))
