"""The most frequent templates with words in prose in the 20 largest Wikipedias, on constructed lines."""

from __future__ import annotations

import pytest
from footing import Extractor

from bertdata.text.wikitext import load_templates

# For each wiki: a call, then the words that a reader sees.
CALLS = {
    "de": """
{{enS|Tower}} => englisch Tower
{{zh|t=漢語|s=汉语|p=Hànyǔ}} => chinesisch 漢語 / 汉语, Pinyin Hànyǔ
{{hiS|नदी}} => Hindi नदी
{{IPA|tʊʁm}} => tʊʁm
{{Höhe|321|DE-NHN}} => 321 m ü. NHN
{{FormatNum|12345}} => 12.345
{{Zahl|1234567}} => 1.234.567
{{e|6}} => ·106
{{Bruch|1|2}} => 1⁄2
{{"|Das Meer}} => „Das Meer“
{{JULGREGDATUM|7|11|1917}} => 25. Oktoberjul. / 7. November 1917greg.
{{nowrap|a b}} => a b
{{§|5|BGB}} => § 5 BGB
{{Polytonisch|πύργος}} => πύργος
{{convert|5|km|mi}} => 5 km (3,1 mi)
{{#time:j. F Y|1950-03-01}} => 1. März 1950
""",
    "fr": """
{{XIXe siècle}} => XIXe siècle
{{Ve siècle av. J.-C.}} => Ve siècle av. J.-C.
{{Ier millénaire}} => Ier millénaire
{{date-|1|mai|1900}} => 1er mai 1900
{{IIIe République}} => IIIe République
{{XIXe}} => XIXe
{{100e}} => 100e
{{unité|5|km}} => 5 km
{{grec ancien|λόγος|lógos}} => grec ancien : λόγος / lógos
{{chinois|c=海|p=hǎi}} => chinois : 海 ; pinyin : hǎi
{{terme|phare}} => phare
{{vol.|3}} => vol. 3
{{op. cit.}} => op. cit.
{{guil|mer}} => « mer »
{{lang-en|sea}} => en anglais : sea
{{monnaie|5|francs}} => 5 francs
{{St}} => St
""",
    "es": """
{{fecha|1|5|1900}} => 1 de mayo de 1900
{{siglo|XIX||s}} => siglo XIX
{{unidad|12500|m}} => 12 500 m
{{esd|10 km}} => 10 km
{{AFI|[faɾo]}} => [faɾo]
{{lang-en|sea}} => en inglés: sea
{{langx|en|sea}} => en inglés: sea
{{zh-cp|海|hǎi}} => chino: 海; pinyin: hǎi
{{enlace pasivo|Faro}} => Faro
{{ordinal|3}} => 3.º
{{AC|45}} => 45 a. C.
{{convertir|5|km|mi}} => 5 km (3,1 mi)
{{moneda|5|pesos}} => 5 pesos
{{CO2}} => CO2
{{nihongo|faro|灯台|tōdai}} => faro (灯台, tōdai)
{{versalita|XIX}} => XIX
""",
    "it": """
{{TA|km|chilometri}} => km
{{Valuta|5|lire}} => 5 lire
{{data|1|5|1900}} => 1 maggio 1900
{{russo|море}} => in russo: море
{{greco antico|λόγος}} => in greco antico: λόγος
{{arabo|بحر}} => in arabo: بحر
{{zh|c=海|p=hǎi}} => in cinese: 海, pinyin: hǎi
{{M|12500|ul=m}} => 12 500 m
{{converti|5|km|mi}} => 5 km (3,1 mi)
{{Naz|CA|Italia}} => Italia
{{lang-de|Meer}} => in tedesco: Meer
{{LinkAltraLingua|faro|en|Light}} => faro
{{a.C.}} => a.C.
{{H2O}} => H2O
{{Val|5|u=kg}} => 5 kg
{{sic}} => [sic]
""",
    "pt": """
{{dtlink|1|5|1900}} => 1 de maio de 1900
{{séc|XIX}} => século XIX
{{ilc||Farol|en|Light}} => Farol
{{link|en|Light|farol}} => farol
{{unidade|12500|m}} => 12 500 m
{{BRL|5}} => R$ 5
{{AFI|faˈɾɔl}} => [faˈɾɔl]
{{°C|5}} => 5 °C
{{ordinal|3}} => 3.º
{{langx|en|sea}} => em inglês: sea
{{lang-de|Meer}} => em alemão: Meer
{{fmtn|90000}} => 90 000
{{AC|44}} => 44 a.C.
{{converter|5|km|mi}} => 5 km (3,1 mi)
{{sortname|Ana|Reis}} => Ana Reis
{{PBPE|trem|comboio}} => trem (português brasileiro) ou comboio (português europeu)
""",
    "ru": """
{{дата|1|5|1900}} => 1 мая 1900
{{lang-en|sea}} => англ. sea
{{langx|en|sea}} => англ. sea
{{китайский|海洋|海洋|hǎiyáng|хайян}} => кит. трад. 海洋, упр. 海洋, пиньинь hǎiyáng, палл. хайян
{{сс2|25 (13) июля}} => 25 (13) июля
{{ударение|маяк}} => маяк
{{флагификация|Франция}} => Франция
{{oq|en|sea}} => sea
{{МФА|mɐˈjak}} => [mɐˈjak]
{{дробь|1|2}} => 1⁄2
{{e|6}} => ·106
{{до н. э.}} => до н. э.
{{валюта|5|рублей}} => 5 рублей
{{США}} => США
{{Россия}} => Россия
{{число|12345}} => 12 345
{{нп5|Озеро||en|Lake}} => Озеро
{{так в тексте}} => [sic]
{{convert|5|km|mi}} => 5 km (3,1 mi)
{{±}}2 => ±2
""",
    "uk": """
{{дата|1|5|1900}} => 1 травня 1900
{{lang-en|sea}} => англ. sea
{{langx|en|sea}} => англ. sea
{{число|12345}} => 12 345
{{нихонго|маяк|灯台|тодай}} => маяк (яп. 灯台 тодай)
{{comment|км|кілометр}} => км
{{прапорець|Франція}} => Франція
{{колір|red|лінія}} => лінія
{{до н. е.}} => до н. е.
{{дріб|1|2}} => 1⁄2
{{e|6}} => ·106
{{oq|en|sea}} => sea
{{США}} => США
{{Польща}} => Польща
{{ДН|14|3|1854|2}} => 2 (14) березня 1854
{{МФА|x}} => [x]
""",
    "pl": """
{{lang|en}} =>
{{w języku|en|sea}} => sea
{{ang.|sea}} => ang. sea
{{lang-en|sea}} => ang. sea
{{IPA3|a}} => [a]
{{ilink|en|Light|latarnia}} => latarnia
{{link-interwiki|Q1|Tu=Latarnia|tekst=latarni}} => latarni
{{liczba|12345}} => 12 345
{{data|1900-05-01}} => 1 maja 1900
{{wiek|XIX}} => XIX wiek
{{p.n.e.}} => p.n.e.
{{kolor|red|linia}} => linia
{{państwo|Polska}} => Polska
{{ułamek|1|2}} => 1⁄2
{{e|6}} => ·106
{{nihongo|latarnia|灯台|tōdai}} => latarnia (jap. 灯台 tōdai)
{{fakt|Stara.}} => Stara.
""",
    "nl": """
{{aut|Linnaeus}} => Linnaeus
{{lang-en|sea}} => Engels: sea
{{langx|en|sea}} => Engels: sea
{{breuk|1|2}} => 1⁄2
{{getal|12345}} => 12.345
{{datum|1|5|1900}} => 1 mei 1900
{{Chinees|c=海|p=hǎi}} => Chinees: 海, pinyin: hǎi
{{v.Chr.}} => v.Chr.
{{exp|6}} => 106
{{NL}} => Nederland
{{BE}} => België
{{nihongo|toren|灯台|tōdai}} => toren (灯台, tōdai)
{{convert|5|km|mi}} => 5 km (3,1 mi)
{{bron?|Oud.}} => Oud.
{{nowrap|a b}} => a b
{{frac|1|2}} => 1⁄2
""",
    "sv": """
{{lang-en|sea}} => engelska: sea
{{langx|en|sea}} => engelska: sea
{{värde|5|km}} => 5 km
{{tal|12345}} => 12 345
{{f.Kr.}} => f.Kr.
{{bråk|1|2}} => 1⁄2
{{e|6}} => ·106
{{uttal|fyːr}} => [fyːr]
{{flaggland|Norge}} => Norge
{{språk|en|sea}} => sea
{{datum|1900|5|1}} => 1 maj 1900
{{convert|5|km|mi}} => 5 km (3,1 mi)
{{nihongo|fyr|灯台|tōdai}} => fyr (灯台, tōdai)
{{illm|Fyren|en|Light}} => Fyren
{{nowrap|a b}} => a b
{{avgränsat|10000}} => 10000
""",
    "ja": """
{{lang-en|sea}} => 英語: sea
{{llang|en|sea}} => 英語: sea
{{birth date|1900|5|1}} => 1900年5月1日
{{start date|1900|5}} => 1900年5月
{{和暦|1930}} => 1930年（昭和5年）
{{ruby|汐|しお}} => 汐（しお）
{{仮リンク|湖|en|Lake}} => 湖
{{USD|5}} => 5ドル
{{EUR|5}} => 5ユーロ
{{IPA|a}} => [a]
{{読み仮名|灯台|とうだい}} => 灯台（とうだい）
{{color|red|線}} => 線
{{JPN}} => 日本
{{convert|5|km|mi}} => 5 km (3.1 mi)
{{nowrap|a}} => a
{{CO2}} => CO2
""",
    "zh": """
{{lang-en|sea}} => 英語：sea
{{langx|en|sea}} => 英語：sea
{{birth date|1900|5|1}} => 1900年5月1日
{{start date|1900|5}} => 1900年5月
{{link-en|湖|Lake}} => 湖
{{le|海|Sea}} => 海
{{tsl|en|Sea||海}} => 海
{{不轉換|海}} => 海
{{jyutping|hoi2}} => 粵拼：hoi2
{{拼音|hǎi}} => 拼音：hǎi
{{korean|hangul=등대|hanja=燈臺}} => 韓語：등대；漢字：燈臺
{{USD|5}} => 5美元
{{HKD|5}} => 5港元
{{NTD|5}} => 新臺幣5元
{{ruby|吉|jí}} => 吉（jí）
{{bd|1900年|1月1日}} => 1900年1月1日－
""",
    "ko": """
{{llang|en|sea}} => 영어: sea
{{langx|en|sea}} => 영어: sea
{{한자|燈臺}} => 한국 한자: 燈臺
{{일본어|灯台}} => 일본어: 灯台
{{zh|c=海|p=hǎi}} => 중국어: 海, 병음: hǎi
{{국기나라|독일}} => 독일
{{출생일|1900|5|1}} => 1900년 5월 1일
{{시작일|1900|5}} => 1900년 5월
{{윗주|燈|등}} => 燈(등)
{{글자색|red|선}} => 선
{{따옴표|바다}} => “바다”
{{수|12345}} => 12,345
{{기원전|44}} => 기원전 44
{{USD|5}} => 5달러
{{단위 변환|5|km|mi}} => 5 km (3.1 mi)
{{언어|en|sea}} => sea
{{작은글씨|작다}} => 작다
{{임시링크|등대|en|Light}} => 등대
""",
    "ar": """
{{إنج|sea}} => (بالإنجليزية: sea)
{{فر|mer}} => (بالفرنسية: mer)
{{ألم|Meer}} => (بالألمانية: Meer)
{{lang-en|sea}} => (بالإنجليزية: sea)
{{langx|en|sea}} => (بالإنجليزية: sea)
{{لغة|en|sea}} => sea
{{ص}} => ﷺ
{{عليه السلام}} => عليه السلام
{{رضي الله عنه}} => رضي الله عنه
{{تاريخ الميلاد|1900|5|1}} => 1 مايو 1900
{{علم|مصر}} => مصر
{{هج}} => هـ
{{ق.م}} => ق.م
{{رقم|12345}} => 12,345
{{قرآن|نص}} => ﴿نص﴾
{{تحويل|5|km|mi}} => 5 km (3.1 mi)
{{وإو|عر=هنا}} => هنا
""",
    "he": """
{{אנגלית|sea}} => באנגלית: sea
{{הולנדית|zee}} => בהולנדית: zee
{{lang-en|sea}} => באנגלית: sea
{{langx|en|sea}} => באנגלית: sea
{{ציטוטון|ים}} => "ים"
{{תנ"ך|בראשית|א|ב}} => ספר בראשית, פרק א', פסוק ב'
{{בבלי|ברכות|ב|א}} => תלמוד בבלי, מסכת ברכות, דף ב', עמוד א'
{{מונחון|ים|מים}} => ים
{{קישור שפה|אנגלית|Light|מגדלור}} => מגדלור
{{מספר|12345}} => 12,345
{{תאריך|1|5|1900}} => 1 במאי 1900
{{דגל|צרפת}} => צרפת
{{שבר|1|2}} => 1⁄2
{{birth date|1900|5|1}} => 1 במאי 1900
{{nowrap|א}} => א
{{convert|5|km|mi}} => 5 km (3.1 mi)
""",
    "fa": """
{{انگلیسی|sea}} => (به انگلیسی: sea)
{{به انگلیسی|sea}} => (به انگلیسی: sea)
{{lang-en|sea}} => به انگلیسی: sea
{{langx|en|sea}} => به انگلیسی: sea
{{زبان|en|sea}} => sea
{{ق.م}} => ق.م
{{پرچم|ایران}} => ایران
{{رنگ|red|خط}} => خط
{{عدد|12345}} => ۱۲٬۳۴۵
{{تاریخ تولد|1900|5|1}} => 1 مه 1900
{{ص}} => ﷺ
{{نستعلیق|دریا}} => دریا
{{قرآن|متن}} => ﴿متن﴾
{{چپ‌چین|a}} => a
{{تبدیل|5|km|mi}} => 5 km (۳٫۱ mi)
{{nowrap|a}} => a
{{formatnum:1234.5}} => ۱٬۲۳۴٫۵
""",
    "hi": """
{{lang-en|sea}} => अंग्रेज़ी: sea
{{langx|en|sea}} => अंग्रेज़ी: sea
{{IAST|nadī}} => nadī
{{INR|5}} => ₹5
{{रुपया|5}} => ₹5
{{आईपीए|a}} => [a]
{{झंडा|भारत}} => भारत
{{जन्म तिथि|1900|5|1}} => 1 मई 1900
{{circa|1900}} => ल. 1900
{{संख्या|12345}} => 12,345
{{nastaliq|a}} => a
{{भाषा|en|sea}} => sea
{{convert|5|km|mi}} => 5 km (3.1 mi)
{{transl|hi|nadī}} => nadī
{{ईसा पूर्व}} => ईसा पूर्व
{{nowrap|a}} => a
""",
    "tr": """
{{lang-en|sea}} => İngilizce: sea
{{langx|en|sea}} => İngilizce: sea
{{dil|en|sea}} => sea
{{kdş|Fener|dil=en}} => Fener
{{bayrak|Fransa}} => Fransa
{{MÖ}} => MÖ
{{doğum tarihi|1900|5|1}} => 1 Mayıs 1900
{{başlangıç tarihi|1900|5}} => Mayıs 1900
{{TRY|5}} => ₺5
{{osmanlıca|بحر}} => Osmanlıca: بحر
{{renk|red|çizgi}} => çizgi
{{tırnak|deniz}} => “deniz”
{{kesir|1|2}} => 1⁄2
{{sayı|12345}} => 12.345
{{çevir|5|km|mi}} => 5 km (3,1 mi)
{{küçük|a}} => a
""",
    "vi": """
{{lang-en|sea}} => tiếng Anh: sea
{{langx|en|sea}} => tiếng Anh: sea
{{start date|1900|5|1}} => 1 tháng 5 năm 1900
{{ngày sinh|1900|5|1}} => 1 tháng 5 năm 1900
{{nhỏ|a}} => a
{{TCN}} => TCN
{{vi-nom|海}} => chữ Nôm: 海
{{VND|5}} => 5 đồng
{{màu|red|đường}} => đường
{{phân số|1|2}} => 1⁄2
{{đổi|5|km|mi}} => 5 km (3,1 mi)
{{tính đến|2011}} => Tính đến năm 2011
{{circa|1900}} => k. 1900
{{nihongo|đèn|灯台|tōdai}} => đèn (灯台, tōdai)
{{liên kết ngôn ngữ|Hồ|en|Lake}} => Hồ
{{zh|c=海}} => tiếng Trung: 海
""",
    "ro": """
{{lang-en|sea}} => în engleză sea
{{langx|en|sea}} => în engleză sea
{{ill-wd|Q1||far}} => far
{{î.Hr.}} => î.Hr.
{{dnva|1900|5|1}} => 1 mai 1900
{{dată|1900|5|1}} => 1 mai 1900
{{drapel|Franța}} => Franța
{{fracție|1|2}} => 1⁄2
{{număr|12345}} => 12.345
{{RON|5}} => 5 lei
{{culoare|red|linie}} => linie
{{AFI|a}} => [a]
{{e|6}} => ·106
{{conversie|5|km|mi}} => 5 km (3,1 mi)
{{stil vechi|1 mai}} => 1 mai
{{nowrap|a}} => a
""",
}


@pytest.mark.parametrize("language", CALLS)
def test_frequent_templates_show_their_words(language: str) -> None:
    wiki = Extractor(language=language, templates=load_templates(language))
    for line in CALLS[language].strip().splitlines():
        call, _, expected = line.partition(" =>")
        found = wiki(f"x {call} y")
        (paragraph,) = found.paragraphs
        assert (call, paragraph.removeprefix("x ").removesuffix("y").strip()) == (call, expected.strip())
        assert not found.dropped_templates
