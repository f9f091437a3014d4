"""What stands before the colon of a link: names of namespaces in the large Wikipedias, codes of languages.

Every name is known on every wiki: a Wikipedia takes articles from others, and old names stay in use.

    >>> names = Namespaces.build({"plik": 6})
    >>> [names.kind(target) == FILE for target in ("Datei:Foto.jpg", "画像: x", ":File:x", "Time: a play")]
    [True, True, False, False]
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["CATEGORY", "FILE", "OTHER_LANGUAGE", "TEMPLATE", "Namespaces"]

FILE = 6
TEMPLATE = 10
CATEGORY = 14
OTHER_LANGUAGE = 1000  # not a namespace of MediaWiki: a link to the same article in another language

# Wikipedia : file and its aliases : category : template
_NAMES = """
en : File, Image : Category : Template
af : Lêer, Beeld : Kategorie : Sjabloon
als : Datei, Bild : Kategorie : Vorlage
an : Imachen, Fichero : Categoría : Plantilla
ar : ملف, صورة : تصنيف : قالب
ast : Ficheru, Imaxe : Categoría : Plantía
az : Şəkil, Fayl : Kateqoriya : Şablon
ba : Файл, Рәсем : Төркем, Категория : Ҡалып
be : Файл, Выява : Катэгорыя : Шаблон, Шаблён
bg : Файл, Картинка : Категория : Шаблон
bn : চিত্র : বিষয়শ্রেণী : টেমপ্লেট
br : Restr, Skeudenn : Rummad : Patrom
bs : Datoteka, Slika : Kategorija : Šablon
ca : Fitxer, Imatge : Categoria : Plantilla
ce : Файл : Категори : Куцкеп
ceb : Payl, Imahen : Kategoriya : Plantilya
ckb : پەڕگە, وێنە : پۆل : داڕێژە
cs : Soubor : Kategorie : Šablona
cv : Ӳкерчĕк, Файл : Категори : Шаблон
cy : Delwedd : Categori : Nodyn
da : Fil, Billede : Kategori : Skabelon
de : Datei, Bild : Kategorie : Vorlage
el : Αρχείο, Εικόνα : Κατηγορία : Πρότυπο
eo : Dosiero : Kategorio : Ŝablono
es : Archivo, Imagen : Categoría : Plantilla
et : Pilt, Fail : Kategooria : Mall
eu : Fitxategi, Irudi : Kategoria : Txantiloi
fa : پرونده, تصویر : رده : الگو
fi : Tiedosto, Kuva : Luokka : Malline
fo : Mynd : Bólkur : Fyrimynd
fr : Fichier, Image : Catégorie : Modèle
fy : Ofbyld : Kategory : Berjocht
ga : Íomhá : Catagóir : Teimpléad
gl : Ficheiro, Imaxe : Categoría : Modelo
gu : ચિત્ર : શ્રેણી : ઢાંચો
he : קובץ, תמונה : קטגוריה : תבנית
hi : चित्र : श्रेणी : साँचा
hr : Datoteka, Slika : Kategorija : Predložak
hu : Fájl, Kép : Kategória : Sablon
hy : Պատկեր : Կատեգորիա : Կաղապար
id : Berkas, Gambar : Kategori : Templat
io : Imajo, Arkivo : Kategorio : Shablono
is : Mynd : Flokkur : Snið
it : File, Immagine : Categoria : Template
ja : ファイル, 画像 : カテゴリ : テンプレート
jv : Berkas, Gambar : Kategori : Cithakan
ka : ფაილი, სურათი : კატეგორია : თარგი
kk : Сурет, Файл : Санат : Үлгі
kn : ಚಿತ್ರ : ವರ್ಗ : ಟೆಂಪ್ಲೇಟು
ko : 파일, 그림 : 분류 : 틀
ku : Wêne, Dosye : Kategorî : Şablon
ky : Файл : Категория : Калып
la : Fasciculus, Imago : Categoria : Formula
lb : Fichier, Bild : Kategorie : Schabloun
lmo : Archivi, Immagine : Categoria : Model
lt : Vaizdas : Kategorija : Šablonas
ltg : Fails : Kategoreja : Taiss
lv : Attēls : Kategorija : Veidne
mg : Sary, Rakitra : Sokajy : Endrika
mk : Податотека, Слика : Категорија : Предлошка
ml : പ്രമാണം, ചിത്രം : വർഗ്ഗം : ഫലകം
mn : Файл, Зураг : Ангилал : Загвар
mr : चित्र : वर्ग : साचा
ms : Fail, Imej : Kategori : Templat
my : ဖိုင်, ပုံ : ကဏ္ဍ : တမ်းပလိတ်
nds : Datei, Bild : Kategorie : Vörlaag
ne : चित्र : श्रेणी : ढाँचा
nl : Bestand, Afbeelding : Categorie : Sjabloon
no : Fil, Bilde : Kategori : Mal
oc : Fichièr, Imatge : Categoria : Modèl
pa : ਤਸਵੀਰ : ਸ਼੍ਰੇਣੀ : ਫਰਮਾ
pl : Plik, Grafika : Kategoria : Szablon
pms : Figura : Categorìa : Stamp
pnb : فائل : گٹھ : سانچہ
pt : Ficheiro, Imagem, Arquivo : Categoria : Predefinição
ro : Fișier, Fişier, Imagine : Categorie : Format
ru : Файл, Изображение : Категория : Шаблон
scn : Mmàggini : Catigurìa : Template
sh : Datoteka, Slika : Kategorija : Šablon
sk : Súbor, Obrázok : Kategória : Šablóna
sl : Slika, Datoteka : Kategorija : Predloga
sq : Skeda, Figura : Kategoria : Stampa
sr : Датотека, Слика : Категорија : Шаблон
su : Gambar, Berkas : Kategori : Citakan
sv : Fil, Bild : Kategori : Mall
sw : Picha, Faili : Jamii : Kigezo
ta : படிமம் : பகுப்பு : வார்ப்புரு
te : దస్త్రం, బొమ్మ : వర్గం : మూస
tg : Акс, Файл : Гурӯҳ : Шаблон
th : ไฟล์, ภาพ : หมวดหมู่ : แม่แบบ
tl : Talaksan, Larawan : Kategorya : Padron
tr : Dosya, Resim : Kategori : Şablon
tt : Файл, Рәсем : Төркем : Калып
uk : Файл, Зображення : Категорія : Шаблон
ur : فائل, تصویر : زمرہ : سانچہ
uz : Fayl, Tasvir : Turkum : Andoza
vec : Imagine : Categoria : Modèl
vi : Tập tin, Hình : Thể loại : Bản mẫu
vo : Ragiv, Magod : Klad : Samafomot
war : Payl : Kaarangay : Batakan
yi : טעקע, בילד : קאַטעגאָריע : מוסטער
zh : 文件, 档案, 檔案, 图像, 圖像 : 分类, 分類 : 模板, 样板, 樣板
"""

# Codes that open a link to another language's Wikipedia.
_LANGUAGES = """
    aa ab ace ady af ak als alt am ami an ang anp ar arc ary arz as ast atj av avk awa ay az azb ba ban
    bar bat-smg bbc bcl be be-tarask be-x-old bg bh bi bjn blk bm bn bo bpy br bs bug bxr ca cbk-zam cdo
    ce ceb ch chr chy ckb co cr crh cs csb cu cv cy da dag de dga din diq dsb dtp dty dv dz ee el eml en
    eo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr fur fy ga gag gan gcr gd gl glk gn gom gor
    got gpe gsw gu guc gur guw gv ha hak haw he hi hif hr hsb ht hu hy hyw ia id ie ig igl ik ilo inh io
    is it iu ja jam jbo jv ka kaa kab kbd kbp kcg kg ki kk kl km kn ko koi krc ks ksh ku kus kv kw ky la
    lad lb lbe lez lfn lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mhr mi min mk ml
    mn mni mnw mo mr mrj ms mt mwl my myv mzn na nah nan nap nb nds nds-nl ne new nia nl nn no nov nqo
    nrm nso nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt pwn qu rm
    rmy rn ro roa-rup roa-tara ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh shi shn shy si simple
    sk skr sl sm smn sn so sq sr srn ss st stq su sv sw szl szy ta tay tcy tdd te tet tg th ti tk tl tlh
    tly tn to tokipona tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz ve vec vep vi vls vo vro wa war wo
    wuu xal xh xmf yi yo yue za zea zh zh-classical zh-cn zh-min-nan zh-tw zh-yue zu
"""


@dataclass(frozen=True)
class Namespaces:
    """Look up what stands before the colon of a link."""

    numbers: Mapping[str, int]

    @classmethod
    def build(cls, own: Mapping[str, int] | None = None) -> "Namespaces":
        """Return the built-in names, and above them the dump's own (lower-case name -> number)."""
        if not own:
            return _built_in()
        return cls({**_built_in().numbers, **{_plain(name): number for name, number in own.items()}})

    def kind(self, target: str) -> int | None:
        """Return the namespace of a link's target; None where it has none, or a colon in front."""
        return self.numbers.get(_plain(target.partition(":")[0]))


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().lower()


@lru_cache(maxsize=1)
def _built_in() -> Namespaces:
    numbers = dict.fromkeys(_LANGUAGES.split(), OTHER_LANGUAGE)
    for line in _NAMES.strip().split("\n"):
        _, *columns = line.split(" : ")
        for number, names in zip((FILE, CATEGORY, TEMPLATE), columns, strict=True):
            numbers.update((_plain(name), number) for name in names.split(","))
    return Namespaces(numbers)
