"""Prefixes of links: namespace names in all Wikipedias, and language codes.

Every name is valid on every wiki: Wikipedias import articles from each other, and old names stay in use.

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

# Wikipedia : file and its aliases : category : template.  A Wikipedia without a row uses names of other rows only.
_NAMES = """
en : File, Image : Category : Template
ace : Beureukaih : Kawan : Pola
af : Lêer, Beeld : Kategorie : Sjabloon
am : ስዕል : መደብ : መለጠፊያ
an : Imachen, Fichero : Categoría : Plantilla
ang : Ymele, Biliþ : Flocc : Bysen
ar : ملف, صورة : تصنيف : قالب
arc : ܠܦܦܐ, ܨܘܪܬܐ : ܣܕܪܐ : ܩܠܒܐ
arz : ملف, صورة : تصنيف : قالب
as : চিত্ৰ : শ্ৰেণী : সাঁচ
ast : Ficheru, Imaxe, Imaxen, Archivu : Categoría : Plantía
az : Şəkil, Fayl : Kateqoriya : Şablon
azb : فایل, فايل : بؤلمه : شابلون
ba : Файл, Рәсем : Төркем, Категория : Ҡалып
bat-smg : Abruozdielis : Kateguorėjė : Šabluons
bcl : Ladawan : Kategorya : Plantilya
be : Файл, Выява : Катэгорыя : Шаблон, Шаблён
be-tarask : Файл, Выява : Катэгорыя : Шаблён
bg : Файл, Картинка : Категория : Шаблон
bjn : Barakas : Tumbung : Citakan
bn : চিত্র : বিষয়শ্রেণী : টেমপ্লেট
bpy : ছবি : থাক : মডেল
br : Restr, Skeudenn : Rummad : Patrom
ca : Fitxer, Imatge : Categoria : Plantilla
ce : Файл, Хlум : Категори, Кадегар : Куцкеп, Кеп, Шаблон
ceb : Payl, Imahen : Kategoriya : Plantilya
ckb : پەڕگە, وێنە : پۆل : داڕێژە
crh : Fayl, Resim, Ресим : Kategoriya, Категория : Şablon, Шаблон
cs : Soubor : Kategorie : Šablona
csb : Òbrôzk : Kategòrëjô : Szablóna
cu : Дѣло, Видъ : Катигорїꙗ, Катигорія : Обраꙁьць
cv : Ӳкерчĕк, Файл, Ӳкерчӗк : Категори : Шаблон
cy : Delwedd : Categori : Nodyn
da : Fil, Billede : Kategori : Skabelon
de : Datei, Bild : Kategorie : Vorlage
diq : Dosya : Kategoriye : Şablon
dsb : Dataja, Wobraz : Kategorija : Pśedłoga
dv : ފައިލު : ޤިސްމު : ފަންވަތް
el : Αρχείο, Εικόνα : Κατηγορία : Πρότυπο
eo : Dosiero : Kategorio : Ŝablono
es : Archivo, Imagen : Categoría : Plantilla
et : Pilt, Fail : Kategooria : Mall
eu : Fitxategi, Irudi : Kategoria : Txantiloi
ext : Imahen, Archivu : Categoría : Prantilla
fa : پرونده, تصویر : رده : الگو
fi : Tiedosto, Kuva : Luokka : Malline
fiu-vro : Pilt : Katõgooria : Näüdüs
fo : Mynd : Bólkur : Fyrimynd
fr : Fichier, Image : Catégorie : Modèle
frp : Fichiér, Émâge : Catègorie : Modèlo
fy : Ofbyld : Kategory : Berjocht
ga : Íomhá : Catagóir : Teimpléad
gd : Faidhle, Ìomhaigh : Roinn-seòrsa : Teamplaid
gl : Ficheiro, Imaxe : Categoría : Modelo
gn : Ta'ãnga : Ñemohenda : Tembiecharã
gu : ચિત્ર : શ્રેણી : ઢાંચો
gv : Coadan : Ronney : Clowan
haw : Waihona, Kiʻi : Māhele : Anakuhi
he : קובץ, תמונה : קטגוריה : תבנית
hi : चित्र : श्रेणी : साँचा
hif : File : Vibhag : Template
hr : Datoteka, Slika : Kategorija : Predložak
hsb : Dataja, Wobraz : Kategorija : Předłoha
ht : Fichye, Imaj : Kategori : Modèl
hu : Fájl, Kép : Kategória : Sablon
hy : Պատկեր : Կատեգորիա : Կաղապար
ia : File, Imagine : Categoria : Patrono
id : Berkas, Gambar : Kategori : Templat
ilo : Papeles : Kategoria : Plantilia
inh : Файл : Оагӏат, ОагӀат : Куцкеп
io : Imajo, Arkivo : Kategorio : Shablono
is : Mynd : Flokkur : Snið
it : File, Immagine : Categoria : Template
ja : ファイル, 画像 : カテゴリ : テンプレート
jv : Berkas, Gambar : Kategori : Cithakan
ka : ფაილი, სურათი : კატეგორია : თარგი
kaa : Su'wret, Сүўрет : Kategoriya : Shablon
kab : Tugna : Taggayt : Talɣa
kbd : Файл : Категориэ : Шаблон
kk : Сурет, Файл, Swret, سۋرەت : Санат, Sanat, سانات : Үлгі, Ülgi, ٷلگٸ, ۇلگى
kl : Fiileq : Sumut atassusia : Ilisserut
km : ឯកសារ, រូបភាព : ចំណាត់ថ្នាក់ក្រុម : ទំព័រគំរូ
kn : ಚಿತ್ರ : ವರ್ಗ : ಟೆಂಪ್ಲೇಟು
ko : 파일, 그림 : 분류 : 틀
ks : فَیِل : زٲژ : فرما
ksh : Datei, Beld, Belld : Saachjrupp, Saachjropp, Sachjrop, Kattejori : Schablon, Schablohn
ku : Wêne, Dosye : Kategorî : Şablon
kw : Restren, Skeusen : Klass : Skantlyn, Scantlyn
ky : Файл : Категория : Калып
la : Fasciculus, Imago : Categoria : Formula
lad : Dosya, Imajen : Kateggoría, Katēggoría : Xabblón
lb : Fichier, Bild : Kategorie : Schabloun
lbe : Сурат : Категория : Шаблон
lez : Шикил, Файл : Категория : Кьалиб
li : Plaetje, Aafbeilding : Categorie, Kategorie : Sjabloon
lij : Immaggine : Categorîa : Template
lmo : Archivi, Immagine : Categuria, Categoria : Mudel, Model
lo : ຮູບ : ໝວດ : ແມ່ແບບ
lt : Vaizdas : Kategorija : Šablonas
ltg : Fails : Kategoreja : Taiss
lv : Attēls : Kategorija : Veidne
mai : चित्र, फाइल : श्रेणी : आकृति
mdf : Няйф : Категорие : Шаблон
mg : Sary, Rakitra : Sokajy : Endrika
mhr : Файл : Категорий : Кышкар
min : Berkas, Gambar : Kategori : Templat
mk : Податотека, Слика : Категорија : Предлошка
ml : പ്രമാണം, ചിത്രം : വർഗ്ഗം : ഫലകം
mn : Файл, Зураг : Ангилал : Загвар
mr : चित्र : वर्ग : साचा
mrj : Файл, Изображени : Категори : Кышкар
ms : Fail, Imej : Kategori : Templat
mt : Fajl : Kategorija : Mudell
mwl : Fexeiro, Ficheiro : Catadorie : Modelo
my : ဖိုင်, ပုံ : ကဏ္ဍ : တမ်းပလိတ်
myv : Артовкс : Категория : ЛопаПарцун
mzn : پرونده, تصویر : رج, رده : شابلون, الگو
nah : Īxiptli, Imagen : Neneuhcāyōtl, Categoría : Nemachiyōtīlli
nap : Fiùra, Immagine : Categurìa : Modello
nds : Datei, Bild : Kategorie : Vörlaag
nds-nl : Bestaand, Ofbeelding : Kattegerie, Kategorie : Mal, Sjabloon
ne : चित्र : श्रेणी : ढाँचा
new : किपा : पुचः : Template
nl : Bestand, Afbeelding : Categorie : Sjabloon
nn : Fil, Bilde : Kategori : Mal
no : Fil, Bilde : Kategori : Mal
nv : Eʼelyaaígíí : Tʼááłáhági átʼéego : Template
oc : Fichièr, Imatge : Categoria : Modèl
olo : Failu : Kategourii : Šablonu
or : ଫାଇଲ, ଛବି : ବିଭାଗ, ଶ୍ରେଣୀ : ଟେମ୍ପଲେଟ, ଛାଞ୍ଚ
os : Файл, Ныв : Категори : Хуызæг
pa : ਤਸਵੀਰ : ਸ਼੍ਰੇਣੀ : ਫਰਮਾ
pfl : Dadai : Sachgrubb : Vorlach
pi : पटिमा : विभाग : पटिरूप
pl : Plik, Grafika : Kategoria : Szablon
pms : Figura : Categorìa : Stamp
pnb : فائل : گٹھ : سانچہ
pnt : Εικόναν, Αρχείον : Κατηγορίαν : Πρότυπον
ps : دوتنه, انځور : وېشنيزه : کينډۍ
pt : Ficheiro, Imagem, Arquivo : Categoria : Predefinição
qu : Rikcha : Katiguriya : Plantilla
rm : Datoteca : Categoria : Model
rmy : Chitro : Shopni : Sikavno
ro : Fișier, Fişier, Imagine : Categorie : Format, Șablon
roa-tara : File : Categorije : Template
ru : Файл, Изображение : Категория : Шаблон
rue : Файл, Зображення : Катеґорія, Категорія : Шаблона
sa : सञ्चिका, चित्रम् : वर्गः : फलकम्
sah : Билэ, Ойуу : Категория : Халыып
sat : ᱨᱮᱫ : ᱛᱷᱚᱠ : ᱪᱷᱟᱸᱪ
sc : File, Immàgini : Categoria : Template
scn : Mmàggini : Catigurìa : Template
sd : فائل, عڪس : زمرو : سانچو
se : Fiila : Kategoriija : Málle
sh : Datoteka, Slika, Датотека, Слика : Kategorija, Категорија : Šablon, Шаблон
si : ගොනුව, රූපය : ප්‍රවර්ගය : සැකිල්ල
simple : File, Image : Category : Template
sk : Súbor, Obrázok : Kategória : Šablóna
sl : Slika, Datoteka : Kategorija : Predloga
sq : Skeda, Figura : Kategoria : Stampa
sr : Датотека, Слика, Datoteka, Slika : Категорија, Kategorija : Шаблон, Šablon
srn : Gefre : Categorie : Ankra
stq : Bielde : Kategorie : Foarloage
sv : Fil, Bild : Kategori : Mall
sw : Picha, Faili : Jamii : Kigezo
szl : Plik, Grafika : Kategoryjo : Mustra
ta : படிமம் : பகுப்பு : வார்ப்புரு
tcy : ಫೈಲ್, ಚಿತ್ರೊ : ವರ್ಗೊ : ಟೆಂಪ್ಲೇಟ್
te : దస్త్రం, బొమ్మ, ఫైలు : వర్గం : మూస
tg : Акс, Файл : Гурӯҳ : Шаблон
th : ไฟล์, ภาพ : หมวดหมู่ : แม่แบบ
tk : Faýl, Surat : Kategoriýa : Şablon
tl : Talaksan, Larawan : Kategorya : Padron
tr : Dosya, Resim : Kategori : Şablon
tt : Файл, Рәсем, Räsem, Рəсем : Төркем, Törkem : Калып, Qalıp
tyv : Файл : Аңгылал, Категория : Майык
udm : Суред, Файл : Категория : Шаблон
ug : ھۆججەت : تۈر : قېلىپ
uk : Файл, Зображення : Категорія : Шаблон
ur : فائل, تصویر, ملف : زمرہ : سانچہ
uz : Fayl, Tasvir : Turkum, Kategoriya : Andoza, Shablon
vep : Fail, Pilt : Kategorii : Šablon
vi : Tập tin, Hình : Thể loại : Bản mẫu
vls : Ofbeeldienge : Categorie : Patrôon
vo : Ragiv, Magod : Klad : Samafomot
wa : Imådje : Categoreye : Modele
war : Payl : Kaarangay : Batakan
wo : Dencukaay : Wàll : Royuwaay
xal : Боомг, Зург : Әәшл : Зура
yi : טעקע, בילד : קאַטעגאָריע : מוסטער
yo : Fáìlì, Àwòrán : Ẹ̀ka : Àdàkọ
zh : 文件, 档案, 檔案, 图像, 圖像, 图片, 圖片 : 分类, 分類 : 模板, 样板, 樣板
zh-min-nan : tóng-àn, Mûi-thé : Lūi-pia̍t : Pang-bô͘
zh-yue : 文件, 檔 : 分類, 类 : 模, 模板
"""

# Language codes that begin a link to another Wikipedia.
_LANGUAGES = """
    aa ab ace ady af ak als alt am ami an ang ann anp ar arc ary arz as ast atj av avk awa ay az azb ba
    ban bar bat-smg bbc bcl bdr be be-tarask be-x-old bew bg bh bi bjn blk bm bn bo bpy br bs btm bug
    bxr ca cbk-zam cdo ce ceb ch cho chr chy ckb co cr crh cs csb cu cv cy cz da dag de dga din diq dk
    dsb dtp dty dua dv dz ee el eml en eo epo es et eu ext fa fat ff fi fiu-vro fj fo fon fr frp frr
    fur fy ga gag gan gcr gd gl glk gn gom gor got gpe gsw gu guc gur guw gv ha hak haw he hi hif ho hr
    hsb ht hu hy hyw hz ia iba id ie ig igl ii ik ilo inh io is it iu ja jam jbo jp jv ka kaa kab kbd
    kbp kcg kg kge ki kj kk kl km kn knc ko koi kr krc kru ks ksh ku kus kv kw ky la lad lb lbe lez lfn
    lg li lij lld lmo ln lo lrc lt ltg lv lzh mad mai map-bms mdf mg mh mhr mi min minnan mk ml mn mni
    mnw mo mos mr mrj ms mt mus mwl my myv mzn na nah nan nap nb nds nds-nl ne new ng nia nl nn no nov
    nqo nr nrm nso nup nv ny oc olo om or os pa pag pam pap pcd pcm pdc pfl pi pih pl pms pnb pnt ps pt
    pwn qu rki rm rmy rn ro roa-rup roa-tara rsk ru rue rup rw sa sah sat sc scn sco sd se sg sgs sh
    shi shn shy si simple sk skr sl sm smn sn so sq sr srn ss st stq su sv sw syl szl szy ta tay tcy
    tdd te tet tg th ti tig tk tl tlh tly tn to tokipona tpi tr trv ts tt tum tw ty tyv udm ug uk ur uz
    ve vec vep vi vls vo vro wa war wo wuu xal xh xmf yi yo yue za zea zgh zh zh-cfr zh-classical zh-cn
    zh-min-nan zh-tw zh-yue zu
"""


@dataclass(frozen=True)
class Namespaces:
    """Look up the prefix of a link."""

    numbers: Mapping[str, int]

    @classmethod
    def build(cls, dump_names: Mapping[str, int] | None = None) -> "Namespaces":
        """Return the built-in names, overridden by the dump's own (lowercase name -> number)."""
        if not dump_names:
            return _built_in()
        return _with(tuple(dump_names.items()))

    def kind(self, target: str) -> int | None:
        """Return the namespace of a link's target, or None if it has no prefix or starts with a colon."""
        return self.numbers.get(_plain(target.partition(":")[0]))


def _plain(name: str) -> str:
    return name.replace("_", " ").strip().lower()


@lru_cache(maxsize=64)
def _with(dump_names: tuple[tuple[str, int], ...]) -> Namespaces:
    """Return the built-in names and those of a dump; cached for all its pages."""
    return Namespaces({**_built_in().numbers, **{_plain(name): number for name, number in dump_names}})


@lru_cache(maxsize=1)
def _built_in() -> Namespaces:
    numbers = dict.fromkeys(_LANGUAGES.split(), OTHER_LANGUAGE)
    for line in _NAMES.strip().split("\n"):
        _, *columns = line.split(" : ")
        for number, names in zip((FILE, CATEGORY, TEMPLATE), columns, strict=True):
            numbers.update((_plain(name), number) for name in names.split(","))
    return Namespaces(numbers)
