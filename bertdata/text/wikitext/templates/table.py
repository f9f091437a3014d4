"""The table of templates with words: TOML files with wikitext bodies.

    footnotes = ["sfn", "citation needed"]          # vanish with the space before them

    formulas = ["math", "mvar"]                     # output formulas, handled by the option `math`

    [templates]
    "nowrap | nobr" = "{{{1|}}}"
    "convert" = "{{#convert:{{{...}}}}}"            # {{{...}}}: all arguments of the call
    "lang-*" = "{{#language:{{{*}}}}}: {{{1}}}"     # {{{*}}}: text matched by the star; {{{0}}}: the call's name
    "#e" = "{{uc:{{{#}}}}}<sup>e</sup>"             # {{{#}}}: number matched by the sign, in Arabic or Roman figures
    "flagicon" = ""                                 # has no words: not counted as dropped

    [languages]
    fr = "French"                                   # text of {{#language:fr}}

Names are compared in lower case, with underscores as spaces.  The user's files come first, then the wiki's
language, then what every wiki has, then those of the English table that have no words: wikis take templates
from it with their names.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ....config import parse_toml
from ....errors import UsageError, did_you_mean
from ..extensions import resolve_extensions
from ..marks import FOOTNOTE, VANISHED
from .braces import GONE, Call, Node, Parameter, Parts, parse, scan
from .functions import FUNCTIONS, PLAIN_FUNCTIONS, VARIABLES
from .modules import MODULES

_TABLES = Path(__file__).parent / "tables"
# The first argument of a function that may not matter: a condition does not if both branches show the same.
_BRANCHES = {"#if:": 0, "#ifeq:": 0, "#ifexpr:": 1, "#iferror:": 1, "#switch:": 1, "#tag:": 1}
_SAME_LANGUAGE = {"simple": "en"}  # wikis that use the language of another
# Arabic or Roman figures; not L, C, D and M alone, which are words with "e" behind them.
_NUMBER = r"(?P<number>[0-9]{1,4}|(?=[ivx])(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3}))"


class Body(NamedTuple):
    """The text of a template, parsed; ``cost`` is its share of a page's work limit, ``mark`` what a call without words leaves.

    ``matched`` are the parts of the name that signs of a pattern match.
    """

    parts: Parts = ""
    cost: int = 0
    mark: str = ""
    matched: tuple[tuple[str, str], ...] = ()


@cache
def _parsed(text: str) -> Body:
    parts = parse(resolve_extensions(text))
    cost = 10 + 10 * sum(1 for _ in walk(parts)) + len(text) // 100
    return Body(parts[0] if len(parts) == 1 else parts, cost, "" if parts else VANISHED)


@dataclass(frozen=True)
class Templates:
    """A table of templates; ``functions`` are the available parser functions.

    ``bodies`` maps names to wikitext, parsed on the first call.
    """

    footnotes: frozenset[str] = frozenset()
    formulas: frozenset[str] = frozenset()
    bodies: Mapping[str, str] = field(default_factory=dict)
    languages: Mapping[str, str] = field(default_factory=dict)
    functions: frozenset[str] = frozenset(PLAIN_FUNCTIONS)
    patterns: tuple[tuple[re.Pattern[str], str], ...] = ()
    learned: frozenset[str] = frozenset()  # names of bodies from the wiki's dump

    @cached_property
    def lookup(self) -> Callable[[str], Body | None]:
        """Return the known facts of a call by name: a template, a variable or, with a colon at the end, a function."""

        @lru_cache(maxsize=1 << 13)  # pages share names
        def lookup(name: str) -> Body | None:
            if name in self.footnotes:
                return Body(mark=FOOTNOTE)
            if (text := self.bodies.get(name)) is not None:
                return _parsed(text)
            # The patterns are sorted by length, so that "lang-*-short" wins over "lang-*".
            for pattern, text in self.patterns:
                if match := pattern.fullmatch(name):
                    signs = {"star": "*", "number": "#"}
                    return _parsed(text)._replace(matched=tuple((signs[key], found) for key, found in match.groupdict().items()))
            function = name.removesuffix(":")
            return Body() if function in self.functions and (function != name or name in VARIABLES) else None

        return lookup


def _fault(file: str, name: object, fault: str) -> UsageError:
    return UsageError(f"{file}: template {name!r}: {fault}")


def _names(key: str) -> list[str]:
    """Split a key into template names."""
    return [" ".join(name.replace("_", " ").lower().split()) for name in key.split(" | ")]


def _read(file: str, text: str) -> Templates:
    """Return the templates of one file; raise UsageError if it is not a table of templates."""
    content = parse_toml(file, text)
    for key, value in content.items():
        kind = {"footnotes": list, "formulas": list, "templates": dict, "languages": dict}.get(key)
        if kind is None:
            raise UsageError(f"{file}: unknown key {key!r}: use footnotes, formulas, [templates] and [languages]")
        if not isinstance(value, kind):
            raise UsageError(f"{file}: {key} must be a {'list of names' if kind is list else 'table'}")
        for name, text in value.items() if isinstance(value, dict) else enumerate(value):
            if not isinstance(text, str):
                raise _fault(file, name, "the value must be a string")
    footnotes, formulas = (frozenset(chain(*map(_names, content.get(key, [])))) for key in ("footnotes", "formulas"))
    bodies: dict[str, str] = {}
    for key, body in content.get("templates", {}).items():
        for name in _names(key):
            if not name.strip("*#") or not set(name).isdisjoint("{}[]|") and name not in ("(!", "!)"):
                raise _fault(file, key, "no name for a template")
            bodies[name] = body
    return Templates(footnotes, formulas, bodies, {code.lower(): name for code, name in content.get("languages", {}).items()})


def walk(parts: Parts, always: bool = True) -> Iterator[tuple[Node, bool]]:
    """Yield the nodes of a tree, and whether each call of the template evaluates them."""
    if isinstance(parts, str):
        return
    if not isinstance(parts, (Parameter, Call)):
        for part in parts:
            yield from walk(part, always)
        return
    yield parts, always
    if isinstance(parts, Parameter):
        yield from walk(parts.default or "", False)
        return
    first = _BRANCHES.get(parts.name, len(parts.arguments))
    for index, (_, value) in enumerate(parts.arguments):
        yield from walk(value, always and index < first)


def _check(table: Templates, file: str, name: str, body: str) -> None:
    """Raise UsageError for a body that does not parse, or that calls a function or a template that does not exist."""
    if any(span.kind == GONE for span in scan(resolve_extensions(body))):
        raise _fault(file, name, "braces without a partner")
    for node, _ in walk(_parsed(body).parts):
        if isinstance(node, Call) and table.lookup(node.name) is None:
            known = [f"{function}:" for function in table.functions] if node.name.endswith(":") else table.bodies
            raise _fault(file, name, f"calls {{{{{node.name}}}}}, which does not exist{did_you_mean(node.name, known)}")


def _with(table: Templates, read: Templates) -> Templates:
    """Return the table with a file's templates, which override existing ones."""
    bodies = {name: text for name, text in table.bodies.items() if name not in read.footnotes} | dict(read.bodies)
    patterns = sorted((name for name in bodies if "*" in name or "#" in name), key=lambda name: (-len(name), name))
    return Templates(
        footnotes=(table.footnotes | read.footnotes) - read.bodies.keys(),
        formulas=table.formulas | read.formulas,
        bodies=bodies,
        languages={**table.languages, **read.languages},
        functions=frozenset([*FUNCTIONS, *MODULES]),
        patterns=tuple((_pattern(name), bodies[name]) for name in patterns),
    )


def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(re.escape(name).replace(r"\*", "(?P<star>.+)").replace(r"\#", _NUMBER))


@cache
def _built_in(language: str) -> Templates:
    """Return the built-in table of a language; the tests check it like a user's table."""
    code = _SAME_LANGUAGE.get(language, language)
    table = Templates()
    if code != "en":
        english = _built_in("en")
        empty = {name: text for name, text in english.bodies.items() if not text}
        table = Templates(footnotes=english.footnotes, bodies=empty)
    # Later entries win: English wordless templates, then those of all wikis, then those of the language.
    for name in ("common", code):
        path = _TABLES / f"{name}.toml"
        if name.isidentifier() and path.exists():
            table = _with(table, _read(path.name, path.read_text(encoding="utf-8")))
    return table


def load_templates(
    language: str, tables: Mapping[str, str] = MappingProxyType({}), learned: Mapping[str, str] = MappingProxyType({})
) -> Templates:
    """Return the table for a wiki, overridden by the user's tables, in order.

    ``learned`` maps names to bodies from the wiki's dump, for names that are not in the table.

    ``tables`` maps the names of TOML files to their text.  If a file cannot work, raise a ``UsageError`` with the file, the
    template and the problem.

    >>> table = load_templates("en", {"mine.toml": '[templates]\\ntea = "a cup of {{{1|tea}}}"'})
    >>> table.lookup("tea") is not None
    True
    """
    table = _built_in(language)
    for file, text in tables.items():
        read = _read(file, text)
        table = _with(table, read)
        for name, body in read.bodies.items():
            _check(table, file, name, body)
    if learned:
        table = replace(table, bodies={**learned, **table.bodies}, learned=frozenset(learned.keys() - table.bodies.keys()))
    return table


@cache
def no_templates(language: str) -> Templates:
    """Return a table that only knows the footnote marks."""
    return Templates(footnotes=_built_in(language).footnotes)
