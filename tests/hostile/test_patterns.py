"""Every regular expression of the package takes linear time, or is given strings of bounded length.

Patterns are found by machine: as attributes of modules, and as the first argument of a call of ``re``.  Each is tried on hard
strings made from it (`hard_strings`), at several sizes, by the method that the module calls on it.
"""

from __future__ import annotations

import ast
import importlib
import math
import re
import signal
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from conftest import REPOSITORY
from hard_strings import hard_strings

pytestmark = pytest.mark.nightly

CALLS = frozenset(["compile", "search", "match", "fullmatch", "split", "sub", "subn", "findall", "finditer"])
FROM_THE_START = frozenset(["match", "fullmatch"])
LEAST, SMALL, MIDDLE, LARGE = 500, 2_000, 8_000, 24_000  # characters
QUICK = 2e-7  # seconds a character: what is faster on the small string is not looked at again
GROWTH = 3.0  # a linear pattern grows by one from size to size, a quadratic one by four
STRAIGHT = 5.5  # growth of the time from LEAST to SMALL; of what grows by GROWTH from SMALL to MIDDLE it is 5.8
BOUNDED = {  # patterns that see no more than so many characters, and why
    ("bertdata.text.sentences.cuts", "_ENUMERATOR"): (9, "cut gives it fewer than nine characters"),
    ("bertdata.text.sentences.cuts", "_ITEM"): (12, "cut gives it twelve characters"),
    ("bertdata.text.sentences.cuts", "_TOOK_UP"): (200, "_goes_on gives it _WITHIN characters"),
    ("bertdata.text.sentences.words", "_LONG_WORD"): (24, "is_written_out gives it _LOOK_BACK_CHARS characters"),
    ("bertdata.sources.books.headings", "_NUMERAL"): (150, "is_heading gives it no text longer than _MAX_HEADING_CHARACTERS"),
    ("bertdata.text.wikitext.convert.units", "_POWER"): (32, "find_unit gives it no code longer than _MAX_CODE_CHARACTERS"),
    ("bertdata.text.wikitext.convert.call", "_RANGE"): (200, "_read_values gives it _MAX_LIST_CHARACTERS characters"),
}
_LINE = "it is matched once, at the beginning of a line or of a block's text"
_NAME = "it is matched once against a file's name"
_ONWARD = "each match begins where the last one ended"
ANCHORED = {  # patterns that would take quadratic time in a search, and why nothing searches with them
    ("bertdata.storage.files", "_URL"): "it is matched once against a path",
    ("bertdata.storage.files", "_HUB"): "it is matched once against a path",
    ("bertdata.sources.books.apparatus", "_PAGE_LINE"): _LINE,
    ("bertdata.sources.books.blocks", "_ITEM"): _LINE,
    ("bertdata.sources.books.epub", "_TRUSTED"): "it is matched once against the name of an encoding",
    ("bertdata.sources.books.footnotes", "_OPENS"): _LINE,
    ("bertdata.sources.books.gutenberg", "_CREDIT"): "it is matched once against a paragraph",
    ("bertdata.sources.books.footnotes", "_DEFINITION"): _LINE,
    ("bertdata.sources.books.gutenberg", "_END"): _LINE,
    ("bertdata.sources.books.headings", "_CHAPTER"): _LINE,
    ("bertdata.sources.books.headings", "_NOTES_LINE"): _LINE,
    ("bertdata.sources.books.headings", "_NUMBERED"): _LINE,
    ("bertdata.sources.checksums", "_SUMS"): _NAME,
    ("bertdata.sources.multistream", "_DUMP"): _NAME,
    ("bertdata.sources.multistream", "_INDEX"): _NAME,
    ("bertdata.sources.lists", "_ITEM"): _LINE,
    ("bertdata.sources.lists", "_TABLE_RULE"): _LINE,
    ("bertdata.sources.text", "_TITLE_TEXT"): _LINE,
    ("bertdata.sources.text", "_TITLE_BYTES"): _LINE,
    ("bertdata.text.wikitext.paragraphs", "_HEADING"): _LINE,
    ("bertdata.text.wikitext.paragraphs", "_DISPLAYED"): _LINE,
    ("bertdata.text.wikitext.tables", "_ROW"): _LINE,
    ("bertdata.text.wikitext.templates.expressions", "_TOKEN"): _ONWARD,
    ("bertdata.text.wikitext.pages", "_REDIRECT"): "it is matched once against a page",
}
CLOSED = {  # patterns that see only strings with this end, and why
    ("bertdata.sources.books.markup", "_COMMENT"): ("-->", "parse removes openings that have no end"),
    ("bertdata.sources.books.markup", "_CDATA"): ("]]>", "parse removes openings that have no end"),
    ("bertdata.text.wikitext.external", "_LINK"): ("]", "drop_addresses gives it a line up to its last bracket"),
}
MAX_CPU_S = 0.5  # seconds of the processor: a linear pattern takes hundredths, one that backtracks may take years
CERTAIN = 0.1  # seconds for the large string, from which other work on the machine does not make a pattern look superlinear
AT_ONCE = 0.005  # seconds for a string of that length
BUILT = {  # patterns made when the program runs: the source of the call, and an example
    ("bertdata.text.sentences.words", r"f'(?:(?<!\\w)(?:{before})|\\d ?(?:{_UNITS}))\\s?$'"): (
        r"(?:(?<!\w)(?:etc|т\. ?д|т\. ?п|и др|m\.? ?m|κ\.?λπ|di|la|laser)|\d ?(?:[kcm]?m[²³]?|ha|k?g|[kMG]?Hz|°[CF]|кг|χλμ))\s?$"
    ),
    ("bertdata.cli.inspect", r"'\\s*'.join(map(re.escape, search.split()))"): r"the\s*ferry\s*crossed",
    ("bertdata.sources.wikis", "f'<{name}>([^<]*)</{name}>'"): "<base>([^<]*)</base>",
}


class Found(NamedTuple):
    """A pattern, the module and name (or line) it stands at, and the methods that are called on it."""

    module: str
    name: str
    pattern: re.Pattern[Any]
    methods: frozenset[str]


def modules() -> list[str]:
    """List the modules that import ``re``."""
    files = [*(REPOSITORY / "bertdata").rglob("*.py"), *(REPOSITORY / "pipelines").rglob("*.py")]
    return sorted(_module_name(path) for path in files if "import re\n" in path.read_text(encoding="utf-8"))


def _module_name(path: Path) -> str:
    name = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")
    return f"bertdata.{name}" if name.startswith("pipelines") else name


def _patterns(value: object, depth: int = 0) -> Iterator[re.Pattern[Any]]:
    """Yield the patterns in a value and in what it contains."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, (dict, tuple, list, set, frozenset)) and depth < 4:
        for item in value.values() if isinstance(value, dict) else value:
            yield from _patterns(item, depth + 1)


def _methods(tree: ast.AST) -> dict[str, set[str]]:
    """Return which attributes of each name, or of what it contains, are used; a name used by itself has every method."""
    used: dict[str, set[str]] = {}
    owned: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value
            while isinstance(owner, ast.Subscript):
                owner = owner.value
            if isinstance(owner, ast.Name):
                used.setdefault(owner.id, set()).add(node.attr)
                owned.add(id(owner))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in owned:
            used.setdefault(node.id, set()).add("finditer")
    return used


def collect(module: ModuleType) -> list[Found]:
    """Return the patterns of a module; fail at one that cannot be found."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    used = _methods(tree)
    found = [
        Found(module.__name__, name, pattern, frozenset(used.get(name, ())) or frozenset(["finditer"]))
        for name, value in vars(module).items()
        for pattern in _patterns(value)
    ]
    known = {each.pattern.pattern for each in found}
    inside = {id(node) for function in ast.walk(tree) if isinstance(function, ast.FunctionDef) for node in ast.walk(function)}
    for node in ast.walk(tree):
        call = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func
        if not isinstance(node, ast.Call) or not call or ast.unparse(call.value) != "re" or call.attr not in CALLS:
            continue
        source = ast.unparse(node.args[0])
        try:
            text = eval(compile(ast.Expression(node.args[0]), "pattern", "eval"), vars(module))
        except NameError:  # it is built from local names
            if id(node) not in inside:
                continue  # in a comprehension: the values are attributes of the module
            text = BUILT[module.__name__, source.replace("'|'", '"|"')]
        if text not in known:
            method = "finditer" if call.attr == "compile" else call.attr
            found.append(Found(module.__name__, f"line {node.lineno}", re.compile(text), frozenset([method])))
    return found


class _TooLong(Exception):
    """A call has taken MAX_CPU_S."""


class _Watch:
    """Interrupts a call that has taken MAX_CPU_S of the processor's time."""

    started = math.inf  # when the call began

    def look(self, *_: object) -> None:
        if time.process_time() - self.started >= MAX_CPU_S:
            raise _TooLong


WATCH = _Watch()


@pytest.fixture(autouse=True)
def watched() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, WATCH.look)
    signal.setitimer(signal.ITIMER_REAL, MAX_CPU_S / 4, MAX_CPU_S / 4)  # `re` looks for signals while it matches
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def seconds(pattern: re.Pattern[Any], method: str, text: Any) -> float:
    """Return the processor time of one call, or of finding all matches; infinity where that is over MAX_CPU_S."""
    start = WATCH.started = time.process_time()
    try:
        if method in FROM_THE_START:
            getattr(pattern, method)(text)
        else:
            deque(pattern.finditer(text), 0)
        return time.process_time() - start
    except _TooLong:
        return math.inf
    finally:
        WATCH.started = math.inf


def made(pattern: re.Pattern[Any], parts: tuple[str, str, str], size: int) -> Any:
    """Return a hard string of about so many characters."""
    prefix, piece, end = parts
    text = prefix + piece * max(1, (size - len(prefix) - len(end)) // len(piece)) + end
    return text if isinstance(pattern.pattern, str) else text.encode("latin-1", "replace")


def is_superlinear(pattern: re.Pattern[Any], method: str, parts: tuple[str, str, str]) -> bool:
    """Return True if the time grows faster than the string; other work on the machine may spoil a measurement, not three."""
    strings = [made(pattern, parts, size) for size in (LEAST, SMALL)]
    if (least := seconds(pattern, method, strings[0])) < QUICK * SMALL * (LEAST / SMALL) ** 2:
        return False
    if least == math.inf:
        return True
    if (first := seconds(pattern, method, strings[1])) < QUICK * SMALL:
        return False
    if first == math.inf:
        return True
    if first < STRAIGHT * min(least, seconds(pattern, method, strings[0])):
        return False
    strings = [strings[1], *(made(pattern, parts, size) for size in (MIDDLE, LARGE))]
    for small, large in ((0, 1), (1, 2), (0, 1), (1, 2)):
        growth = GROWTH * 0.75 * len(strings[large]) / len(strings[small])
        if (longer := seconds(pattern, method, strings[large])) == math.inf:
            return True
        if longer < growth * min(seconds(pattern, method, strings[small]) for _ in range(3)):
            return False
        if large == 2 and longer > CERTAIN:
            return True
    return True


def methods(found: Found) -> set[str]:
    """Return the methods to try: those that look everywhere are one, and a pattern is tried so even if no caller does it yet."""
    used = {method if method in FROM_THE_START else "finditer" for method in found.methods - {"pattern", "flags"}}
    listed = (found.module, found.name) in ANCHORED.keys() | BOUNDED.keys()
    return used if listed or found.name.startswith("line ") else used | {"finditer"}


@pytest.mark.parametrize("name", modules())
@pytest.mark.slow
def test_patterns_take_linear_time(name: str) -> None:
    for found in collect(importlib.import_module(name)):
        limit, _ = BOUNDED.get((found.module, found.name), (0, ""))
        for method in methods(found):
            for prefix, piece, end in hard_strings(found.pattern):
                parts = prefix, piece, end + CLOSED.get((found.module, found.name), ("",))[0]
                if limit:
                    text = made(found.pattern, parts, limit)[:limit]
                    assert any(seconds(found.pattern, method, text) < AT_ONCE for _ in range(3)), (found, parts)
                else:
                    assert not is_superlinear(found.pattern, method, parts), (found, method, parts)


def test_bounded_patterns_are_there() -> None:
    for module, name in (*BOUNDED, *CLOSED, *ANCHORED):
        assert hasattr(importlib.import_module(module), name), f"{module}.{name} has gone: take it from the list"


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(?:\d+\.?\d*|\.\d+)(?:e\d)?", "fullmatch"),  # of #ifeq, before it was mended
        (r'<span\s[^>]*\bclass="(?:[^"]*\s)?error\b', "search"),  # of #iferror, before it was mended
        (r"<[^<>]*>|<!--.*?-->", "finditer"),
        (r"\s+$", "search"),
        (r"(\w+)\s*=\s*\1;", "search"),
        (r"\s*--\s*", "sub"),
        (r"(?:a|aa)+$", "match"),
        (r"[a-z]*\d*[a-z]*!", "match"),
        (r"\s*#(?:redirect|weiterleitung)\s*:?\s*\[\[", "match"),  # of redirects, before it was mended
        (r"\*{1,3}\s*END\s*(?:\*|OF)?\s*\*{0,3}\s*SMALL\s+PRINT", "match"),  # of books, before it was mended
        (r"\W*(?:act|scene|akt|aufzug|szene|auftritt|bedrijf|tooneel|jornada|dramatis personae)\b", "search"),
        (r"[\W_]*(?:appendix|notes?|afterword|epilogue|postscript|glossary|anmerkungen|bijlage)\b", "search"),
        ("(?:[。！？｡]|(?<=[”」』）])[!?])[。！？｡!?]*(?:[”’」』）)】》〉\"']+[。！？｡]?)*", "fullmatch"),
    ],
)
@pytest.mark.slow
def test_quadratic_patterns_are_found(pattern: str, method: str) -> None:
    found = Found("", "", re.compile(pattern), frozenset([method]))
    assert any(is_superlinear(found.pattern, each, parts) for each in methods(found) for parts in hard_strings(found.pattern))


@pytest.mark.parametrize("pattern", [r"<[^<>]{0,50}>", r"(?<!\s)\s+x", r"\bword\b", r"[^\W\d_]+(?:-[^\W\d_]+)*", r"a|b|cd"])
def test_linear_patterns_are_let_through(pattern: str) -> None:
    compiled = re.compile(pattern)
    assert not any(is_superlinear(compiled, "finditer", parts) for parts in hard_strings(compiled))
