"""Prefixes of links: namespace names in all Wikipedias, and language codes.

Every name is valid on every wiki: Wikipedias import articles from each other, and old names stay in use.

    >>> [namespace(target, {"plik": 6}) == FILE for target in ("Datei:Foto.jpg", "画像: x", "Plik:x", ":File:x", "Time: a play")]
    [True, True, True, False, False]
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ...config import read_toml

FILE = 6
TEMPLATE = 10
CATEGORY = 14
OTHER_LANGUAGE = 1000  # not a namespace of MediaWiki: a link to the same article in another language


def namespace(target: str, own: Mapping[str, int] | None = None) -> int | None:
    """Return the namespace of a link's target, or None if it has no prefix or starts with a colon.

    ``own`` are the names of the wiki, in lower case, which come before those of all wikis.
    """
    name = _plain(target.partition(":")[0])
    return own[name] if own and name in own else _built_in().get(name)


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().lower()


@cache
def _built_in() -> dict[str, int]:
    tables = read_toml(Path(__file__).with_name("namespaces.toml"))
    numbers = dict.fromkeys(tables["links"]["languages"].split(), OTHER_LANGUAGE)
    for columns in tables["names"].values():
        for number, names in zip((FILE, CATEGORY, TEMPLATE), columns, strict=True):
            numbers.update((_plain(name), number) for name in names)
    return numbers
