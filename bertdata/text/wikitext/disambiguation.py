"""Detect disambiguation pages by the templates of each wiki.

>>> is_disambiguation("'''Ada''' may refer to:\\n* …\\n{{Disambiguation|geo}}", "en")
True
>>> is_disambiguation("{{Disambiguation needed|date=May 2014}}", "en")
False
"""

import re
from functools import lru_cache

__all__ = ["is_disambiguation"]

# Used for every wiki, because most have the English names as redirects.
_COMMON = "disambiguation | disambig | dab"

_TEMPLATES: dict[str, str] = {
    "en": """
        disamb | disam | disambiguation page | disambiguation cleanup | dab cleanup | disambig cleanup
        | geodis | geo-dis | hndis | hndis-cleanup | hn-dis | human name disambiguation
        | human name disambiguation cleanup | letter-number combination disambiguation
        | letter-numbercombdisambig | letter disambiguation | letter-disambig | airport disambiguation
        | airport disambig | biology disambiguation | call sign disambiguation | callsigndis
        | caselaw disambiguation | chinese title disambiguation | church disambiguation | churchdab
        | disambiguation music | genus disambiguation | hospital disambiguation | hospitaldab
        | mathematical disambiguation | mathdab | maths disambig | military unit disambiguation
        | mil-unit-dis | music disambiguation | numberdis | number disambiguation | opus disambiguation
        | phonetics disambiguation | place name disambiguation | portal disambiguation
        | road disambiguation | roaddis | roadindex | school disambiguation | schooldis
        | school disambig | species latin name abbreviation disambiguation
        | species latin name disambiguation | latindab | station disambiguation
        | synagogue disambiguation | taxonomic authority disambiguation | taxonomy disambiguation
        | technology disambiguation | template disambiguation | title disambiguation | wpabbr-disambig
        | wp disambig | 3cc | 2cc | tndis
    """,
    "simple": "disambiguation page | geodis | hndis | numberdis",
    "af": "dubbelsinnig",
    "als": "begriffsklärig",
    "ar": "توضيح | صفحة توضيح",
    "arz": "توضيح",
    "ast": "dixebra",
    "az": "dəqiqləşdirmə | çoxmənalı",
    "ba": "күп мәғәнәле",
    "be": "неадназначнасць",
    "be-tarask": "неадназначнасьць",
    "bg": "пояснение | пояснителна страница",
    "bn": "দ্ব্যর্থতা নিরসন",
    "br": "disheñvelout",
    "bs": "čvor",
    "ca": "desambiguació",
    "cs": "rozcestník | rozcestnik | rozcestník - příjmení | rozcestník - místopisné jméno",
    "cy": "gwahaniaethu",
    "da": "flertydig | fler | flertydig personnavn | flertydig stednavn",
    "de": "begriffsklärung | bkl",
    "el": "αποσαφήνιση",
    "eo": "apartigilo",
    "es": "desambiguación | desambiguacion | des",
    "et": "täpsustuslehekülg | täpsustus",
    "eu": "argipen | argipen orri",
    "fa": "ابهام‌زدایی | گمراه‌کننده",
    "fi": "täsmennyssivu | täsmennys",
    "fr": """
        homonymie | arrêt d'homonymie | patronymie | toponymie | internationalisation | sigle
        | paronymie | prénoms | bandeau standard pour page d'homonymie | homonymes
        | homonymie dans la toponymie | page d'homonymie
    """,
    "gl": "homónimos",
    "he": "פירושונים",
    "hi": "बहुविकल्पी | बहुविकल्पी शब्द",
    "hr": "razdvojba",
    "hu": "egyért | egyértelműsítő | egyértelműsítő lap",
    "hy": "բազմիմաստություն",
    "id": "disambiguasi | disambig nama",
    "is": "aðgreining",
    "it": "disambigua | sigla2 | sigla3 | sigla4 | sigla",
    "ja": """
        aimai | 曖昧さ回避 | あいまい | 人名の曖昧さ回避 | 地名の曖昧さ回避 | 同名の地名 | 同名地名
        | 人物の曖昧さ回避 | airport disambig | 市町村名の曖昧さ回避 | 路線の曖昧さ回避
        | 道路の曖昧さ回避 | mathematical disambiguation
    """,
    "ka": "მრავალმნიშვნელოვანი",
    "kk": "айрық",
    "ko": "동음이의 | 동명이인 | 동음이의어 | 동명지명 | 동명이지",
    "la": "discretiva | discretio",
    "lt": "nuorodinis",
    "ltg": "zeimuojumu škiršona",
    "lv": "nozīmju atdalīšana",
    "mk": "појаснување",
    "ml": "വിവക്ഷകൾ | നാനാർത്ഥം",
    "mr": "निःसंदिग्धीकरण",
    "ms": "nyahkekaburan",
    "nl": "dp | dpintro | doorverwijspagina",
    "nn": "fleirtyding",
    "no": "peker | etternavn",
    "pl": "ujednoznacznienie | disambigr",
    "pt": "desambiguação | desambig",
    "ro": "dezambiguizare | dez",
    "ru": "неоднозначность | многозначность | однофамильцы | фамилия",
    "sh": "razvrstavanje | čvor",
    "sk": "rozlišovacia stránka",
    "sl": "razločitev",
    "sq": "kthjellim",
    "sr": "вишезначна одредница | вишезначност | višeznačna odrednica",
    "sv": "förgrening | gren | namnförgrening | efternamn | robotskapad förgrening | ortnamn",
    "ta": "பக்கவழி நெறிப்படுத்தல்",
    "te": "అయోమయ నివృత్తి",
    "th": "แก้กำกวม",
    "tr": "anlam ayrımı | anlam ayrım",
    "tt": "күп мәгънәле",
    "uk": "неоднозначність | багатозначність | однофамільці",
    "ur": "ضد ابہام",
    "uz": "maʼnolari | ma'nolari",
    "vi": "định hướng | trang định hướng",
    "yue": "搞清楚",
    "zh": """
        disambig-cleanup | 消歧义 | 消歧義 | 消歧义页 | 消歧義頁 | 消含糊 | 消除歧义 | 地名消歧义
        | 人名消歧义 | 歧义 | 歧義 | 多义 | 消岐義 | hndis | geodis | numberdis | schooldis | roaddis
        | letter-number combination disambiguation | 3cc | 2cc
    """,
}
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_NAME = re.compile(r"\{\{([^{}|<>]{2,80})[|}]")


@lru_cache(maxsize=len(_TEMPLATES) + 1)
def _names(language: str) -> frozenset[str]:
    """Return the templates of a wiki, or of all wikis if it is unknown."""
    lists = [_TEMPLATES[language]] if language in _TEMPLATES else list(_TEMPLATES.values())
    return frozenset(" ".join(name.split()) for names in (_COMMON, *lists) for name in names.split("|"))


def _has_marker(wikitext: str, language: str) -> bool:
    if "__DISAMBIG__" in wikitext:
        return True
    used = {name.replace("_", " ").strip().lower() for name in set(_NAME.findall(wikitext))}
    return not used.isdisjoint(_names(language if language in _TEMPLATES else ""))


def is_disambiguation(wikitext: str, language: str = "") -> bool:
    """Return True if a template or magic word marks the page as a disambiguation page or, on some wikis, as a list of names.

    Markers in comments do not count.
    """
    if not _has_marker(wikitext, language):
        return False
    return "<!--" not in wikitext or _has_marker(_COMMENT.sub("", wikitext), language)
