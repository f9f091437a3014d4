"""Redirects and behavior switches, in any language.

>>> is_redirect("#WEITERLEITUNG [[Rom]]"), is_redirect("# one\\n# two"), is_redirect("#One [[cup]]\\n#Two [[cups]]")
(True, False, False)
>>> drop_switches("a __NOTOC__ b __init__ __目次非表示__ __FILE__")
'a  b __init__  __FILE__'
"""

import re

# Each wiki has its own word, of one or two parts. A list that begins with one word and a link goes on with another item.
_WORD = r"[^\s\[\]{}|:#*<>0-9]{2,60}"
_REDIRECT = re.compile(
    rf"\s{{0,999}}[#＃]({_WORD}(?:[ _]{_WORD})?)\s{{0,99}}:?\s{{0,99}}\[\[[^\[\]\n]{{1,600}}\]\](?![^\n]{{0,999}}\n[#＃*])"
)
_SHORT = frozenset(["đổi", "виж", "види", "stir", "alih", "tam"])  # in small letters, other short words are text
# Words of a wiki in capitals, or of a script without capitals. In small letters, the English ones are written.
_SWITCH_WORD = r"([^\s_＿.]{1,40}(?:_[^\s_＿.]{1,40}){0,5})[_＿]{2}([ \t]*)"
_SWITCH = re.compile("_(?=_)_" + _SWITCH_WORD)  # one literal character, then a look-ahead: faster than two literals
_WIDE_SWITCH = re.compile("[_＿]{2}" + _SWITCH_WORD)  # Japanese has wide underscores as well
_SMALL_WORDS = "toc notoc forcetoc noeditsection newsectionlink nonewsectionlink nogallery hiddencat index noindex"
_PROGRAM_WORDS = "FILE LINE DATE TIME COUNTER VA_ARGS FUNCTION STDC VERSION"  # of programming languages
_SMALL, _NAMES = frozenset(_SMALL_WORDS.split()), frozenset(_PROGRAM_WORDS.split())


def is_redirect(wikitext: str) -> bool:
    """Return True if the page is a redirect."""
    start = _REDIRECT.match(wikitext)
    return start is not None and (not start[1].islower() or len(start[1]) > 4 or start[1] in _SHORT)


def drop_switches(text: str) -> str:
    """Return ``text`` without behavior switches."""
    return (_WIDE_SWITCH if "＿" in text else _SWITCH).sub(_shown, text)


def _shown(switch: re.Match[str]) -> str:
    """Return "" for a switch; at the start of a line, also remove the whitespace after it, which is not preformatting."""
    word = switch[1]
    is_switch = word.lower() in _SMALL if word.isascii() and word != word.upper() else word not in _NAMES
    if not is_switch or word.isdigit() or (word.isascii() and len(word) < 3):
        return switch[0]
    return "" if switch.string[switch.start() - 1 : switch.start()] in ("", "\n") else switch[2]
