"""Detect redirects by the first word of the page, in English and in the wiki's language.

>>> is_redirect("#WEITERLEITUNG [[Rom]]", "de"), is_redirect("# one\\n# two")
(True, False)
"""

import re

__all__ = ["is_redirect"]

# Languages: words after the number sign.  Every word is valid on every wiki; the codes are for readers of this file.
_KEYWORDS: dict[str, str] = {
    "en": "REDIRECT",
    "af fy nds-nl nl srn": "AANSTUUR TROCHFERWIZING DEURVERWIEZING DOORVERWIJZING STIR",
    "als bar de ksh lb nds": "WEITERLEITUNG WIIDERLEIDIG WIDDALEIDN ÖMLEIDUNG VIRULEEDUNG WIEDERLEIDEN",
    "an ast es gl oc": "REDIRECCIÓN REDIRECIÓN REDIRECION REDIRECCION",
    "ar arz": "تحويل",
    "as bn": "পুনঃনিৰ্দেশ পুনর্নির্দেশনা পুনর্নির্দেশ",
    "az": "İSTİQAMƏTLƏNDİRMƏ ISTIQAMƏTLƏNDIRMƏ YÖNLƏNDİRMƏ",
    "ba": "ЙҮНӘЛТЕҮ",
    "be be-tarask": "ПЕРАНАКІРАВАННЕ ПЕРАНАКІРАВАНЬНЕ",
    "bg mk": "ПРЕНАСОЧВАНЕ ВИЖ ПРЕНАСОЧУВАЊЕ ВИДИ",
    "br": "ADKAS",
    "bs hr sh sl": "PREUSMJERI PREUSMERITEV",
    "ca": "REDIRECCIÓ",
    "ckb ku": "ڕەوانەکردن BERALÎKIRIN",
    "cs sk": "PŘESMĚRUJ PRESMERUJ",
    "cu": "ПРѢНАПРАВЛЄНИѤ",
    "cy": "AIL-CYFEIRIO AILGYFEIRIO ALLGYFEIRIO",
    "da nb nn no": "OMDIRIGERING OMDIRIGER VIDERESEND",
    "el": "ΑΝΑΚΑΤΕΥΘΥΝΣΗ",
    "eo": "ALIDIREKTU ALIDIREKTI",
    "et fiu-vro vep": "SUUNA SAADAQ",
    "eu": "BIRZUZENDU",
    "fa": "تغییر_مسیر تغییرمسیر",
    "fi": "OHJAUS UUDELLEENOHJAUS",
    "fr frp wa": "REDIRECTION",
    "ga gv kw": "ATHSHEOLADH AASTIUREY DASKEDYANS",
    "he": "הפניה",
    "hi sa": "अनुप्रेषित पुनर्प्रेषित पुनर्निर्दिष्टम् पुनर्निदेशन",
    "hu": "ÁTIRÁNYÍTÁS",
    "hy": "ՎԵՐԱՀՂՈՒՄ",
    "id ms jv su": "ALIH LENCONG ALIHAN",
    "is": "TILVÍSUN",
    "it": "RINVIA RINVIO",
    "ja": "転送 リダイレクト",
    "ka": "გადამისამართება",
    "kk": "АЙДАУ AÝDAW ايداۋ",
    "km": "បញ្ជូនបន្ត ប្ដូរទីតាំងទៅ ប្តូរទីតាំងទៅ ប្ដូរទីតាំង ប្តូរទីតាំង ប្ដូរចំណងជើង",
    "kn ml ta te": "ಪುನರ್ನಿರ್ದೇಶನ ತಿರಿಚುವಿಡು തിരിച്ചുവിടുക വഴിമാറ്റുക வழிமாற்று దారిమార్పు",
    "ko": "넘겨주기",
    "ky": "АЙДОО",
    "lt lv": "PERADRESAVIMAS PĀRADRESĀCIJA",
    "mg": "FIHODINANA",
    "mr": "पुनर्निर्देशन",
    "mt mwl": "RINDIRIZZA ANCAMINAR",
    "pa": "ਰੀਡਿਰੈਕਟ",
    "pl": "PATRZ PRZEKIERUJ TAM",
    "ps sd": "مخ_گرځونه چوريو",
    "pt": "REDIRECIONAMENTO REDIRECIONA",
    "ro": "REDIRECTEAZA",
    "ru": "ПЕРЕНАПРАВЛЕНИЕ ПЕРЕНАПР",
    "sah": "УТААРЫЫ",
    "si": "යළියොමුව",
    "sq": "RIDREJTO",
    "sr": "ПРЕУСМЕРИ ПРЕУСМЈЕРИ PREUSMERI",
    "sv": "OMDIRIGERING",
    "tg": "РАВОНАКУНӢ",
    "th": "เปลี่ยนทาง",
    "tr": "YÖNLENDİRME YÖNLENDİR",
    "tt": "ЮНӘЛТҮ YÜNÄLTÜ",
    "uk": "ПЕРЕНАПРАВЛЕННЯ ПЕРЕНАПР ПЕРЕСПРЯМОВАННЯ",
    "ur": "رجوع_مکرر",
    "uz": "YOʻNALTIRISH YONALTIRISH",
    "vi": "đổi",
    "yi": "ווייטערפירן",
    "zh yue": "重定向 重新導向 跳转 跳轉",
}
_WORDS = {word for words in _KEYWORDS.values() for word in words.split()}
_CHOICE = "|".join(re.escape(word).replace("_", "[_ ]") for word in sorted(_WORDS, key=len, reverse=True))
_REDIRECT = re.compile(rf"\s{{0,999}}[#＃](?:{_CHOICE})\s*(?::\s*)?\[\[", re.IGNORECASE)


def is_redirect(wikitext: str, language: str = "") -> bool:
    """Return True if the page is a redirect.

    ``language`` is currently unused, because no word means a redirect on one wiki and something else on another.
    """
    return _REDIRECT.match(wikitext) is not None
