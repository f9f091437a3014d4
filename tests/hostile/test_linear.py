"""Regular expressions of the package, and functions that take foreign text, take linear time on any text.

Each is tried on short pieces that are repeated: for a pattern, characters and runs made from its own source.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import bertdata
from bertdata.credentials import hide
from bertdata.sources.books import clean
from bertdata.sources.encodings import decode
from bertdata.sources.lines import paragraphs
from bertdata.text.language.identify import guess
from bertdata.text.sentences import split_sentences
from bertdata.text.wikitext import extract_paragraphs
from bertdata.text.wikitext.tex import tex_to_text

pytestmark = pytest.mark.nightly

SIZES = 6_000, 24_000  # characters: quadratic time grows sixteenfold
GROWTH = 10.0
CERTAIN_S = 0.05  # what is faster for the long text is not looked at again
SEARCHES = re.compile(r"\.(?:search|finditer|findall|sub|subn|split)\b")
BOUNDED = "_ENUMERATOR _ITEM _TOOK_UP _REFERENCE _LONG_WORD _SEE _DATE _CODE _NUMERAL _POWER _RANGE"  # see only short texts
TEXTS = (
    "{{¦}}¦[[¦]]¦[[a|¦<ref>¦<!--¦<p>¦</p>¦{|\n|-\n|¦'''¦==¦&amp;¦<math>\\frac{¦\\left(¦a¦a ¦A. ¦“¦”¦(¦?¦。¦Mr. ¦1.¦\n¦\n\n¦ \n¦_"
)
TEXTS += "¦* * *\n¦http://¦?a=¦://a@"
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "wikitext": lambda text: list(extract_paragraphs(text)),
    "sentences": lambda text: split_sentences(text, "en"),
    "formulas": tex_to_text,
    "books": lambda text: clean(text),
    "lines": paragraphs,
    "encodings": lambda text: decode(text.encode()),
    "language": guess,
    "secrets": hide,
}


def seconds(work: Callable[[str], object], piece: str, size: int) -> float:
    text, begun = piece * (size // len(piece)), time.process_time()
    work(text)
    return time.process_time() - begun


def is_superlinear(work: Callable[[str], object], piece: str, end: str = "") -> bool:
    """Return True if the time grows much faster than the text, three times: other work may spoil a measurement."""
    run = partial(seconds, lambda text: work(text + end), piece)
    for _ in range(3):
        large = run(SIZES[1])
        if large < CERTAIN_S or large < GROWTH * min(run(SIZES[0]) for _ in range(3)):
            return False
    return True


def patterns() -> Iterator[tuple[str, Callable[[str], object], re.Pattern[Any]]]:
    """Yield the patterns of the package, with the method that their module calls on them."""
    for info in pkgutil.walk_packages(bertdata.__path__, "bertdata."):
        if info.name.startswith("bertdata.__main__"):
            continue
        module = importlib.import_module(info.name)
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and name not in BOUNDED.split() and f"{name} = " in source:
                calls = re.findall(rf"\b{name}(?:\.\w+)?", source)
                looks = any(SEARCHES.search(call) for call in calls) or name in calls[1:]
                yield f"{info.name}.{name}", (lambda text, p=value: list(p.finditer(text))) if looks else value.match, value


def pieces(pattern: re.Pattern[Any]) -> Iterator[str]:
    """Yield short texts made from the characters of a pattern: each one, and each two that could follow each other."""
    source = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
    literal = [c for c in dict.fromkeys(re.sub(r"\\[a-zA-Z]|\(\?<?[=!:]|[\\^$]", "", source)) if c not in "|+*?"][:7]
    letters = list(dict.fromkeys([*literal, "a", " ", "1", "\n", "<", "A"]))
    yield from letters
    yield from map("".join, product(letters, repeat=2))


@pytest.mark.parametrize(("name", "work", "pattern"), [*patterns()], ids=lambda value: value if isinstance(value, str) else "")
def test_a_pattern_takes_linear_time(name: str, work: Callable[[Any], object], pattern: re.Pattern[Any]) -> None:
    run = work if isinstance(pattern.pattern, str) else (lambda text: work(text.encode("latin-1", "replace")))
    slow = [piece for piece in pieces(pattern) if is_superlinear(run, piece, "!")]
    assert slow == [], name


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_takes_linear_time(name: str) -> None:
    assert [piece for piece in TEXTS.split("¦") if is_superlinear(FUNCTIONS[name], piece)] == []


def test_quadratic_patterns_are_found() -> None:
    for pattern, piece in ((r"\s+$", " "), (r"<[^<>]*>|<!--.*?-->", "<!--"), (r"\s*--\s*", " ")):
        assert is_superlinear(lambda text, p=re.compile(pattern): list(p.finditer(text)), piece, "!"), pattern
    assert not is_superlinear(lambda text: re.findall(r"[^\W\d_]+(?:-[^\W\d_]+)*", text), "a-", "!")
