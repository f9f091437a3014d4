"""Check codes of languages, and name the one that is meant by a language's name or a country's code.

A code is that of a Wikipedia or of BCP 47: two letters of ISO 639-1, or three, and what follows a hyphen or an underscore.
"""

from __future__ import annotations

import difflib
import re

__all__ = ["problem_of"]

_TWO = (  # ISO 639-1, those that Wikipedias still use for others (sh, mo, bh) among them
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo"
    " es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja ji"
    " jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb"
    " nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr"
    " ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_LONG = frozenset(["simple", "tokipona"])  # Wikipedias whose code is a word
_FORM = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{1,11})*", re.IGNORECASE)
_MEANT = (  # code: what people write for it
    "ja: jp jpn japanese; zh: cn chinese mandarin; el: gr greek; cs: cz czech; da: dk danish; uk: ua ukrainian;"
    " vi: vn vietnamese; en: us gb eng english; fa: ir persian farsi; de: german deutsch; fr: french; es: spanish; it: italian;"
    " pt: portuguese; nl: dutch;"
    " sv: swedish; no: norwegian; fi: finnish; is: icelandic; et: estonian; lv: latvian; lt: lithuanian; pl: polish;"
    " sk: slovak; sl: slovenian; hr: croatian; sr: serbian; bs: bosnian; bg: bulgarian; mk: macedonian; ro: romanian;"
    " hu: hungarian; sq: albanian; tr: turkish; az: azerbaijani; kk: kazakh; ru: russian; be: belarusian; hy: armenian;"
    " ka: georgian; ar: arabic; he: hebrew; yi: yiddish; ur: urdu; ps: pashto; hi: hindi; mr: marathi; ne: nepali;"
    " bn: bengali bangla; pa: punjabi; gu: gujarati; or: odia; ta: tamil; te: telugu; kn: kannada; ml: malayalam; si: sinhala;"
    " th: thai; lo: lao; bo: tibetan; my: burmese; km: khmer; ko: korean; yue: cantonese; id: indonesian; ms: malay; tl: tagalog;"
    " sw: swahili; eu: basque; ca: catalan; gl: galician; la: latin; eo: esperanto; ga: irish; cy: welsh; mt: maltese;"
    " af: afrikaans; am: amharic"
)


def problem_of(code: str) -> str:
    """Say why a text can be no code of a language, and which one may be meant; nothing where it can.

    >>> problem_of("english")
    "'english' is no code of a language: use en"
    >>> problem_of("germann")
    "'germann' is no code of a language: use de for German, if that is meant"
    >>> [problem_of(code) for code in ("en", "zh-TW", "zh_min_nan", "simple", "yue", "be-tarask", "und")]
    ['', '', '', '', '', '', '']
    """
    lower = code.strip().lower()
    main = re.split("[-_]", lower)[0]
    meant = next((each.partition(":")[0].strip() for each in _MEANT.split(";") if main in each.partition(":")[2].split()), "")
    known = len(main) == 3 or main in _TWO.split()
    if lower in _LONG or (_FORM.fullmatch(lower) and known and not meant):
        return ""
    return f"{code!r} is no code of a language: use {meant or _like(main) or 'one such as en, zh or zh-yue'}"


def _like(name: str) -> str:
    """Return the code of the language whose name is most like a word; nothing where none is."""
    codes = {word: each.partition(":")[0].strip() for each in _MEANT.split(";") for word in each.partition(":")[2].split()}
    names = difflib.get_close_matches(name, [word for word in codes if len(word) > 3], 1)
    return f"{codes[names[0]]} for {names[0].capitalize()}, if that is meant" if names else ""
