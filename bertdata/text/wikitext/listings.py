"""Keep the descriptions in listings of Wikivoyage: sights, restaurants, hotels and so on, each a template in a list.

>>> separate("* {{see | name=Pier | content=It is long.}}\\n* {{Eat|name=Inn}}\\n* [[Quay]]")
'{{see | name=Pier | content=It is long.}}\\n{{Eat|name=Inn}}\\n* [[Quay]]'
"""

import re

__all__ = ["LISTINGS", "separate"]

_NAMES = (
    *("listing", "see", "do", "buy", "eat", "drink", "sleep", "go", "learn", "vcard"),
    *("voir", "faire", "acheter", "manger", "sortir", "se loger", "aller"),  # French
    *("ver", "hacer", "comprar", "comer", "beber", "dormir"),  # Spanish
)
_ARGUMENTS = ("content", "description", "beschreibung", "descrizione", "descripción", "descrição")
_ITEM = re.compile(rf"^[*#:]+[ \t]*(?=\{{\{{[ \t]*(?:{'|'.join(_NAMES)})[ \t]*[|}}\n])", re.IGNORECASE | re.MULTILINE)
_TEXT = "".join(f"{{{{{{{name}|" for name in _ARGUMENTS) + "}}}" * len(_ARGUMENTS)

LISTINGS = (  # a template table: its name and its text
    "listings.toml",
    f'[templates]\n"{" | ".join(_NAMES)}" = "{{{{#if:{_TEXT}|<div>{_TEXT}</div>}}}}"\n',
)


def separate(text: str) -> str:
    """Remove the list markers before listings, so that each becomes a paragraph."""
    return _ITEM.sub("", text)
