"""Check language codes, and suggest the code for a language's name or a country's code.

A code is a Wikipedia or BCP 47 code: two letters of ISO 639-1 or three letters, then optional parts after hyphens or underscores.
"""

from __future__ import annotations

import re

from ..errors import nearest

_TWO_LETTER_CODES = (  # ISO 639-1, including withdrawn codes that Wikipedias still use (sh, mo, bh)
    "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo"
    " es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik in io is it iu iw ja ji"
    " jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mo mr ms mt my na nb"
    " nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr"
    " ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu"
)
_WORD_CODES = frozenset(["simple", "tokipona"])  # Wikipedias whose code is a word
_FORM = re.compile(r"[a-z]{2,3}(?:[-_][a-z0-9]{1,11})*", re.IGNORECASE)
_COMMON_MISTAKES = (  # code: common mistakes for it
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
_CODES = {
    word: code.strip()
    for code, _, words in (each.partition(":") for each in _COMMON_MISTAKES.split(";"))
    for word in words.split()
}


def problem_of(code: str) -> str:
    """Return why a string is not a language code, with a suggestion. Return an empty string if it is one.

    >>> problem_of("english")
    "'english' is not a language code. Use en"
    >>> problem_of("germann")
    "'germann' is not a language code. Did you mean de (German)?"
    >>> [problem_of(code) for code in ("en", "zh-TW", "zh_min_nan", "simple", "yue", "be-tarask", "und")]
    ['', '', '', '', '', '', '']
    """
    lower = code.strip().lower()
    main = re.split("[-_]", lower)[0]
    meant = _CODES.get(main, "")
    known = len(main) == 3 or main in _TWO_LETTER_CODES.split()
    if lower in _WORD_CODES or (_FORM.fullmatch(lower) and known and not meant):
        return ""
    similar = [] if meant else nearest(main, [word for word in _CODES if len(word) > 3])
    advice = f"Did you mean {_CODES[similar[0]]} ({similar[0].capitalize()})?" if similar else "Use a code such as en or zh-yue"
    return f"{code!r} is not a language code. {f'Use {meant}' if meant else advice}"
