"""Abbreviations that a sentence goes on after, because a name or a number follows: titles, places, references.

The library `sentencex` knows others.  Abbreviations that can end a sentence (etc., Co., kr.) are in `starters`.

    >>> is_open("Viz str. ", 8, "cs"), is_open("V lednici je sýr. ", 17, "cs")
    (True, False)
    >>> is_open("Atlas, vol. 3", 11, "fr"), is_open("लंबाई ३ कि.मी. है", 14, "hi")
    (True, True)
"""

from __future__ import annotations

import re

__all__ = ["LANGUAGES", "is_initial", "is_open"]

_WORDS = {  # from dictionaries' lists of abbreviations
    "ar": "إف جي إم بي سي دي إس إل آر تي كيه إتش دبليو إن",  # names of Latin letters, for initials
    "bg": "рис табл стр гл вж срв проф акад доц ул бул пл св инж ген полк",
    "bn": "ডা ডঃ মোঃ অধ্যাপক ড মি মিসেস রুঃ কিমি",
    "cs": "str obr tab ul nám sv prof doc ing mgr gen tzv srov kap roč mudr judr rndr phdr plk odst",
    "da": "kl fig tab nr prof sml jf pkt stk",
    "de": "ca fa nr str inkl zzgl bspw abb tab hr fr prof dipl ing vgl bzgl insb",
    "el": "βλ σελ κα κκ πρβλ εικ αρ δρ καθ αγ κος",
    "en": "approx eq eqs fig figs sect ch ex tab",
    "es": "av avda pág págs cap fig vol art núm gral cnel prof ing sr sra srta dr dra dña lic mons",
    "fa": "دکتر",
    "fi": "tri prof kts klo nro puh rva hra",
    "fr": "pr dr mgr ste st sts bd av fig chap vol art éd cf pp mme mlle",
    "gu": "ડૉ ડો શ્રી રૂ પ્રો સ્વ",
    "hi": "डॉ डा प्रो पं श्रीम श्री सं क्र पृ स्व रु मो कु इंजी ले ए बी सी डी ई एफ एच जे एल एम एन पी क्यू आर एस टी यू वी डब्ल्यू एक्स",
    "hu": "ld dr id ifj özv szt vö",
    "id": "jl tgl prof drs yth bpk sdr gg tn ny nn tb ir dra hj kh rd pte",
    "it": "sig dott prof cfr pag pagg fig cap art vol ing avv sec on geom mons",
    "kn": "ಡಾ ಶ್ರೀ ರೂ ಕ್ರಿ ಪ್ರೊ ಕಿ",
    "ml": "ഡോ ശ്രീ രൂ പ്രൊ കി ക്രി",
    "mr": "डॉ प्रा पं क्र पृ श्री सौ कै रु इ ई कि ले",
    "ne": "डा प्रा पं नं पृ श्री रु स्व कि",
    "nl": "blz dhr mevr prof ir drs vgl afb nr fig hfst art",
    "no": "kl fig tab nr prof jf pkt",
    "pa": "ਡਾ ਸ੍ਰ ਸ੍ਰੀ ਪ੍ਰੋ ਰੁ",
    "pl": "ks zob ul al św rys tab str prof inż gen płk tzw por im art ust pkt ok paraf płn płd kom nadkom podkom podinsp insp"
    " asp ppłk ppor kpt mjr rtm sierż kpr bp abp kard hab mgr doc dyr",
    "pt": "av pág págs cap fig prof profa sra dra vol art eng núm",
    "ro": "dl dna str bd fig pag prof ing sf art cca",
    "ru": "рис табл стр гл см ср им проф акад доц ул пер пл тов св напр",
    "sk": "str obr tab ul nám sv prof doc ing gen tzv porov kap odst",
    "sv": "kl jfr fig tab nr prof",
    "ta": "ரூ திரு திருமதி டாக்டர் பேரா கி மு பி",
    "te": "డా శ్రీ రూ క్రీ ప్రొ కి",
    "tr": "bkz cad sok mah prof doç yrd çev haz av",
    "uk": "рис табл стор див ім проф акад доц вул пл св напр",
    "ur": "ڈاکٹر",
    "vi": "ts ths gs pgs bs tp tx",
}  # by ISO 639 codes; checked against what sentencex leaves
_SAME_ABBREVIATIONS = {
    "nb": "no",
    "nn": "no",
    "ms": "id",
    "be": "ru",
    "gl": "pt",
    "ca": "es",
    "mo": "ro",
    "bho": "hi",
    "mai": "hi",
    "sa": "hi",
}
_OPEN = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_OPEN |= {language: _OPEN[other] for language, other in _SAME_ABBREVIATIONS.items()}
_NUMBERED_WORDS = "no nos nr nrs num vol vols bd t p pp s ss f ff fig figs cap chap kap art arts sec n pág págs op hal"
_NUMBERED = frozenset(_NUMBERED_WORDS.split())
_NUMBER = re.compile(r"\s{0,99}(?:\d|[IVXLC]{1,20}\b)")
_DOTTED = re.compile(r"[^\s\d.!-~]{1,4}[.][^\s\d.!-~]{1,4}$")  # "कि.मी.", "ب.ظ."
_ONE = r"[^\W\d_a-zA-Z][^\w\s!-~।]{0,3}"  # a letter with its vowel signs
_AFTER_INITIAL = re.compile(rf"(?:^|[\s(.]){_ONE}[.] ?{_ONE}[.]$")  # "पु. ल. देशपांडे"
_INITIAL = re.compile(rf"(?:^|[\s(.]){_ONE}[.]$")
_NEXT_INITIAL = re.compile(rf"\s?{_ONE}[.]")
_BEFORE = frozenset(" \t\n(.")  # a letter after one of them stands alone
# In these languages no sentence ends with a word of one letter.
_ONE_LETTER = frozenset(("ar", "as", "bn", "fa", "gu", "hi", "kn", "ml", "mr", "ne", "or", "te", "ur"))
_NO_CAPITALS = _ONE_LETTER | {"arz", "bho", "ckb", "he", "mai", "pa", "ps", "sa", "sd", "si", "ta", "yi"}
_MAX_ABBREVIATION_CHARS = 12
LANGUAGES = frozenset((*_OPEN, *_NO_CAPITALS))  # languages in which is_open knows more than sentencex


def is_initial(text: str, end: int) -> bool:
    """Return True if a single letter precedes the full stop before `end`."""
    if not text[end - 2 : end - 1].isalpha():
        return False
    return end < 3 or text[end - 3] in _BEFORE or text.startswith(".-", end - 4)


def is_open(text: str, end: int, language: str) -> bool:
    """Return True if the full stop before `end` belongs to an initial or to an abbreviation that cannot end a sentence."""
    if text[end - 1] != ".":
        return False
    # "J. Smith": an initial, so the name goes on. In English, sentencex knows initials. A number
    # behind the initial ("vitamin B. 12") also continues the sentence.
    if is_initial(text, end):
        initial = (text[end - 2].isupper() and language != "en") or language in _ONE_LETTER
        if initial or text[end : end + 3].lstrip()[:1].isdigit():
            return True
    words = _OPEN.get(language)
    if words is None and language not in _NO_CAPITALS:
        return False
    # Only a few characters in front of the full stop are needed. Searching the whole text for each
    # of its full stops would take quadratic time.
    word = text[max(0, end - _MAX_ABBREVIATION_CHARS) : end - 1].rpartition(" ")[2].lstrip("(-").lower()
    if language in _NO_CAPITALS and (_DOTTED.search(word) or _is_among_initials(text, end)):
        return True
    return (words is not None and word in words) or (
        language != "en" and word in _NUMBERED and _NUMBER.match(text, end) is not None
    )


def _is_among_initials(text: str, end: int) -> bool:
    """Return True if one of several letters with full stops precedes `end`, in a script without capitals."""
    if _AFTER_INITIAL.search(text, max(0, end - _MAX_ABBREVIATION_CHARS), end):
        return True
    return (
        _INITIAL.search(text, max(0, end - _MAX_ABBREVIATION_CHARS), end) is not None
        and _NEXT_INITIAL.match(text, end) is not None
    )
