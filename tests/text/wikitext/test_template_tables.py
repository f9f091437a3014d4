"""The tables of templates: what Wikipedias in other languages show for calls in running prose."""

from pathlib import Path

import pytest
from conftest import REPOSITORY
from footing import Extractor, extract_paragraphs

from bertdata.config import read_toml
from bertdata.text.wikitext import load_templates

FOLDER = REPOSITORY / "bertdata" / "text" / "wikitext" / "templates" / "tables"
TABLES = sorted(FOLDER.glob("*.toml"))

JA = """
橋は{{和暦|昭和|1}}に建った。 => 橋は1926年（昭和元年）に建った。
寺は{{和暦|1600}}に、駅は{{和暦|h|30}}に建った。 => 寺は1600年に、駅は2018年（平成30年）に建った。
彼は没した（{{没年齢|1900|5}}）。{{和暦|昔}} => 彼は没した。
発音は{{IPA|toːdai}}、{{IPA2|toːdai}}である。 => 発音は[toːdai]、toːdaiである。
{{Quote|海は広い。|灯台守}} => 海は広い。
{{ページ名}}は島にある{{Audio|T.ogg|発音}}。 => Tは島にある。
北の港（{{Lang-en|North Harbour}}）は小さい。 => 北の港（英語: North Harbour）は小さい。
北の港（{{lang-en-short|North Harbour}}）は小さい。 => 北の港（英: North Harbour）は小さい。
塔（{{lang-grc-short|πύργος}}、{{Lang-de|Turm}}）が立つ。 => 塔（古希: πύργος、ドイツ語: Turm）が立つ。
船は「{{lang|fr|Mouette}}」という。 => 船は「Mouette」という。
語源はラテン語の{{la|portus}}である。 => 語源はラテン語のportusである。
川は{{仮リンク|白樺湖|en|Birch Lake}}に注ぐ。 => 川は白樺湖に注ぐ。
川は{{仮リンク|白樺湖 (町)|en|Birch Lake|label=白樺湖}}に注ぐ。 => 川は白樺湖に注ぐ。
道は{{ill2|石橋|de|Steinbrücke}}を渡る。 => 道は石橋を渡る。
{{読み仮名|'''灯台守'''|とうだいもり}}は島に住む。 => 灯台守（とうだいもり）は島に住む。
{{読み仮名_ruby不使用|'''灯台'''|とうだい|{{lang-en-short|a light}}}}が立つ。 => 灯台（とうだい、英: a light）が立つ。
碑には{{ruby|汐|しお}}とある。 => 碑には汐（しお）とある。
彼（{{旧字体|'''澤田 廣'''}}）は漁師だった。 => 彼（旧字体：澤田 廣）は漁師だった。
{{CP932フォント|髙}}い山と{{補助漢字フォント|瀨}}がある。 => 髙い山と瀨がある。
{{要出典範囲|date=2020年1月|灯台は町で最も古い。}}今も使われる。 => 灯台は町で最も古い。今も使われる。
灯台は古い{{要出典|date=2020年1月}}。 => 灯台は古い。
彼は{{ilq|海は広い}}と書いた。 => 彼は「海は広い」と書いた。
地図の赤い線（{{Color|#f00|━}}）は道である。 => 地図の赤い線（━）は道である。
彼は{{生年月日と年齢|1950|3|9}}に生まれた。 => 彼は1950年3月9日に生まれた。
彼は{{死亡年月日と没年齢|1900|5|10|1980|5|9}}に没した。 => 彼は1980年5月9日（79歳没）に没した。
灯台は{{和暦|1930}}に建った。 => 灯台は1930年（昭和5年）に建った。
道は{{convert|5|mi|km}}、質量は{{val|5|u=kg}}である。 => 道は5 mi (8.0 km)、質量は5 kgである。
橋は{{和暦|1989}}に、駅は{{和暦|2020}}に開いた。 => 橋は1989年に、駅は2020年（令和2年）に開いた。
欧州では{{BEL}}と{{flagcountry|FRA}}が遊ぶ。{{Fontsize|large|海}} => 欧州ではベルギーとフランスが遊ぶ。海
根拠は（{{合衆国法典|17|302}}）、名は（Anna {{IPA-nl|ana|lang}}）である。 => 根拠は（17 U.S.C. § 302）、名は（Anna [ana]）である。
位置は（{{ウィキ座標|35|10|N|139|20|E}}）島の北である。 => 位置は島の北である。
"""
ZH = """
港口（{{langx|de|Nordhafen}}）很小。 => 港口（德語：Nordhafen）很小。
作者是{{nihongo|山田海|山田 海|Yamada Kai}}。 => 作者是山田海（山田 海，Yamada Kai）。
{{nihongo|'''灯台'''|灯台|romaji=tōdai|lead=yes}}是塔。 => 灯台（日語：灯台，羅馬字：tōdai）是塔。
灯台（{{jpn|j=灯台|hg=とうだい|rm=tōdai}}）是塔。 => 灯台（日語：灯台／とうだい tōdai）是塔。
{{cquote|海很大。|守塔人}} => 海很大。
{{页名}}在岛上。 => T在岛上。
灯塔（{{lang-en|lighthouse}}）在海边。 => 灯塔（英語：lighthouse）在海边。
港口（{{Lang-la|portus}}、{{lang-ja|港}}）很小。 => 港口（拉丁語：portus、日語：港）很小。
船名是{{lang|fr|Mouette}}。 => 船名是Mouette。
{{as of|2010|5}}有{{convert|5|mi|km}}长。 => 截至2010年5月有5 mi (8.0 km)长。
河水流入{{internal link helper/en|白樺湖|Birch Lake}}。 => 河水流入白樺湖。
河水流入{{le|白樺湖|Birch Lake}}。 => 河水流入白樺湖。
河水流入{{link-en|白樺湖 (湖)|Birch Lake|白樺湖}}。 => 河水流入白樺湖。
邻村是{{link-de|石橋鎮|Steinbrück}}。 => 邻村是石橋鎮。
他读过{{tsl|en|The Keeper|守塔人}}和{{tsl|en|The Sea|海 (小說)|海}}。 => 他读过守塔人和海。
他读过{{tsl|en|Harbour}}和{{tsl|en|The Sea||海}}。 => 他读过Harbour和海。
作者是{{仮リンク|山田海|ja|山田海}}。 => 作者是山田海。
作者是{{ill|山田海|ja|山田海}}。 => 作者是山田海。
作者是{{ill|ja|山田海}}。 => 作者是山田海。
老人（{{bd|1900年|1月1日|1980年|2月2日|catIdx=L}}）住在岛上。 => 老人（1900年1月1日－1980年2月2日）住在岛上。
姑娘（{{bd|1990年|3月4日}}）住在岛上。 => 姑娘（1990年3月4日－）住在岛上。
{{citation needed|这座塔最古老。|time=2016-01-01}}它还亮着。 => 这座塔最古老。它还亮着。
{{fact|time=2016-01-01}}它还亮着{{来源请求}}。 => 它还亮着。
碑上有{{僻字|𠮷|士口}}字，读{{ruby|吉|jí}}。 => 碑上有𠮷字，读吉（jí）。
按{{key press|Ctrl|S}}保存。 => 按Ctrl+S保存。
图中{{color|red|红线}}是路。 => 图中红线是路。
"""
IT = """
La strada è lunga {{M|12500||m}}. => La strada è lunga 12 500 m.
{{NOMEPAGINA}} è un'isola ({{Link audio|T.ogg|ascolta}}). => T è un'isola.
{{Citazione necessaria|Il faro è il più antico.|data=maggio 2010}} Funziona ancora. => Il faro è il più antico. Funziona ancora.
Il faro{{senza fonte}} è antico. => Il faro è antico.
Secondo molti{{chi}} è antico. => Secondo molti è antico.
La strada è lunga {{M|12500|ul=m}}. => La strada è lunga 12 500 m.
La massa è {{M|7,5|e=15|u=kg}} circa. => La massa è 7,5 × 1015 kg circa.
Vive {{Exp|7,7|15}} anni. => Vive 7,7 × 1015 anni.
Scrive con {{LaTeX}} e {{TeX}}. => Scrive con LaTeX e TeX.
Nacque nel 44 {{a.C.}} sull'isola. => Nacque nel 44 a.C. sull'isola.
Il porto ({{inglese|North Harbour}}) è piccolo. => Il porto (in inglese: North Harbour) è piccolo.
Il porto ({{lang-de|Nordhafen}}) è piccolo. => Il porto (in tedesco: Nordhafen) è piccolo.
La nave ''{{lang|fr|Mouette}}'' affondò. => La nave Mouette affondò.
{{Citazione|Il mare è grande.|Il guardiano}} => «Il mare è grande.»
Il secolo {{maiuscoletto|XIX}} finì. => Il secolo XIX finì.
La bandiera {{Bandiera|ITA}} sventola. => La bandiera sventola.
Abitanti: {{formatnum:58063}}. => Abitanti: 58 063.
"""
DE = """
Er kam {{JULGREGDATUM|7|Mai}} an. => Er kam an.
Er kam am {{JULGREGDATUM|7|11|1917|Link="true"}} an. => Er kam am 25. Oktoberjul. / 7. November 1917greg. an.
Er kam am {{JULGREGDATUM|1|1|1850}} an. => Er kam am 20. Dezember 1849jul. / 1. Januar 1850greg. an.
Der Turm ([{{IPA|tʊʁm}}]) ist hoch. => Der Turm ([tʊʁm]) ist hoch.
{{SEITENNAME}} ist eine Insel{{Coordinate|NS=1|EW=2}}. => T ist eine Insel.
Der Hafen ({{EnS|North Harbour}}) ist klein. => Der Hafen (englisch North Harbour) ist klein.
Der Hafen ({{FrS|Port du Nord}}; {{RuS|Порт}}) ist klein. => Der Hafen (französisch Port du Nord; russisch Порт) ist klein.
Der Turm ({{arS|برج|d=burǧ}}) ist hoch. => Der Turm (arabisch برج, DMG burǧ) ist hoch.
Das Wort ({{grcS|πύργος}}) ist alt. => Das Wort (altgriechisch πύργος) ist alt.
Das Schiff ''{{lang|fr|Mouette}}'' sank. => Das Schiff Mouette sank.
Er schrieb: {{"|Das Meer ist groß.}} => Er schrieb: „Das Meer ist groß.“
{{Zitat|Das Meer ist groß.|Der Wärter}} => „Das Meer ist groß.“
{{Zitat|Text=Das Meer ist groß.|Autor=Der Wärter}} => „Das Meer ist groß.“
{{Zitat-en|The sea is wide.|Übersetzung=Das Meer ist weit.}} => “The sea is wide.” „Das Meer ist weit.“
Der Berg ist {{Höhe|1234|AT}} hoch. => Der Berg ist 1234 m ü. A. hoch.
Der Hof liegt auf {{Höhe|321|DE-NHN}} im Tal. => Der Hof liegt auf 321 m ü. NHN im Tal.
Die Insel hat {{FormatNum|12345}} Bäume. => Die Insel hat 12.345 Bäume.
Er aß {{Bruch|1|2}} Brot. => Er aß 1⁄2 Brot.
So steht es in {{Bibel|Joh|3|16}} geschrieben. => So steht es in Joh 3,16 EU geschrieben.
Man spricht {{Lautschrift|tʊʁm}}. => Man spricht [tʊʁm].
Der Turm{{FN|1}} ist hoch{{Anker|Turm}}. => Der Turm ist hoch.
Nach {{§|5|BGB|juris}} und {{Art.|3|GG|juris}} ist es frei. => Nach § 5 BGB und Art. 3 GG ist es frei.
"""
FR = """
Il fait {{°C|20}} à midi et 5 {{°C}} la nuit. => Il fait 20 °C à midi et 5 °C la nuit.
{{NOMPAGE}} est une île{{coord|1|2}}. => T est une île.
Le phare date du {{XIXe siècle}}. => Le phare date du XIXe siècle.
Le phare date du {{s|XIX}} et le port du {{s mini-|XVIII}}. => Le phare date du XIXe siècle et le port du XVIIIe.
La tour date du {{Ier siècle}}, le mur du {{s|I|er|av. J.-C.}} => La tour date du Ier siècle, le mur du Ier siècle av. J.-C.
Le mur date du {{-s|V|e}} => Le mur date du Ve siècle av. J.-C.
Le mur date du {{IIe siècle av. J.-C.}} environ. => Le mur date du IIe siècle av. J.-C. environ.
Aux {{s2|XVI|e|XVII|e}}, on pêche. => Aux XVIe et XVIIe siècles, on pêche.
Aux {{s2|XVI|XVII}}, on pêche. => Aux XVIe et XVIIe siècles, on pêche.
Du {{sp|XVI|e|au|XVII|e|}} on pêche. => Du XVIe au XVIIe siècle on pêche.
Il arrive {{1er}} ou {{2e}}, le {{IIe millénaire}} finit. => Il arrive 1er ou 2e, le IIe millénaire finit.
Le 5{{e}} jour et le 1{{er}} mai, il pleut. => Le 5e jour et le 1er mai, il pleut.
Né le {{date|1|janvier|1900}}, mort le {{date de décès|21|9|1980}}. => Né le 1er janvier 1900, mort le 21 septembre 1980.
Le phare est achevé en {{date-||juillet|1789}}. => Le phare est achevé en juillet 1789.
Aux {{s2-|III|e|IX|e}} et au {{s-|III|e}}, on pêche. => Aux IIIe et IXe siècles et au IIIe siècle, on pêche.
Au {{sp-|XII|e|et au|XVI|e}} on pêche. => Au XIIe et au XVIe siècle on pêche.
Du {{-sp-|IX|e|au|VII|e|}} on pêche. => Du IXe au VIIe siècle av. J.-C. on pêche.
La vitesse est de {{unité|1234567,89|km||h|-1}} ici. => La vitesse est de 1 234 567,89 km⋅h-1 ici.
Le champ fait {{dunité|20|30|m}} environ. => Le champ fait 20 × 30 m environ.
Le {{1er mai}}, la {{5e|armée}} part. => Le 1er mai, la 5e armée part.
Il parcourt {{unité|12500|km|2}} à {{unité|3.5|m/s}}. => Il parcourt 12 500 km2 à 3,5 m/s.
Elle compte {{unité|4,4|millions|d'habitants}} en tout. => Elle compte 4,4 millions d'habitants en tout.
Elle compte {{unité|4,4 millions}} de gens. => Elle compte 4,4 millions de gens.
La masse vaut {{unité|2|e=30|kg}}. => La masse vaut 2 × 1030 kg.
{{nombre|1234|habitants}} vivent ici. => 1 234 habitants vivent ici.
À {{heure|14|30}}, {{Mme|Martin}} part. => À 14 h 30, Mme Martin part.
Il dit : {{citation|la mer est grande}}. => Il dit : « la mer est grande ».
Il dit : {{citation étrangère|lang=en|the sea is wide}}. => Il dit : « the sea is wide ».
{{Citation bloc|La mer est grande.|Le gardien}} => « La mer est grande. »
Le port ({{lang-en|North Harbour}}) est petit. => Le port (en anglais : North Harbour) est petit.
Le navire {{langue|de|Möwe}} et le {{lang|it|texte=Gabbiano}} coulent. => Le navire Möwe et le Gabbiano coulent.
Il lit {{lien|trad=The Keeper|lang=en|fr=Le Gardien (roman)|texte=Le Gardien}}. => Il lit Le Gardien.
Le {{japonais|phare|灯台|tōdai}} est haut. => Le phare (灯台, tōdai) est haut.
{{Référence nécessaire|Le phare est le plus ancien.|date=mai 2010}} Il brille. => Le phare est le plus ancien. Il brille.
Le phare brille{{sfn|Martin|2001|p=3}}{{,}}{{note|x}}. => Le phare brille.
Il vit au {{n°|5}} en 44 {{av. J.-C.}} => Il vit au no 5 en 44 av. J.-C.
Le gaz {{fchim|C|O|2}} et le {{CO2}} montent. => Le gaz CO2 et le CO2 montent.
"""
ES = """
{{NOMBREDEPÁGINA}} es una isla{{Coord|1|2}}. => T es una isla.
El faro es del {{siglo|XIX||s}}. => El faro es del siglo XIX.
El muro es del siglo {{siglo|V|a}} => El muro es del siglo V a. C.
El muro es del {{siglo|i|d|s}} o antes. => El muro es del siglo I d. C. o antes.
Nació en el 44 {{a.C.}} o {{AC|45}}, dicen. => Nació en el 44 a. C. o 45 a. C., dicen.
Mide {{unidad|12500|m}} de largo. => Mide 12 500 m de largo.
El puerto ({{lang-en|North Harbour}}) es pequeño. => El puerto (en inglés: North Harbour) es pequeño.
El barco ''{{lang|fr|Mouette}}'' se hundió. => El barco Mouette se hundió.
El faro es antiguo{{cita requerida}}. => El faro es antiguo.
Según algunos {{¿quién?}} es antiguo. => Según algunos es antiguo.
Nació el {{fecha|16|7|1981}}. => Nació el 16 de julio de 1981.
Nació el {{fecha de nacimiento|16|julio|1981}} aquí. => Nació el 16 de julio de 1981 aquí.
{{Cita|El mar es grande.}} => El mar es grande.
El siglo {{versalita|XIX}} terminó. => El siglo XIX terminó.
Comió {{fracción|1|2}} pan. => Comió 1⁄2 pan.
Vive en España {{Bandera|España}}. => Vive en España.
Tiene {{nowrap|tres torres}} y {{formatnum:12345}} árboles. => Tiene tres torres y 12 345 árboles.
"""
RU = """
{{НАЗВАНИЕСТРАНИЦЫ}} — остров. => T — остров.
Порт ({{lang-en|North Harbour}}) мал. => Порт (англ. North Harbour) мал.
Башня ({{lang-grc|πύργος}}, {{Lang-de|Turm}}) высока. => Башня (др.-греч. πύργος, нем. Turm) высока.
Судно {{lang|fr|Mouette}} и {{langi|la|Larus}} утонули. => Судно Mouette и Larus утонули.
Маяк стар{{Нет АИ|23|12|2012}}. => Маяк стар.
{{нет АИ 2|Маяк самый старый.|1|2|2012}} Он горит. => Маяк самый старый. Он горит.
Река впадает в {{нп5|Берёзовое озеро|Берёзовое озеро|en|Birch Lake}}. => Река впадает в Берёзовое озеро.
Река впадает в {{iw|Озеро (Канада)|озеро|en|Lake}}. => Река впадает в озеро.
Река впадает в {{не переведено|надо=Белое озеро|есть=:en:White Lake}}. => Река впадает в Белое озеро.
Река впадает в {{не переведено 5|Белое озеро||en|White Lake}}. => Река впадает в Белое озеро.
Он родился {{OldStyleDate|25|июля|1826|13}}. => Он родился 13 (25) июля 1826.
Он родился {{OldStyleDate|5|февраля|1826|24|января}}. => Он родился 24 января (5 февраля) 1826.
Он родился {{дата|9|5|1945}}. => Он родился 9 мая 1945.
Здесь {{число|12345}} деревьев и {{s|три башни}}. => Здесь 12 345 деревьев и три башни.
{{Цитата|Море велико.|автор=Смотритель}} => Море велико.
{{начало цитаты}}Море велико.{{конец цитаты|источник=Смотритель}} => Море велико.
Он мастер {{нихонго|дзюдо|柔道|дзю:до:}}. => Он мастер дзюдо (яп. 柔道 дзю:до:).
Вес {{comment|кг|килограмм}} мал{{якорь|вес}}. => Вес кг мал.
"""
EN = """
A ({{lang-zh|s=北港|t=北港口|p=běi gǎng}}). => A (simplified Chinese: 北港; traditional Chinese: 北港口; pinyin: běi gǎng).
The port ({{lang-zh|北港}}, {{lang-ku}}) is {{tlit|ru|bukhta}}. => The port (Chinese: 北港) is bukhta.
It is {{val|12.5|0.2|u=km}} or {{val|12345|fmt=commas|u=m}} off. => It is 12.5±0.2 km or 12,345 m off.
It weighs {{val|1.2|(3)|e=6|u=kg}}. => It weighs 1.2(3)×106 kg.
It weighs {{val|1.2|0.3|e=6|u=kg}} or {{val|5|+1|-2|e=3}}. => It weighs (1.2±0.3)×106 kg or (5+1−2)×103.
It lies at {{coord|12|31|07|N|70|02|09|W|type:city}}. => It lies at 12°31′07″N 70°02′09″W.
It lies at {{coord|13|19|N|169|9|W}}, {{coord|39.9|N|32.8|E|display=inline}}. => It lies at 13°19′N 169°9′W, 39.9°N 32.8°E.
It lies at {{coord|-5.5|30.25|dim:30}}. => It lies at 5.5°S 30.25°E.
The island ({{coord|28|N|2|E|display=inline,title}}; {{coord|missing}}) is small. => The island is small.
{{harvtxt|Reed|Hill|1974|p=5}} and {{harvtxt|Low|1995}} say so {{harv|A|1995}}. => Reed & Hill (1974, p. 5) and Low (1995) say so.
So say {{harvnb|A|B|C|D|2001|pp=4–5}} and {{harvnb|A|B|C|2001}}. => So say A et al. 2001, pp. 4–5 and A, B & C 2001.
It is {{nuclide|caesium|137}}, not {{SimpleNuclide|Ra|226}} or {{bismuth}}. => It is 137Cs, not 226Ra or Bi.
See {{uscsub|18|3553|a}}. The field {{airport codes|ABC|DEFG}}. => See 18 U.S.C. § 3553(a). The field (IATA: ABC, ICAO: DEFG).
On {{open-closed|0,1}} {{ell}} is odd{{aside|so they say}}or not. => On (0,1] ℓ is odd – so they say – or not.
The sound {{IPAblink|ə|ə(ː)}} is {{IPAslink|q}}{{by whom?|date=May 2010}}. => The sound [ə(ː)] is /q/.
{{Main|Port}}{{Infobox town|name={{nihongo|A|B}}}} It is old. {{cite book|title={{lang|la|Portus}}}} => It is old.
"""
OTHERS = {
    "pt": """
O farol é do {{séc|XIX}} e tem {{fmtn|90000|m}}. => O farol é do século XIX e tem 90 000 m.
O porto ({{lang-de|Nordhafen}}) é pequeno{{carece de fontes|data=maio de 2010}}. => O porto (em alemão: Nordhafen) é pequeno.
O {{PBPE|trem|comboio}} é novo. => O trem (português brasileiro) ou comboio (português europeu) é novo.
Nasceu em {{dni|16|7|1981}} e {{AC|44}} é antigo. => Nasceu em 16 de julho de 1981 e 44 a.C. é antigo.
""",
    "nl": "De haven ({{lang-en|North Harbour}}) is klein.{{Bron?||2011|05|07}} => De haven (Engels: North Harbour) is klein.",
    "pl": """
{{Fakt|Latarnia jest najstarsza.|data=2017-11}} Nadal świeci{{r|a}}. => Latarnia jest najstarsza. Nadal świeci.
To {{nihongo|latarnia|灯台|tōdai}}. => To latarnia (jap. 灯台 tōdai).
""",
    "ltg": "Kopenhaga ({{vol-da|København}}; {{lang-de|b}}) ir{{Nūruodis}}. => Kopenhaga (danīšu: København; b) ir.",
    "uk": "Порт ({{lang-de|Nordhafen}}) у {{не перекладено|Озеро|озері|en|Lake}}. => Порт (нім. Nordhafen) у озері.",
    "ko": """
항구({{llang|ja|港|미나토}})는 작다{{출처|날짜=2020-1-1}}. => 항구(일본어: 港 미나토)는 작다.
{{국기|독일}}의 {{임시링크|등대|en|Light}}는 크다. => 독일의 등대는 크다.
""",
    "ar": "الميناء {{إنج|Harbour}} صغير{{بحاجة لمصدر}} {{وإو|عر=هنا}}. => الميناء (بالإنجليزية: Harbour) صغير هنا.",
    "ca": "El far és del {{segle|XIX}} ({{lang-de|Turm}}){{CC}}. => El far és del segle XIX (en alemany: Turm).",
    "cs": "Přístav ({{Vjazyce2|en|North Harbour}}) je {{cizojazyčně|fr|petit}}. => Přístav (anglicky North Harbour) je petit.",
    "da": "Havnen ({{lang-en|North Harbour}}) er lille{{Kilde mangler|dato=2010}}. => Havnen (engelsk: North Harbour) er lille.",
    "fi": "Satama ({{k-en|North Harbour}}) on pieni{{Lähde|vuosi}}. => Satama (engl. North Harbour) on pieni.",
    "hu": "A kikötő ({{lang-en|North Harbour}}) kicsi{{forr}}. => A kikötő (angolul: North Harbour) kicsi.",
    "id": "Pelabuhan ({{lang-en|North Harbour}}) kecil{{butuh rujukan}}. => Pelabuhan (bahasa Inggris: North Harbour) kecil.",
    "no": "Havnen ({{lang-en|North Harbour}}) er liten{{tr}}. => Havnen (engelsk: North Harbour) er liten.",
    "tr": "Liman ({{lang-en|North Harbour}}) küçüktür{{Kaynak belirt}}. => Liman (İngilizce: North Harbour) küçüktür.",
    "vi": "Cảng ({{lang-en|North Harbour}}) nhỏ{{Cần dẫn nguồn}}. => Cảng (tiếng Anh: North Harbour) nhỏ.",
    "sv": "Hamnen ({{lang-en|North Harbour}}) är liten{{källa behövs}}. => Hamnen (engelska: North Harbour) är liten.",
    "bn": "এর আয়তন {{রূপান্তর|306|km2|sqmi}} ({{lang-en|tea}}){{সত্যতা}}। => এর আয়তন 306 km2 (118 sq mi) (ইংরেজি: tea)।",
    "el": "Ο φάρος {{προφορά|faros}} ({{lang-en|light}}) είναι ψηλός{{πηγή}}. => Ο φάρος [faros] (αγγλικά: light) είναι ψηλός.",
    "hy": "Նավը ({{lang-en|boat}}) փոքր է{{փաստ}}։ => Նավը (անգլ․՝ boat) փոքր է։",
    "mr": "हे {{रुपया}}९०० आहे{{संदर्भ हवा}}, {{km to mi|7517|precision=0}}. => हे ₹९०० आहे, 7,517 km (4,671 mi).",
    "he": "הנמל ({{אנגלית|Harbour}}, {{lang-de|Hafen}}) קטן{{הערה|ספר}}. => הנמל (באנגלית: Harbour, בגרמנית: Hafen) קטן.",
    "hi": "बंदरगाह ({{lang-en|Harbour}}) ₹ से {{INR|५}} में छोटा है{{तथ्य}}। => बंदरगाह (अंग्रेज़ी: Harbour) ₹ से ₹५ में छोटा है।",
    "ro": "Portul ({{lang-de|Hafen}}) de {{ill-wd|Q1||la mare}} e mic{{fapt}}. => Portul (în germană Hafen) de la mare e mic.",
    "fa": "برج {{آلمانی|Turm}} بلند است{{مدرک}}. => برج (به آلمانی: Turm) بلند است.",
    "eo": "La ŝipo venis la {{daton|13|marto|1354}}{{mankas fonto}}. => La ŝipo venis la 13-an de marto 1354.",
}
UK = """
Він ({{нар}} {{ДН|14|3|1854|2}}) жив тут. => Він (нар. 2 (14) березня 1854) жив тут.
Він ({{пом}} {{ДС|1|5|1912|18|4}}) жив тут. => Він (пом. 18 квітня (1 травня) 1912) жив тут.
Вона ({{н.}} {{ДН|29|02|1944}}) живе на {{nts|603700}} гектарах. => Вона (нар. 29 лютого 1944) живе на 603 700 гектарах.
Книга «Мелодії»{{ref-ru}} вийшла{{ref+|a}} при 15&nbsp;{{градус Цельсія}}. => Книга «Мелодії» (рос.) вийшла при 15 °C.
"""
VI = """
{{Tính đến|2019|October|21}}, nó có chuông. => Tính đến ngày 21 tháng 10 năm 2019, nó có chuông.
{{As of|2011}}, nó cao. => Tính đến năm 2011, nó cao.
Cảng ({{Zh|c=海|p=hǎi}}) nhỏ{{Cần chú thích}}. => Cảng (tiếng Trung: 海; bính âm: hǎi) nhỏ.
"""
EN_MORE = """
It opened at {{start date|1993|2|24|08|30}} => It opened at 08:30, February 24, 1993
It closed in {{end date|1999|5}}. => It closed in May 1999.
The light was lit at {{start date|1993|2|24|8|30|15|Z|df=y}}. => The light was lit at 8:30:15, 24 February 1993 (UTC).
Ada ({{birth date and age2|2007|3|1|1979|4|1}}) sails. => Ada (April 1, 1979 (age 27)) sails.
A {{font|text=large|size=3em}} boat and a {{font|size=2em|small}} one. => A large boat and a small one.
"""
CALLS = {"en": EN, "ja": JA, "zh": ZH, "it": IT, "de": DE, "fr": FR, "es": ES, "ru": RU, **OTHERS}
for code, lines in (("en", EN_MORE), ("uk", UK), ("vi", VI)):
    CALLS[code] = CALLS[code].strip() + lines


def test_call() -> None:
    for language, wikitext, expected in [
        (code, *line.split(" => ")) for code, lines in CALLS.items() for line in lines.strip().split("\n")
    ]:
        found = extract_paragraphs(wikitext, title="T", language=language, templates=load_templates(language))
        assert "\n".join(found).replace("\u00a0", " ") == expected


WORDLESS = """
en | {{Short description|a}}{{Use dmy dates}}{{Infobox island|a={{b}}}}{{pp-move-indef}}{{Taxobox|c}}
en | {{Main|a}}{{cite journal|b}}{{Reflist}}{{Commons category|c}}{{Sea-stub}}{{Navboxes|d}}{{Authority control}}{{div col}}
ja | {{基礎情報 国|a}}{{Main2|b|c}}{{Reflist}}{{Normdaten}}{{ウィキポータルリンク|d}}{{Cite book|e}}
zh | {{主条目|a}}{{Authority control}}{{cite book en|b}}{{多個問題}}{{science-footer}}
it | {{Cita libro|a}}{{Portale|b}}{{Controllo di autorità}}{{Tassobox|c}}{{Vedi anche|d}}
xx | {{Infobox a|b}}{{reflist}}{{a-stub}}{{commonscat}}
"""


@pytest.mark.parametrize("line", WORDLESS.strip().split("\n"))
def test_what_has_no_words_is_not_counted_as_dropped(line: str) -> None:
    """The manifest lists what lost words, and not the citations and boxes of every page."""
    language, _, wikitext = line.partition(" | ")
    found = Extractor(templates=load_templates(language))(wikitext + "{{n|m}}")
    assert (found.paragraphs, found.dropped_templates) == ([], {"n": 1})


ADA = "{{Bio|Nome=Ada|Cognome=Riva|Sesso=F|LuogoNascita=Porto Alto|GiornoMeseNascita=9 marzo|AnnoNascita=1900"
LEO = "{{Bio|Nome=Leo|Cognome=Riva|Sesso=M|Attività=scrittore|Nazionalità=italiano"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (ADA + "|Attività=attrice|Nazionalità=italiano}}", "Ada Riva (Porto Alto, 9 marzo 1900) è un'attrice italiana."),
        (
            ADA + "|LuogoMorte=Roma|AnnoMorte=1980|Attività=pittrice|Attività2=poetessa|Nazionalità=russo}}",
            "Ada Riva (Porto Alto, 9 marzo 1900 – Roma, 1980) è stata una pittrice e poetessa russa.",
        ),
        (LEO + "|Attività2=poeta|Attività3=pittore}}", "Leo Riva è uno scrittore, poeta e pittore italiano."),
        (LEO + "|PostNazionalità=, noto per i fari}}", "Leo Riva è uno scrittore italiano, noto per i fari."),
        (LEO + "|PreAttività=fu uno|AnnoMorte=1980}}", "Leo Riva (1980) fu uno scrittore italiano."),
        (LEO + "|PostCognomeVirgola=detto il Faro}}", "Leo Riva, detto il Faro è uno scrittore italiano."),
        (LEO + "|PreData=in francese ''Léo''|AnnoNascita=1900}}", "Leo Riva (in francese Léo; 1900) è uno scrittore italiano."),
        (LEO + "|FineIncipit=è il guardiano del faro}}", "Leo Riva è il guardiano del faro."),
        ("{{Bio|Nome=Leo}}\nVive qui.", "Leo. Vive qui."),
    ],
)
def test_the_first_sentence_of_an_italian_life(call: str, expected: str) -> None:
    assert extract_paragraphs(call, language="it", templates=load_templates("it")) == [expected]


@pytest.mark.parametrize(("variant", "expected"), [("", "英語：a、海"), ("zh-cn", "英语：a、海"), ("zh-tw", "英語：a、海")])
def test_labels_follow_the_variant(variant: str, expected: str) -> None:
    wiki = Extractor(language="zh", variant=variant, templates=load_templates("zh"))
    assert wiki("{{lang-en|a}}、{{le|海|Sea}}").paragraphs == [expected]


def test_a_language_without_a_name_shows_its_words() -> None:
    for language in [path.stem for path in TABLES if "langx" in read_toml(path)["templates"] and path.stem != "en"]:
        found = extract_paragraphs("A ({{lang-qqx|b}}).", language=language, templates=load_templates(language))
        assert found in (["A (b)."], ["A ((b))."])


def test_names() -> None:
    """Names are written as they are looked up, each once."""
    for path in TABLES:
        table = read_toml(path)
        names = [name for key in table["templates"] for name in key.split(" | ")] + table.get("footnotes", [])
        assert [name for name in names if name != " ".join(name.lower().replace("_", " ").split())] == []
        assert sorted({name for name in names if names.count(name) > 1}) == []
        assert load_templates(path.stem)


@pytest.mark.parametrize("path", [path for path in TABLES if path.stem != "common"], ids=lambda path: path.stem)
def test_nothing_is_said_twice(path: Path) -> None:
    """What every wiki has is not repeated in the table of a language."""

    def bodies(path: Path) -> dict[str, str]:
        return {name: body for key, body in read_toml(path)["templates"].items() for name in key.split(" | ")}

    everywhere = bodies(FOLDER / "common.toml")
    assert [name for name, body in bodies(path).items() if everywhere.get(name) == body] == []


def test_other_wikis_know_what_has_no_words_in_english() -> None:
    """Wikis take templates with their English names: marks and boxes are known, English words are not put in."""
    text = "Nyumba{{clarify|date=May 2010}} ni kubwa {{use dmy dates|a}}{{as of|2010}}."
    found = Extractor(language="sw", templates=load_templates("sw"))(text)
    assert (found.paragraphs, found.dropped_templates) == (["Nyumba ni kubwa."], {"as of": 1})


@pytest.mark.parametrize(
    ("language", "call", "text"),
    [
        ("ja", "c{{Sup|2}} = a{{Sup|2}}", "c² = a²"),
        ("en", "H{{sub|2}}O, {{val|5|u=m/s2}}, {{val|9|u=km2}}", "H₂O, 5 m/s², 9 km²"),
        ("de", "10{{hochgestellt|7}}", "10⁷"),
        ("it", "10{{apice|7}}", "10⁷"),
        ("es", "10{{superíndice|7}}", "10⁷"),
    ],
)
def test_templates_raise_and_lower_numbers(language: str, call: str, text: str) -> None:
    wiki = Extractor(language=language, templates=load_templates(language), math="text")
    assert wiki(call).paragraphs == [text]
