"""Detect the script of a document, and of Chinese text whether it is simplified or traditional.

Scripts are named by ISO 15924: Latn, Cyrl, Hans, Hant. The majority of the letters decides. Most languages have one script, so
their text is not read.

    >>> script("ru", "Чай"), script("zh", "他们喝茶"), script("zh-cn", "他們喝茶"), script("und", "tea")
    ('Cyrl', 'Hans', 'Hant', 'Latn')
    >>> plain("zh-TW"), plain("zh_yue"), plain("sr-Latn"), plain("")
    ('zh', 'zh-yue', 'sr', 'und')
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ...config import read_toml

CHINESE = ("Hans", "Hant")
_TABLES = read_toml(Path(__file__).with_name("scripts.toml"))
_OF_ONE: dict[str, str] = _TABLES["languages"]  # languages that are written in one script only, by script
_SCRIPTS = ("", *sorted(_TABLES["letters"]))  # "" stands for other characters
_SCRIPT_OF = {language: name for name, languages in _OF_ONE.items() for language in languages.split()}
_REGIONS = frozenset(["hans", "hant", "cn", "tw", "hk", "mo", "sg", "my", "latn", "cyrl", "arab", "ec", "el"])  # of a script
_LANGUAGE_OF = {name: languages for name, languages in _OF_ONE.items() if len(languages) == 2 and name != "Beng"} | {"Guru": "pa"}
_LEAST_OF_CJK = 0.3  # the least share of Chinese, Japanese or Korean characters among the letters of such a text
_MIN_KANA_SHARE = 0.05  # the least share of kana among the Han and kana of a Japanese text


def plain(language: str) -> str:
    """Return a language code in small letters, without a subtag for its script or region."""
    main, *subtags = language.lower().replace("_", "-").split("-")
    return "-".join([main or "und", *(tag for tag in subtags if tag not in _REGIONS)])


def has_one_script(language: str) -> bool:
    """Return whether `script` knows the script of a language without reading its text."""
    return plain(language) in _SCRIPT_OF


def script(language: str, text: str) -> str:
    """Return the script of a document in a language; ``Zyyy``, as in ISO 15924, where it has no letters."""
    if known := _SCRIPT_OF.get(plain(language)):
        return known
    (counts,) = count_letters([text])
    han, kana = counts.pop("Hani"), counts.pop("Jpan")
    name, most = max(counts.items(), key=lambda item: item[1])
    if han + kana > most:
        is_japanese = plain(language) == "und" and kana > _MIN_KANA_SHARE * (han + kana)
        return "Jpan" if is_japanese else CHINESE[int(_signs().take(_codes(text)).sum(dtype=np.int64) > 0)]
    return name if most else "Zyyy"


def count_letters(texts: Sequence[str]) -> list[dict[str, int]]:
    """Return the number of letters of each script in each text. Han characters are counted as ``Hani``, and kana as ``Jpan``.

    >>> [{name: count for name, count in counts.items() if count} for counts in count_letters(["Tea, お茶, чай", "é"])]
    [{'Cyrl': 3, 'Hani': 1, 'Jpan': 1, 'Latn': 3}, {'Latn': 1}]
    """
    owners = np.repeat(np.arange(len(texts), dtype=np.uint32), list(map(len, texts)))
    keys = owners * len(_SCRIPTS) + _table().take(_codes("".join(texts)))
    counts = np.bincount(keys, minlength=len(texts) * len(_SCRIPTS)).reshape(-1, len(_SCRIPTS))
    return [dict(zip(_SCRIPTS[1:], row, strict=True)) for row in counts[:, 1:].tolist()]


def language_of(counts: dict[str, int]) -> str:
    """Return the language of a text whose main script is used by only one language, or "".

    ``counts`` are those of `count_letters`. 30 % of Chinese, Japanese or Korean characters are enough, because one of them
    carries as much as several letters.
    """
    total, han, kana = sum(counts.values()), counts.get("Hani", 0), counts.get("Jpan", 0)
    if han + kana > _LEAST_OF_CJK * total:
        return "ja" if kana > _MIN_KANA_SHARE * (han + kana) else "zh"
    main = "Kore" if counts.get("Kore", 0) > _LEAST_OF_CJK * total else max(counts, key=counts.__getitem__)
    return _LANGUAGE_OF.get(main, "")


def keep_script(name: str, text: str) -> str:
    """Return a text without the letters of other scripts."""
    codes = _codes(text)
    scripts = _table().take(codes)
    kept = codes[(scripts == 0) | (scripts == _SCRIPTS.index(name))]
    return bytes(kept).decode("utf-32-le")


def _codes(text: str) -> npt.NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "replace"), np.uint32)


@cache
def characters() -> tuple[frozenset[str], frozenset[str]]:
    """Return the characters that only simplified Chinese text has, and those that only traditional text has.

    GB 2312 is the character set of simplified text, and the first level of Big5 that of traditional text. A character in both
    is written alike. Of the 4,463 characters that are in one of them alone, OpenCC 1.1 lists 4,085 as simplified or traditional;
    the others are rare.
    """
    found: tuple[set[str], set[str]] = set(), set()
    for character in map(chr, range(0x4E00, 0xA000)):
        simplified, traditional = _encoded(character, "gb2312"), _encoded(character, "big5")
        if bool(simplified) != bool(traditional) and traditional < b"\xc6\x7f":
            found[bool(traditional)].add(character)
    return frozenset(found[0]), frozenset(found[1])


def _encoded(character: str, codec: str) -> bytes:
    try:
        return character.encode(codec)
    except UnicodeEncodeError:
        return b""


@cache
def _signs() -> npt.NDArray[np.int8]:
    """Return 1 for each traditional character and -1 for each simplified one, by code point."""
    table = np.zeros(0x110000, np.int8)
    for sign, found in zip((-1, 1), characters(), strict=True):
        table[[ord(character) for character in found]] = sign
    return table


def signs(texts: list[str]) -> npt.NDArray[np.int8]:
    """Return for each text the number of traditional minus simplified characters [N], at most 127."""
    simplified, traditional = characters()
    sums = (sum((c in traditional) - (c in simplified) for c in text) for text in texts)
    return np.array([max(-127, min(127, each)) for each in sums], np.int8)


@cache
def _table() -> npt.NDArray[np.uint8]:
    """Return the number of each code point's script in `_SCRIPTS`."""
    table = np.zeros(0x110000, np.uint8)
    for name, ranges in _TABLES["letters"].items():
        for start, end in (pair.split("-") for pair in ranges.split()):
            table[int(start, 16) : int(end, 16)] = _SCRIPTS.index(name)
    return table
