"""Abbreviations that sentences do not end with, because a name or a number follows: titles, places, references.

The library `sentencex` knows others.  One that may well end a sentence (etc., Co., kr.) is none of them.

    >>> is_open("Viz str. ", 8, "cs"), is_open("V lednici je sýr. ", 17, "cs")
    (True, False)
"""

from __future__ import annotations

__all__ = ["LANGUAGES", "is_open"]

_WORDS = {
    "bg": "рис табл стр гл вж срв проф акад доц ул бул пл св",
    "bn": "ডা ডঃ মোঃ অধ্যাপক",
    "cs": "str obr tab ul nám sv prof doc ing mgr gen tzv srov kap roč",
    "da": "kl fig tab nr prof sml jf pkt",
    "de": "ca fa nr str inkl zzgl bspw abb tab hr fr prof dipl ing vgl bzgl insb",
    "el": "βλ σελ κα κκ πρβλ εικ αρ δρ καθ αγ",
    "en": "approx eq eqs fig figs sect ch ex tab",
    "es": "av avda pág págs cap fig vol art núm gral cnel prof ing",
    "fi": "tri prof kts klo nro puh rva hra",
    "fr": "pr mgr ste bd av fig chap vol art éd cf pp",
    "hi": "डॉ प्रो पं श्रीम सं क्र पृ",
    "hu": "ld dr id ifj özv szt vö",
    "id": "jl hal tgl prof drs yth bpk sdr gg",
    "it": "sig dott prof cfr pag pagg fig cap art vol ing avv sec",
    "mr": "डॉ प्रा पं क्र पृ",
    "ne": "डा प्रा पं नं पृ",
    "nl": "blz dhr mevr prof ir drs vgl afb nr fig hfst art",
    "no": "kl fig tab nr prof jf pkt",
    "pl": "ks zob ul al św rys tab str prof inż gen płk tzw por im",
    "pt": "av pág págs cap fig prof sra dra vol art eng núm",
    "ro": "dl dna str bd fig pag prof ing sf art cca",
    "ru": "рис табл стр гл см ср им проф акад доц ул пер пл тов св напр",
    "sk": "str obr tab ul nám sv prof doc ing gen tzv porov kap",
    "sv": "kl jfr fig tab nr prof",
    "tr": "bkz cad sok mah prof doç yrd çev haz",
    "uk": "рис табл стор див ім проф акад доц вул пл св напр",
    "vi": "ts ths gs pgs bs tp tx",
}  # by ISO 639 codes; checked against what sentencex leaves
_SAME = {"nb": "no", "nn": "no", "ms": "id", "be": "ru", "gl": "pt", "ca": "es", "mo": "ro"}
_OPEN = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_OPEN |= {language: _OPEN[other] for language, other in _SAME.items()}
_BEFORE = frozenset(" \t\n(-.")  # a letter after one of them stands alone
_ONE_LETTER = frozenset(("ar", "bn", "fa", "ur"))  # scripts without capitals whose abbreviations are single letters
_LONGEST = 12
LANGUAGES = frozenset((*_OPEN, *_ONE_LETTER))  # those where is_open may tell more than sentencex does


def is_open(text: str, end: int, language: str) -> bool:
    """Tell whether the full stop before `end` is that of an initial or of an abbreviation that something must follow."""
    if text[end - 1] != ".":
        return False
    letter = text[end - 2 : end - 1]
    if letter.isalpha() and (end < 3 or text[end - 3] in _BEFORE):
        initial = (letter.isupper() and language != "en") or language in _ONE_LETTER
        if initial or text[end : end + 3].lstrip()[:1].isdigit():
            return True
    words = _OPEN.get(language)
    return words is not None and text[max(0, end - _LONGEST) : end - 1].rpartition(" ")[2].lstrip("(-").lower() in words
