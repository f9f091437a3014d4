"""Redirects are recognised by the first word of the page, in English and in the wiki's own language.

>>> is_redirect("#WEITERLEITUNG [[Rom]]", "de"), is_redirect("# one\\n# two")
(True, False)
"""

import re

__all__ = ["is_redirect"]

# Languages: words after the number sign.  Every word is known on every wiki; the codes are for the reader.
_KEYWORDS: dict[str, str] = {
    "en": "REDIRECT",
    "af nl": "AANSTUUR DOORVERWIJZING",
    "ar arz": "تحويل",
    "ast es gl an": "REDIRECCIÓN REDIRECIÓN REDIRECION REDIRECCION",
    "az": "İSTİQAMƏTLƏNDİRMƏ YÖNLƏNDİRMƏ",
    "be be-tarask": "ПЕРАНАКІРАВАНЬНЕ ПЕРАНАКІРАВАННЕ ПЕРАНАКІРАВАНЬНЕ",
    "bg mk": "ПРЕНАСОЧВАНЕ ВИЖ ПРЕНАСОЧУВАЊЕ",
    "bn": "পুনর্নির্দেশনা পুনর্নির্দেশ",
    "br": "ADKAS",
    "bs hr sh sl": "PREUSMJERI PREUSMERITEV",
    "ca": "REDIRECCIÓ",
    "cs sk": "PŘESMĚRUJ PRESMERUJ",
    "cy": "AIL-CYFEIRIO ALLGYFEIRIO",
    "da nb nn no": "OMDIRIGERING OMDIRIGER VIDERESEND",
    "de als bar nds": "WEITERLEITUNG WIIDERLEIDIG WIDDALEIDN WIEDERLEIDEN",
    "el": "ΑΝΑΚΑΤΕΥΘΥΝΣΗ",
    "eo": "ALIDIREKTU ALIDIREKTI",
    "et": "SUUNA",
    "eu": "BIRZUZENDU",
    "fa": "تغییر_مسیر تغییرمسیر",
    "fi": "OHJAUS UUDELLEENOHJAUS",
    "fr": "REDIRECTION",
    "ga": "ATHSHEOLADH",
    "he": "הפניה",
    "hi": "अनुप्रेषित पुनर्प्रेषित",
    "hu": "ÁTIRÁNYÍTÁS",
    "hy": "ՎԵՐԱՀՂՈՒՄ",
    "id ms jv su": "ALIH LENCONG ALIHAN",
    "is": "TILVÍSUN",
    "it": "RINVIA RINVIO",
    "ja": "転送 リダイレクト",
    "ka": "გადამისამართება",
    "kk": "АЙДАУ",
    "kn ml ta te": "ಪುನರ್ನಿರ್ದೇಶನ ತಿರಿಚುವಿಡು തിരിച്ചുവിടുക വഴിമാറ്റുക வழிமாற்று దారిమార్పు",
    "ko": "넘겨주기",
    "lt lv": "PERADRESAVIMAS",
    "mr": "पुनर्निर्देशन",
    "mt": "RINDIRIZZA",
    "pl": "PATRZ PRZEKIERUJ TAM",
    "pt": "REDIRECIONAMENTO REDIRECIONA",
    "pa": "ਰੀਡਿਰੈਕਟ",
    "ro": "REDIRECTEAZA",
    "ru": "ПЕРЕНАПРАВЛЕНИЕ ПЕРЕНАПР",
    "sq": "RIDREJTO",
    "sr": "ПРЕУСМЕРИ PREUSMERI",
    "sv": "OMDIRIGERING",
    "th": "เปลี่ยนทาง",
    "tr": "YÖNLENDİRME YÖNLENDİR",
    "tt": "ЮНӘЛТҮ",
    "uk": "ПЕРЕНАПРАВЛЕННЯ ПЕРЕСПРЯМОВАННЯ",
    "ur": "رجوع_مکرر",
    "uz": "YOʻNALTIRISH YONALTIRISH",
    "vi": "đổi",
    "yi": "ווייטערפירן",
    "zh yue": "重定向 重新導向 跳转",
}
_WORDS = {word.replace("_", " ") for words in _KEYWORDS.values() for word in words.split()}
_CHOICE = "|".join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True))
_REDIRECT = re.compile(rf"\s*[#＃](?:{_CHOICE})\s*:?\s*\[\[", re.IGNORECASE)


def is_redirect(wikitext: str, language: str = "") -> bool:
    """Say whether the page only sends its reader to another.

    ``language`` is not needed today: no word means a redirect on one wiki and something else on another.
    """
    return _REDIRECT.match(wikitext) is not None
