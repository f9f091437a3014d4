"""Prefixes of links: namespace names in all Wikipedias, and language codes.

Every name is valid on every wiki: Wikipedias import articles from each other, and old names stay in use.

    >>> names = Namespaces.build({"plik": 6})
    >>> [names.kind(target) == FILE for target in ("Datei:Foto.jpg", "画像: x", ":File:x", "Time: a play")]
    [True, True, False, False]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ...config import read_toml

FILE = 6
TEMPLATE = 10
CATEGORY = 14
OTHER_LANGUAGE = 1000  # not a namespace of MediaWiki: a link to the same article in another language


@dataclass(frozen=True)
class Namespaces:
    """Look up the prefix of a link."""

    numbers: Mapping[str, int]

    @classmethod
    def build(cls, dump_names: Mapping[str, int] | None = None) -> "Namespaces":
        """Return the built-in names, overridden by the dump's own (lowercase name -> number)."""
        if not dump_names:
            return _built_in()
        return _with(tuple(dump_names.items()))

    def kind(self, target: str) -> int | None:
        """Return the namespace of a link's target, or None if it has no prefix or starts with a colon."""
        return self.numbers.get(_plain(target.partition(":")[0]))


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().lower()


@lru_cache(maxsize=64)
def _with(dump_names: tuple[tuple[str, int], ...]) -> Namespaces:
    """Return the built-in names and those of a dump; cached for all its pages."""
    return Namespaces({**_built_in().numbers, **{_plain(name): number for name, number in dump_names}})


@lru_cache(maxsize=1)
def _built_in() -> Namespaces:
    tables = read_toml(Path(__file__).with_name("namespaces.toml"))
    numbers = dict.fromkeys(tables["links"]["languages"].split(), OTHER_LANGUAGE)
    for columns in tables["names"].values():
        for number, names in zip((FILE, CATEGORY, TEMPLATE), columns, strict=True):
            numbers.update((_plain(name), number) for name in names)
    return Namespaces(numbers)
