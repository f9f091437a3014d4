"""Resolve ``-{…}-`` markup, which wikis in two scripts or orthographies use; keep one variant of each word.

A block contains a word per variant, ``-{zh-cn:域;zh-tw:體}-``, or text without conversion, ``-{text}-``.
Flags precede a bar: ``A`` adds a rule to the page and shows the word, ``H`` adds it without showing, ``-`` removes
it, ``T`` sets the title, ``D`` describes the rule, ``R`` is raw.  A rule applies to the text after it.

    >>> resolve_variants("-{zh-cn:域;zh-tw:體}-与-{A|zh-cn:群;zh-tw:羣}-，群", "zh", "zh-tw")
    '體与羣，羣'
    >>> resolve_variants("-{zh-cn:域;zh-tw:體}-", "zh", ""), resolve_variants("-{x}-", "en", "")
    ('域', '-{x}-')
"""

import re
from functools import lru_cache

from ...errors import UsageError

__all__ = ["NOTES", "check_variant", "note_rules", "resolve_variants"]

# For each wiki with variants: the fallbacks of each variant, nearest first.
_FALLBACKS: dict[str, dict[str, str]] = {
    "zh": {
        "zh": "zh-hans zh-hant zh-cn zh-tw zh-hk zh-sg zh-mo zh-my",
        "zh-hans": "zh-cn zh-sg zh-my zh",
        "zh-hant": "zh-tw zh-hk zh-mo zh",
        "zh-cn": "zh-hans zh-sg zh-my zh",
        "zh-sg": "zh-my zh-hans zh-cn zh",
        "zh-my": "zh-sg zh-hans zh-cn zh",
        "zh-tw": "zh-hant zh-hk zh-mo zh",
        "zh-hk": "zh-mo zh-hant zh-tw zh",
        "zh-mo": "zh-hk zh-hant zh-tw zh",
    },
    "sr": {
        "sr": "sr-ec sr-cyrl sr-el sr-latn",
        "sr-ec": "sr-cyrl sr",
        "sr-cyrl": "sr-ec sr",
        "sr-el": "sr-latn sr",
        "sr-latn": "sr-el sr",
    },
    "sh": {"sh": "sh-latn sh-cyrl", "sh-latn": "sh", "sh-cyrl": "sh"},
    "kk": {
        "kk": "kk-cyrl kk-latn kk-arab kk-kz kk-tr kk-cn",
        "kk-cyrl": "kk-kz kk",
        "kk-latn": "kk-tr kk",
        "kk-arab": "kk-cn kk",
        "kk-kz": "kk-cyrl kk",
        "kk-tr": "kk-latn kk",
        "kk-cn": "kk-arab kk",
    },
    "ku": {"ku": "ku-latn ku-arab", "ku-latn": "ku", "ku-arab": "ku"},
    "tg": {"tg": "tg-latn", "tg-latn": "tg"},
    "uz": {"uz": "uz-latn uz-cyrl", "uz-latn": "uz", "uz-cyrl": "uz"},
    "iu": {"iu": "ike-cans ike-latn", "ike-cans": "iu", "ike-latn": "iu"},
    "gan": {"gan": "gan-hans gan-hant", "gan-hans": "gan", "gan-hant": "gan"},
    "crh": {"crh": "crh-cyrl crh-latn", "crh-cyrl": "crh", "crh-latn": "crh"},
    "shi": {"shi": "shi-tfng shi-latn", "shi-tfng": "shi", "shi-latn": "shi"},
    "tly": {"tly": "tly-cyrl", "tly-cyrl": "tly"},
    "wuu": {"wuu": "wuu-hans wuu-hant", "wuu-hans": "wuu", "wuu-hant": "wuu"},
    "zgh": {"zgh": "zgh-latn", "zgh-latn": "zgh"},
}
# MediaWiki's names of the variants; the others use their codes.
_VARIANT_NAMES = """
    zh 原文  zh-hans 简体  zh-hant 繁體  zh-cn 大陆简体  zh-sg 新加坡简体  zh-my 大马简体  zh-tw 臺灣正體  zh-hk 香港繁體
    zh-mo 澳門繁體  sr-ec ћирилица  sr-el latinica
"""
_NAMES = dict(zip(_VARIANT_NAMES.split()[::2], _VARIANT_NAMES.split()[1::2], strict=True))
_EDGE = re.compile(r"-\{|\}-")
_MAX_DEPTH = 10  # deeper blocks are dropped, as in MediaWiki; this also keeps hostile input linear
_MAX_RULES = 500  # a page has a few dozen; the limits are for hostile input
_MAX_PATTERNS = 100
_FLAGS = frozenset(["A", "T", "R", "D", "-", "H", "N", "E", "S"])
_SILENT = frozenset(["T", "H", "-"])
NOTES = frozenset(["noteta", "noteta-lite", "notetalite"])  # templates with rules for the page
_NOTE = re.compile(r"\|\s*\d+\s*=([^|]*)")


@lru_cache(maxsize=len(_FALLBACKS))
def _codes(language: str) -> frozenset[str]:
    """Return the codes of the wiki's variants."""
    return frozenset(code for key, fallbacks in _FALLBACKS[language].items() for code in (key, *fallbacks.split()))


class _Converter:
    """Resolve the blocks of one page, and store their rules."""

    def __init__(self, language: str, variant: str) -> None:
        wanted = variant.lower() or language
        self.codes = _codes(language)
        self.wanted = (wanted, *_FALLBACKS[language].get(wanted, "").split())
        self.converts = wanted != language  # the wiki's own code leaves the text unchanged
        self.rules: dict[str, str] = {}
        self.pattern: re.Pattern[str] | None = None
        self.patterns_left = _MAX_PATTERNS

    def text(self, text: str) -> str:
        """Apply the page's rules to text outside blocks."""
        if not self.rules or not text or text.isspace():
            return text
        if self.pattern is None:
            if not self.patterns_left:
                return text
            self.patterns_left -= 1
            # The longest word first: a rule for 计算机程序 must win over one for 计算机 at the same place.
            longest_first = sorted(self.rules, key=len, reverse=True)
            self.pattern = re.compile("|".join(re.escape(word) for word in longest_first))
        return self.pattern.sub(lambda word: self.rules[word[0]], text)

    def block(self, content: str) -> str:
        """Return the text of one block, and store its rules."""
        if ":" not in content and "|" not in content:
            return content
        head, bar, rest = content.partition("|")
        names = {flag.strip() for flag in head.split(";")} - {""} if bar else set()
        if names and {flag.lower() for flag in names} <= self.codes:
            return rest
        flags = {flag.upper() for flag in names}
        if not flags <= _FLAGS:
            flags, rest = set(), content
        elif not bar:
            rest = content
        if "R" in flags:
            return rest
        if "N" in flags:
            return _NAMES.get(rest.strip().lower(), rest)
        words, one_way = self.words(rest)
        if "D" in flags:
            return "".join(f"{_NAMES.get(code, code)}：{word}；" for code, word in words.items())
        any_word = next(iter([*words.values(), *one_way.values()]), "")
        shown = next((words[code] for code in self.wanted if code in words), any_word)
        if self.converts and flags & {"A", "H", "-"}:
            self.note(dict.fromkeys(words.values(), shown) | one_way, take_back="-" in flags)
        return "" if flags & _SILENT else shown

    def words(self, text: str) -> tuple[dict[str, str], dict[str, str]]:
        """Split ``a:x;b:y`` and ``z=>a:x`` into words by variant and one-way rules for the variant; plain text is a word."""
        rules: list[tuple[str, str, list[str]]] = []
        for piece in text.split(";"):
            source, arrow, target = piece.rpartition("=>")
            code, colon, word = target.partition(":")
            if colon and code.strip().lower() in self.codes:
                rules.append((source.strip() if arrow else "", code.strip().lower(), [word]))
            elif rules:
                rules[-1][2].append(piece)  # a semicolon in a word
            elif piece.strip():
                break
        if not rules:
            return {self.wanted[0]: text}, {}
        words: dict[str, str] = {}
        one_way: dict[str, str] = {}
        nearest = {code: rank for rank, code in enumerate(self.wanted)}
        # One-way rules "z=>zh-tw:x" of the nearest variant come first and stay: zh-tw before its fallback zh-hant.
        for source, code, parts in sorted(rules, key=lambda rule: nearest.get(rule[1], len(nearest)) if rule[0] else 0):
            word = ";".join(parts).rstrip("; ").strip()
            if not source:
                words[code] = word
            elif code in nearest:
                one_way.setdefault(source, word)
        return words, one_way

    def note(self, rules: dict[str, str], take_back: bool) -> None:
        """Add rules to those of the page, or remove them."""
        for word, becomes in rules.items():
            if take_back:
                self.rules.pop(word, None)
            elif word and len(self.rules) < _MAX_RULES:
                self.rules[word] = becomes
        self.pattern = None


def check_variant(variant: str, language: str) -> None:
    """Raise UsageError for a variant that no wiki has, listing those of the wiki in `language`.

    >>> check_variant("zh-tw", "zh")
    >>> check_variant("tw", "zh")
    Traceback (most recent call last):
    bertdata.errors.UsageError: `variant` tw: no wiki has it: use zh, zh-cn, zh-hans, zh-hant, zh-hk, zh-mo, zh-my, zh-sg or zh-tw
    """
    if not variant or any(variant.lower() in _codes(each) for each in _FALLBACKS):
        return
    if language not in _FALLBACKS:
        raise UsageError(
            f"`variant` {variant}: no wiki has it, and the one in {language} has none: omit it", field="variant", value=variant
        )
    *known, last = sorted(_codes(language))
    raise UsageError(f"`variant` {variant}: no wiki has it: use {', '.join(known)} or {last}", field="variant", value=variant)


def note_rules(body: str) -> str:
    """Return the rules in ``{{NoteTA|1=…|2=…}}`` as blocks; rules on other pages are not available.

    >>> note_rules("NoteTA|G1=IT|1=zh-cn:软件;zh-tw:軟體")
    '-{H|zh-cn:软件;zh-tw:軟體}-'
    """
    return "".join(f"-{{H|{rule.strip()}}}-" for rule in _NOTE.findall(body))


def resolve_variants(text: str, language: str, variant: str) -> str:
    """Return ``text`` with every ``-{…}-`` replaced by the word for ``variant`` (empty: the wiki's own)."""
    if language not in _FALLBACKS or "-{" not in text:
        return text
    converter = _Converter(language, variant)
    parts: list[str] = []
    opened: list[int] = []
    done = 0
    # Blocks nest. Everything since the last "-{" is its content, in which inner blocks are resolved already.
    for edge in _EDGE.finditer(text):
        before = text[done : edge.start()]
        parts.append(before if opened else converter.text(before))
        done = edge.end()
        if edge[0] == "-{":
            opened.append(len(parts))
            parts.append("-{")
        elif opened:
            index = opened.pop()
            deep = len(opened) >= _MAX_DEPTH
            parts[index:] = ["" if deep else converter.block("".join(parts[index + 1 :]))]
        else:
            parts.append("}-")
    parts.append(text[done:] if opened else converter.text(text[done:]))
    return "".join(parts)
