"""Remove behavior switches such as ``__NOTOC__``, in English and in other languages.

>>> drop_switches("a __NOTOC__ b __init__ __目次非表示__")
'a  b __init__ '
"""

import re

__all__ = ["drop_switches"]

# One or more lines per language, English first.  Underscores inside are ignored.
_WORDS = """
    NOTOC FORCETOC TOC NOEDITSECTION NEWSECTIONLINK NONEWSECTIONLINK NOGALLERY HIDDENCAT
    EXPECTUNUSEDCATEGORY EXPECTUNUSEDTEMPLATE NOCONTENTCONVERT NOCC NOTITLECONVERT NOTC START END INDEX
    NOINDEX STATICREDIRECT DISAMBIG NOGLOBAL ARCHIVEDTALK NOTALK EXPECTEDUNCONNECTEDPAGE EXPECTWITHOUTSCANS
    NOHEADER
    لافهرس لصق_فهرس فهرس_إجباري فهرس لاتحريرقسم لامعرض وصلة_قسم_جديد لا_وصلة_قسم_جديد تصنيف_مخفي فهرسة
    لافهرسة لاتحويل_عنوان لاتحويل_محتوى
    БЕЗСЪДЪРЖАНИЕ СЪССЪДЪРЖАНИЕ СЪДЪРЖАНИЕ БЕЗ_РЕДАКТИРАНЕ_НА_РАЗДЕЛИ БЕЗСОДРЖИНА СОСОДРЖИНА СОДРЖИНА
    BEZOBSAHU VŽDYOBSAH OBSAH BEZEDITOVATČÁST BEZGALERIE LINKPŘIDATKOMENTÁŘ SKRYTÁKAT INDEXOVAT NEINDEXOVAT
    STATICKÉPŘESMĚROVÁNÍ VYNÚŤOBSAH NEUPRAVUJSEKCIE
    INGENINDHOLDSFORTEGNELSE INDHOLDSFORTEGNELSE
    KEIN_INHALTSVERZEICHNIS INHALTSVERZEICHNIS_ERZWINGEN INHALTSVERZEICHNIS ABSCHNITTE_NICHT_BEARBEITEN
    KEINE_GALERIE NEUER_ABSCHNITTSLINK PLUS_LINK KEIN_NEUER_ABSCHNITTSLINK KEIN_PLUS_LINK
    VERSTECKTE_KATEGORIE WARTUNGSKATEGORIE INDEXIEREN INDIZIEREN NICHT_INDEXIEREN NICHT_INDIZIEREN
    KEIN_INDEX PERMANENTE_WEITERLEITUNG BEGRIFFSKLÄRUNG
    ΧΩΡΙΣΠΠ ΧΩΡΙΣΠΕΡΙΕΧΟΜΕΝΑ ΠΕΡΙΕΧΟΜΕΝΑ ΜΕΠΠ ΠΠ
    SIN_TDC NO_TDC FORZAR_TDC TDC NO_EDITAR_SECCIÓN NOEDITARSECCION SIN_GALERÍA NO_GALERÍA NOGALERIA
    SINGALERIA CATEGORÍA_OCULTA INDEXAR NO_INDEXAR VINCULAR_A_NUEVA_SECCION DESAMBIGUACIÓN
    REDIRECCIÓN_ESTÁTICA NO_INDICE INDICE
    بی‌فهرست بافهرست فهرست بی‌بخش بی‌نگارخانه رده‌پنهان نمایه بی‌نمایه
    EISISLUETT SISLUETTPAKOTUS EISISÄLLYSLUETTELOA SISÄLLYSLUETTELO_PAKKO SISÄLLYSLUETTELO EIOSIOMUOKKAUSTA
    EIGALLERIAA PIILOLUOKKA HAKUKONEHAKU EIHAKUKONEHAKUA
    AUCUNSOMMAIRE AUCUNTDM AUCUNETDM FORCERSOMMAIRE FORCERTDM SOMMAIRE TDM SECTIONNONEDITABLE AUCUNEGALERIE
    LIENNOUVELLESECTION AUCUNLIENNOUVELLESECTION CACHERCAT CATCACHEE INDEX AUCUNINDEX REDIRECTIONSTATIQUE
    SANSCONVERSIONCONTENU SANSCONVERSIONTITRE
    ללא_תוכן_עניינים חייב_תוכן_עניינים תוכן_עניינים ללא_עריכה ללא_גלריה יצירת_הערה קטגוריה_מוסתרת לחיפוש
    לא_לחיפוש
    अनुक्रमनहीं विषयसूचीनहीं अनुक्रम विषयसूची
    BEZSADRŽAJA UKLJUČISADRŽAJ FORSIRANISADRŽAJ SADRŽAJ BEZUREĐIVANJAODLOMAKA SKRIVENAKAT SAKRIVENAKAT
    БЕЗСАДРЖАЈА ФОРСИРАНИСАДРЖАЈ САДРЖАЈ БЕЗ_ИЗМЕНА
    NINCSTARTALOMJEGYZÉK NINCSTJ LEGYENTARTALOMJEGYZÉK KELLTARTALOMJEGYZÉK KELLTJ TARTALOMJEGYZÉK
    NINCSSZERKESZTÉS NINCSSZERK NINCSGALÉRIA ÚJSZAKASZHIV ÚJSZAKASZLINK REJTETTKAT
    ԱՌԱՆՑ_ԲՈՎ ՍՏԻՊ_ԲՈՎ ԲՈՎ ԱՌԱՆՑ_ԲԱԺՆԻ_ԽՄԲԱԳՐՄԱՆ
    TANPADAFTARISI NIRDAFTARISI PAKSADAFTARISI DAFTARISI TANPASUNTINGANBAGIAN TANPAGALERI
    KATEGORITERSEMBUNYI
    NOINDICE FORZAINDICE INDICE NOMODIFICASEZIONE NESSUNAGALLERIA
    目次非表示 目次強制 目次 節編集非表示 新しい節リンク 新しい節リンク非表示 ギャラリー非表示
    隠しカテゴリ インデックス インデックス拒否 索引拒否 固定転送 タイトル非変換 内容変換無し 曖昧さ回避
    МАЗМҰНСЫЗ МСЫЗ МАЗМҰНДЫҚАМТУ МАЗМҰНЫ МЗМН
    목차숨김 목차보임 목차보이기 목차표시 목차 단락편집숨김 갤러리숨김 없는갤러리 새글쓰기
    새글쓰기숨기기 숨은분류 색인 색인거부 넘겨주기고정
    GEENINHOUD INHOUD_DWINGEN FORCEERINHOUD INHOUD NIETBEWERKBARESECTIE GEEN_GALERIJ NIEUWESECTIELINK
    GEENNIEUWKOPJEVERWIJZING GEENPAGINATITELCONVERSIE VERBORGENCAT INDEXEREN NIETINDEXEREN
    STATISCHEDOORVERWIJZING
    INGENINNHOLDSFORTEGNELSE TVINGINNHOLDSFORTEGNELSE TVUNGENINNHOLDSFORTEGNELSE INNHOLDSFORTEGNELSE
    INGENSEKSJONSREDIGERING INGENGALLERI NYSEKSJONSLENKE SKJULTKATEGORI INDEKSER INGENINDEKSERING
    INGAINNHALDSLISTE INGENINNHALDSLISTE ALLTIDINNHALDSLISTE INNHALDSLISTE
    BEZSPISU ZESPISEM WYMUŚSPIS SPIS BEZEDYCJISEKCJI BEZ_GALERII LINKNOWEJSEKCJI KATEGORIAUKRYTA INDEKSUJ
    NIEINDEKSUJ
    SEMTDC SEMSUMARIO SEMSUMÁRIO FORCARTDC FORÇARTDC FORCARSUMARIO FORÇARSUMÁRIO TDC SUMARIO SUMÁRIO
    NAOEDITARSECAO NÃOEDITARSEÇÃO SEMEDITARSEÇÃO SEMGALERIA LINKDENOVASECAO CATEGORIAOCULTA CATOCULTA
    INDEXAR NAOINDEXAR NÃOINDEXAR
    FARACUPRINS FĂRĂCUPRINS FORTEAZACUPRINS CUPRINS FARAEDITSECTIUNE FARAGALERIE ASCUNDECAT
    БЕЗ_ОГЛАВЛЕНИЯ БЕЗ_ОГЛ ОБЯЗАТЕЛЬНОЕ_ОГЛАВЛЕНИЕ ОБЯЗ_ОГЛ ОГЛАВЛЕНИЕ ОГЛ БЕЗ_РЕДАКТИРОВАНИЯ_РАЗДЕЛА
    БЕЗ_ГАЛЕРЕИ ССЫЛКА_НА_НОВЫЙ_РАЗДЕЛ БЕЗ_ССЫЛКИ_НА_НОВЫЙ_РАЗДЕЛ СКРЫТАЯ_КАТЕГОРИЯ СКРЫТАЯ_КАТ ИНДЕКС
    БЕЗ_ИНДЕКСА СТАТИЧЕСКОЕ_ПЕРЕНАПРАВЛЕНИЕ НЕОДНОЗНАЧНОСТЬ
    INGENINNEHÅLLSFÖRTECKNING ALLTIDINNEHÅLLSFÖRTECKNING INNEHÅLLSFÖRTECKNING INTEREDIGERASEKTION
    INGETGALLERI NYTTAVSNITTLÄNK DOLDKAT INDEXERA STATISKOMDIRIGERING
    İÇİNDEKİLERYOK İÇİNDEKİLERZORUNLU İÇİNDEKİLER DÜZENLEMEYOK GALERİYOK GİZLİKAT
    БЕЗ_ЗМІСТУ ОБОВЯЗКОВИЙ_ЗМІСТ ОБОВ_ЗМІСТ ЗМІСТ БЕЗ_РЕДАГУВАННЯ_РОЗДІЛУ БЕЗ_РЕДАГ_РОЗДІЛУ БЕЗ_ГАЛЕРЕЇ
    ПОСИЛАННЯ_НА_НОВИЙ_РОЗДІЛ ПРИХОВАНА_КАТЕГОРІЯ ПРИХОВ_КАТ ІНДЕКС БЕЗ_ІНДЕКСУ СТАТИЧНЕ_ПЕРЕНАПРАВЛЕННЯ
    KHÔNGMỤCMỤC KHÔNGMỤCLỤC LUÔNMỤCLỤC MỤCLỤC KHÔNGNÚTSỬA THỂLOẠIẨN
    无目录 無目錄 强显目录 強顯目錄 強制目錄 目录 目錄 无编辑段落 無編輯段落 无图库 無圖庫 新段落链接
    新段落連結 无新段落链接 無新段落連結 隐藏分类 隱藏分類 不转换 不轉換 不转换内容 不轉換內容
    不转换标题 不轉換標題 不索引 静态重定向 靜態重定向 消歧义 消歧義
"""
_SWITCHES = frozenset(_WORDS.replace("_", "").split())
_WORD = r"([^\s_＿]{1,40}(?:_[^\s_＿]{1,40}){0,5})[_＿]{2}([ \t]*)"
_SWITCH = re.compile("_(?=_)_" + _WORD)  # one literal character, then a look-ahead: faster than two literals
_WIDE_SWITCH = re.compile("[_＿]{2}" + _WORD)  # Japanese has wide underscores as well


def drop_switches(text: str) -> str:
    """Return ``text`` without behavior switches."""
    switches = _WIDE_SWITCH if "＿" in text else _SWITCH
    return switches.sub(_shown, text)


def _shown(switch: re.Match[str]) -> str:
    """Return "" for a switch; at the start of a line, also remove the whitespace after it, which is not preformatting."""
    if switch[1].upper().replace("_", "") not in _SWITCHES:
        return switch[0]
    return "" if switch.string[switch.start() - 1 : switch.start()] in ("", "\n") else switch[2]
