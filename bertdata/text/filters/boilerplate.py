"""Detect boilerplate paragraphs of websites: cookie notices, rights, links, script warnings, filler."""

from __future__ import annotations

import re

__all__ = ["is_boilerplate"]

_MAX_CHARACTERS = 300  # a longer paragraph is an article that may mention cookies or rights
_FILLER_TEXT = "lorem ipsum dolor"
_SENTENCE_PATTERNS = {  # keyword -> pattern of a boilerplate sentence that contains it
    "cookie": re.compile(
        r"\b(?:we|this (?:web)?site|our (?:web)?site)\b.{0,40}\buses? cookies|\b(?:accept|reject|allow|manage) (?:all )?cookies"
        r"|\bcookie (?:policy|settings|preferences|notice)|\bverwende[nt]\b.{0,30}\bcookies|\bcookies? (?:zulassen|akzeptieren)"
        r"|\bcookie-(?:richtlinie|einstellungen)|\butilis(?:e|ons)\b.{0,30}\bcookies|\baccepter (?:tous )?les cookies"
        r"|\b(?:politique de|política de) cookies|\butiliza(?:mos)?\b.{0,30}\bcookies"
        r"|\b(?:aceptar|aceitar) (?:todas las |todos os )?cookies|\butilizza(?:no)?\b.{0,30}\bcookie"
        r"|\baccetta (?:tutti )?i cookie|\bgebruik(?:t|en)\b.{0,30}\bcookies|\bcookies (?:accepteren|toestaan)"
        r"|используе[тм]\b.{0,40}\bcookie|cookie.{0,20}を使用|使用.{0,10}cookie"
    ),
    "javascript": re.compile(
        r"\b(?:enable|turn on|requires?|activate) javascript|javascript (?:is|must be|to be) (?:disabled|enabled|turned)"
        r"|javascript (?:ist deaktiviert|aktivieren|est désactivé|está desactivado|が無効|を有効)"
        r"|\b(?:activer|activez|active|habilite|abilita|включите) javascript|[启啟]用 ?javascript"
    ),
    "browser": re.compile(r"\byour browser (?:does not|doesn't) support|\b(?:update|upgrade) your browser"),
}
_RIGHTS = (
    "all rights reserved", "alle rechte vorbehalten", "tous droits réservés", "todos los derechos reservados",
    "todos os direitos reservados", "tutti i diritti riservati", "tutti i diritti sono riservati", "alle rechten voorbehouden",
    "все права защищены",
    "版权所有", "版權所有", "保留所有权利", "保留一切權利", "無断転載", "모든 권리 보유", "جميع الحقوق محفوظة",
)  # fmt: skip
_MENU_WORDS = (  # two or more of them, and nothing else, are a site's menu
    r"terms (?:of (?:use|service)|and conditions|& conditions)|privacy(?: policy| notice)?|about us|contact(?: us)?|site ?map"
    r"|home|help|faq|imprint|advertise|careers|accessibility|disclaimer|impressum|datenschutz(?:erklärung)?|agb|kontakt"
    r"|nutzungsbedingungen|startseite|mentions légales|politique de confidentialité|conditions d'utilisation|plan du site|accueil"
    r"|aviso legal|política de privacidad|términos y condiciones|contacto|inicio"
    r"|隐私政策|隱私政策|服务条款|服務條款|联系我们|聯絡我們|关于我们|關於我們|网站地图|首页|首頁"
    r"|プライバシーポリシー|利用規約|お問い合わせ|会社概要|サイトマップ|ホーム"
)
_WHOLE = re.compile(  # from the first letter of the paragraph to its end
    r"\W*(?:"
    rf"(?:(?:{_MENU_WORDS})(?:\W+|$)){{2,}}"
    r"|(?:copyright\b|©|\(c\) ?(?:19|20)\d\d).{0,120}"
    r"|(?:click here|read more|share this|follow us on|subscribe to our|sign up for our|log in|sign in|skip to (?:main )?content"
    r"|back to top|leave a (?:comment|reply)|post a comment|add to cart|page not found|404 not found)\b.{0,60}"
    r"|(?:weiterlesen|mehr lesen|hier klicken|lire la suite|cliquez ici|leer más|haga clic aquí|leia mais|leggi tutto"
    r"|lees meer|читать далее|阅读更多|閱讀更多|点击这里|點擊這裡|続きを読む|もっと見る)\W*"
    r")"
)


def is_boilerplate(paragraph: str) -> bool:
    """Return True if a paragraph is website boilerplate.

    >>> is_boilerplate("We use cookies to improve your visit."), is_boilerplate("© 2024 Harbour Press. All rights reserved.")
    (True, True)
    >>> is_boilerplate("She baked cookies for the ferry's crew.")
    False
    """
    lower = paragraph.lower()
    if _FILLER_TEXT in lower:
        return True
    if len(lower) > _MAX_CHARACTERS:
        return False
    for word, pattern in _SENTENCE_PATTERNS.items():
        if word in lower and pattern.search(lower):
            return True
    return any(map(lower.__contains__, _RIGHTS)) or _WHOLE.fullmatch(lower) is not None
