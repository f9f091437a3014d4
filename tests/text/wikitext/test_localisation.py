"""Names of namespaces, redirects and behaviour switches in the languages of the large Wikipedias."""

from pathlib import Path

import pytest
from footing import extract_paragraphs

from bertdata.config import read_toml
from bertdata.text.wikitext import is_redirect, namespaces
from bertdata.text.wikitext.namespaces import CATEGORY, FILE, OTHER_LANGUAGE, TEMPLATE, namespace
from bertdata.text.wikitext.pages import drop_switches

LARGE = """
    en ceb de fr sv nl ru es it arz pl ja zh vi war uk ar pt fa ca sr id ko no ce tr cs fi hu tt ro eu ms sh
    zh-min-nan he hy eo da bg cy sk uz azb simple et be kk el min hr lt gl az ur sl ka nn hi th ta la bn mk
    ast lv af my sq te be-tarask mr sw ml kn ky mn ne pa gu si km tg tl jv ckb
"""
NAMES = {
    FILE: """
        File image Datei Bild Fichier Archivo Bestand Файл Изображение Immagine Plik ファイル 画像 文件 檔案 图像
        Tập_tin ملف صورة Ficheiro پرونده Fitxer Berkas 파일 그림 Dosya Soubor Tiedosto Kuva Fájl Рәсем Fișier
        Fitxategi Fail Датотека קובץ Պատկեր Dosiero Billede Картинка Delwedd Súbor Fayl فایل Pilt Сурет Αρχείο
        Slika Vaizdas Şəkil فائل ფაილი चित्र ไฟล์ படிமம் Fasciculus চিত্র Податотека Ficheru Attēls Lêer ဖိုင်
        Skeda దస్త్రం Talaksan Зображення Bilde tóng-àn Payl
    """,
    CATEGORY: """
        Category Kategorie Catégorie Categoría Categorie Категория Categoria Kategoria カテゴリ 分类 分類
        Thể_loại تصنيف رده Kategori 분류 Kategorija Luokka Kategória Төркем קטגוריה Կատեգորիա Kategorio Categori
        Turkum بؤلمه Kategooria Катэгорыя Санат Κατηγορία Kateqoriya زمرہ კატეგორია श्रेणी หมวดหมู่ பகுப்பு
        বিষয়শ্রেণী Категорија ကဏ္ဍ వర్గం वर्ग Kaarangay Категорія Lūi-pia̍t Категори Kategoriya
    """,
    TEMPLATE: """
        Template Vorlage Modèle Plantilla Sjabloon Шаблон Szablon Bản_mẫu قالب Predefinição الگو 틀 Şablon
        Šablona Malline Sablon Калып Txantiloi Templat תבנית Կաղապար Ŝablono Skabelon Nodyn Šablóna Andoza Mall
        Үлгі Πρότυπο Predložak Šablonas Modelo سانچہ თარგი साँचा แม่แบบ வார்ப்புரு Formula টেমপ্লেট Предлошка
        Plantía Veidne တမ်းပလိတ် Stampa మూస साचा Batakan Padron Mal Шаблён Predloga 模板
    """,
    OTHER_LANGUAGE: "de zh-min-nan be-tarask nds-nl simple cbk-zam roa-tara jp minnan",
}
SWITCHES = """
    __NOTOC__ __noToc__ __KEIN_INHALTSVERZEICHNIS__ __KEININHALTSVERZEICHNIS__ __AUCUNSOMMAIRE__ __SIN_TDC__
    __NOINDICE__ __SEMTDC__ __GEENINHOUD__ __BEZSPISU__ __БЕЗОГЛАВЛЕНИЯ__ __БЕЗ_ССЫЛКИ_НА_НОВЫЙ_РАЗДЕЛ__
    __БЕЗ_ЗМІСТУ__ __目次非表示__ ＿＿目次強制＿＿ __无目录__ __強制目錄__ __목차숨김__ __EISISLUETT__
    __INGENINNEHÅLLSFÖRTECKNING__ __VŽDYOBSAH__ __KELLTJ__ __CUPRINS__ __İÇİNDEKİLERYOK__ __ללא_עריכה__
    __لافهرس__ __بی‌فهرست__ __MỤCLỤC__ __TANPADAFTARISI__ __БЕЗСАДРЖАЈА__ __ΧΩΡΙΣΠΠ__ __ΕΥΡΕΤΗΡΙΟ__ __विषयसूची__ __МАЗМҰНСЫЗ__
"""
REDIRECTS = """
    REDIRECT AANSTUUR تحويل REDIRECCIÓN İSTİQAMƏTLƏNDİRMƏ ПЕРАНАКІРАВАННЕ Пренасочване পুনর্নির্দেশ PREUSMJERI
    REDIRECCIÓ PŘESMĚRUJ ail-cyfeirio OMDIRIGERING Weiterleitung ΑΝΑΚΑΤΕΥΘΥΝΣΗ ALIDIREKTU suuna BIRZUZENDU
    تغییر_مسیر OHJAUS UUDELLEENOHJAUS REDIRECTION הפניה अनुप्रेषित ÁTIRÁNYÍTÁS ՎԵՐԱՀՂՈՒՄ ALIH LENCONG TILVÍSUN
    RINVIA 転送 リダイレクト გადამისამართება АЙДАУ തിരിച്ചുവിടുക 넘겨주기 PERADRESAVIMAS види पुनर्निर्देशन
    DOORVERWIJZING PATRZ PRZEKIERUJ REDIRECIONAMENTO REDIRECTEAZA перенаправление перенапр presmeruj PREUSMERITEV
    RIDREJTO Преусмери வழிமாற்று దారిమార్పు เปลี่ยนทาง YÖNLENDİRME ЮНӘЛТҮ ПЕРЕНАПРАВЛЕННЯ رجوع_مکرر YOʻNALTIRISH
    đổi 重定向 重新導向
"""


ROWS = read_toml(Path(namespaces.__file__).with_name("namespaces.toml"))["names"]


def test_every_large_wikipedia_has_its_names() -> None:
    assert {len(columns) for columns in ROWS.values()} == {3}
    assert set(LARGE.split()) <= ROWS.keys()


@pytest.mark.parametrize("kind", NAMES)
def test_namespaces(kind: int) -> None:
    assert [name for name in NAMES[kind].split() if namespace(f"{name}: X") != kind] == []


def test_no_name_has_two_meanings() -> None:
    """A word that is the file of one wiki and the template of another could not be told."""
    seen: dict[str, int] = {}
    for columns in ROWS.values():
        for column, names in enumerate(columns):
            for name in names:
                assert seen.setdefault(name.lower(), column) == column, name


def test_files_and_categories_of_any_language_go() -> None:
    text = "".join(f"[[{name}:x.jpg|thumb|[[b]] c]]" for name in NAMES[FILE].split())
    text += "".join(f" [[{name}:D|e]]" for name in NAMES[CATEGORY].split())
    assert extract_paragraphs(f"{text}\nOne harbour.") == ["One harbour."]


def test_switches() -> None:
    for switch in SWITCHES.split():
        assert drop_switches(f"a {switch}b") == "a b"


@pytest.mark.parametrize("text", ["a __init__ b", "____", "__ NOTOC __", "_NOTOC_", "＿＿a＿＿", "__a_b_c_d_e_f_g_h__"])
def test_no_switches(text: str) -> None:
    assert drop_switches(text) == text


def test_redirect_words() -> None:
    for word in REDIRECTS.split():
        assert is_redirect(f"#{word} [[A]]")
        assert is_redirect(f"#{word.replace('_', ' ')}: [[A]]")
        assert not is_redirect(f"#{word}")


@pytest.mark.parametrize("text", ["#redirect:[[A]]", "\n #Redirect [[A#b]] {{R from c}}", "#पुर्ननिर्देशन [[A]]"])
def test_redirects(text: str) -> None:
    assert is_redirect(text)


@pytest.mark.parametrize("text", ["# REDIRECT is a word", "a\n#REDIRECT [[A]]", "#one [[A]]", "", "#Cups [[A]]\n#Pots [[B]]"])
def test_articles(text: str) -> None:
    assert not is_redirect(text)
