"""Languages are detected by script and by the library; a text without a clear language is unknown."""

# ruff: noqa: E501
from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.text.language import UNKNOWN, among, guess, identify, identify_all, outside

TEXTS = {  # our own
    "en": "The ferry was late again, and nobody in the harbour knew when it would come. We waited with the others under the roof.",
    "de": "Die Fähre war wieder zu spät, und niemand im Hafen wusste, wann sie kommen würde. Wir warteten mit den anderen.",
    "fr": "Le bac était encore en retard, et personne dans le port ne savait quand il arriverait. Nous avons attendu avec les autres.",
    "es": "El barco llegó tarde otra vez y nadie en el puerto sabía cuándo iba a salir. Esperamos con los demás bajo el techo.",
    "it": "Il traghetto era di nuovo in ritardo e nessuno nel porto sapeva quando sarebbe arrivato. Abbiamo aspettato con gli altri.",
    "pt": "A barca estava outra vez atrasada, e ninguém no porto sabia quando ela chegaria. Esperámos com os outros, não muito longe.",
    "nl": "De veerboot was weer te laat, en niemand in de haven wist wanneer hij zou komen. Wij hebben met de anderen gewacht.",
    "sv": "Färjan var sen igen, och ingen i hamnen visste när den skulle komma. Vi väntade med de andra under taket.",
    "da": "Færgen var forsinket igen, og ingen i havnen vidste, hvornår den ville komme. Vi ventede sammen med de andre, som også var der.",
    "fi": "Lautta oli taas myöhässä, eikä kukaan satamassa tiennyt, milloin se tulisi. Me odotimme muiden kanssa, koska satoi.",
    "pl": "Prom znowu się spóźnił i nikt w porcie nie wiedział, kiedy przypłynie. Czekaliśmy z innymi pod dachem, bo już padało.",
    "cs": "Přívoz měl zase zpoždění a nikdo v přístavu nevěděl, kdy přijede. Čekali jsme s ostatními pod střechou, protože už pršelo.",
    "hu": "A komp megint késett, és a kikötőben senki nem tudta, hogy mikor jön. A többiekkel együtt vártunk a tető alatt, mert esett.",
    "ro": "Feribotul a întârziat din nou și nimeni din port nu știa când va veni. Am așteptat cu ceilalți sub acoperiș, pentru că ploua.",
    "tr": "Vapur yine gecikti ve limanda kimse ne zaman geleceğini bilmiyordu. Biz de diğerleri ile birlikte çatının altında bekledik.",
    "id": "Kapal itu terlambat lagi dan tidak ada orang di pelabuhan yang tahu kapan akan datang. Kami menunggu dengan orang lain.",
    "vi": "Chuyến phà lại đến trễ và không ai ở bến cảng biết khi nào nó sẽ tới. Chúng tôi đã chờ với những người khác dưới mái nhà.",
    "ru": "Паром опять опоздал, и никто в порту не знал, когда он придёт. Мы ждали вместе с другими под крышей, потому что шёл дождь.",
    "uk": "Пором знову запізнився, і ніхто в порту не знав, коли він прийде. Ми чекали разом з іншими під дахом, бо йшов дощ.",
    "bg": "Фериботът отново закъсня и никой на пристанището не знаеше кога ще дойде. Ние чакахме с другите под покрива.",
    "ar": "تأخرت العبارة مرة أخرى ولم يعرف أحد في الميناء متى تصل. انتظرنا مع الآخرين تحت السقف لأن المطر كان ينزل على المدينة.",
    "fa": "کشتی دوباره دیر کرد و هیچ کس در بندر نمی‌دانست که چه وقت می‌رسد. ما با دیگران زیر سقف ماندیم چون باران می‌بارید.",
    "he": "המעבורת איחרה שוב, ואף אחד בנמל לא ידע מתי היא תגיע. חיכינו עם האחרים מתחת לגג כי ירד גשם על העיר.",
    "hi": "नाव फिर देर से आई और बंदरगाह में किसी को पता नहीं था कि वह कब चलेगी। हम दूसरों के साथ छत के नीचे खड़े रहे।",
    "el": "Το πλοίο άργησε πάλι και κανείς στο λιμάνι δεν ήξερε πότε θα έρθει. Περιμέναμε μαζί με τους άλλους κάτω από τη στέγη.",
    "th": "เรือข้ามฟากมาช้าอีกแล้ว และไม่มีใครในท่าเรือรู้ว่าเรือจะมาเมื่อไร เรารออยู่ใต้หลังคากับคนอื่น",
    "ko": "배가 또 늦었고 항구에서는 아무도 언제 올지 몰랐다. 우리는 다른 사람들과 함께 지붕 아래에서 기다렸다.",
    "ja": "渡し船はまた遅れていて、港の人は誰もいつ来るのか知らなかった。私たちは屋根の下でほかの人と待っていた。",
    "zh": "渡船又晚点了，港口里没有人知道它什么时候会来。我们和其他人一起在屋檐下等着，因为下雨了。",
}


SIBLINGS = {"da"}  # a page of it could be another language's


def test_a_few_lines_are_enough() -> None:
    for language in TEXTS:
        assert guess(TEXTS[language]) == language


def test_a_page_leaves_no_doubt() -> None:
    for language in TEXTS:
        assert identify(f"{TEXTS[language]} " * 8) == (language, language not in SIBLINGS)


@pytest.mark.parametrize("text", ["", "   ", "12 44 17.5", "…!?", "Nkxq Brwz", "\ud800"])
def test_what_tells_nothing_is_unknown(text: str) -> None:
    assert identify(text) == (UNKNOWN, False)


def test_the_script_of_most_letters_counts() -> None:
    assert guess("渡船又晚点了，港口里没有人知道。The ferry.") == "zh"
    assert guess(TEXTS["en"] + " 港口") == "en"
    assert guess("「港」 is the sign for a harbour, and のり is what is eaten there with rice.") == "en"


def test_long_texts_are_looked_at_in_three_places() -> None:
    preface, body = TEXTS["en"] * 3, TEXTS["de"] * 400
    assert guess(preface + body) == "de"


def test_codes_are_compared_by_what_texts_can_tell() -> None:
    assert among("en-US", ("en",))
    assert among("zh_TW", ("zh-CN",))
    assert among("hr", ("bs",))
    assert not among("", ("en",))
    assert not among(UNKNOWN, ("en", "de"))


def test_what_a_source_tells_is_doubted_only_for_languages_that_are_known() -> None:
    latvian = "Viņš ir no Rīgas un ar to nav nekas, kas par to bija, tas ir tikai gada laikā. " * 4
    assert identify(latvian) == ("lv", True)
    assert outside(latvian, "sgs", ("sgs",)) == ""  # Samogitian, which the library does not know
    assert outside(latvian, "en", ("en",)) == "lv"
    assert outside(TEXTS["en"], "de", ("en",)) == "de"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The ferry was late again"),
        ("de", "Wir warteten im Hafen"),
        ("ru", "Мы ждали под крышей"),
        ("mr", "तो घरी गेला नाही"),
    ],
)
def test_short_texts(language: str, text: str) -> None:
    assert guess(text) == language


@pytest.mark.parametrize(
    "text",  # Yakut, Ewe and Hawaiian, which the library does not know: article 1 of the Declaration of Human Rights
    [
        "Дьон барыта бэйэ суолтатыгар уонна быраабыгар тэҥ буолан төрүүллэр. Кинилэр бары өркөн өйдөөх, суобастаах буолан төрүүллэр, уонна бэйэ бэйэлэригэр тылга кииринигэс быһыылаахтык сыһыаннаһыахтаахтар.",
        "Wodzi amegbetɔwo katã ablɔɖeviwoe eye wodzena bubu kple gomekpɔkpɔ sɔsɔe. Susu kple dzitsinya le wo dometɔ ɖesiaɖe si.",
        "Hānau kūʻokoʻa ʻia nā kānaka apau loa, a ua kau like ka hanohano a me nā pono kīvila ma luna o kākou pākahi.",
    ],
)
def test_unknown_languages_are_not_named_as_a_neighbour(text: str) -> None:
    assert guess(text) == UNKNOWN


@given(st.text())
def test_any_text_has_an_answer(text: str) -> None:
    language, sure = identify(text)
    assert language
    assert not (sure and language == UNKNOWN)


@pytest.mark.slow
def test_real_pages_are_told(shared: Path) -> None:
    """Pages of four languages: none is taken for another, and 95 of 100 leave no doubt."""
    with lzma.open(shared / "extraction" / "dev_pages.jsonl.xz", "rt", encoding="utf-8") as file:
        pages = [json.loads(line) for line in file]
    texts = [(page["language"], "\n".join(page["paragraphs"])) for page in pages]
    told = [(language, identify(text)) for language, text in texts if len(text) > 200]
    told = [(language, found) for language, found in told if language in ("en", "it", "ja", "zh")]
    assert len(told) > 300
    assert all(found.language == language for language, found in told)
    assert sum(found.sure for _, found in told) > 0.95 * len(told)


def test_a_clear_beginning_and_middle_are_enough() -> None:
    assert guess(TEXTS["en"] * 100 + "茶树原产于中国，叶子可以喝。" * 80) == "en"


def test_many_texts_at_once_are_as_each_alone() -> None:
    texts = ["", "Tea", "12", *TEXTS.values(), *(text * 30 for text in TEXTS.values()), "TEA IS HOT. IT IS GOOD.", "\ud800"]
    assert identify_all(texts) == [identify(text) for text in texts] and identify_all([]) == []


def test_a_doubtful_beginning_leaves_it_to_the_rest() -> None:
    names = "Miller, Anna; Lowe, Peter; Harbour, Ellen; Quay, Robert; " * 12
    assert guess(names) == UNKNOWN and guess(names + TEXTS["de"] * 30) == "de"


@pytest.mark.slow
def test_a_part_of_real_documents_gives_the_language_of_the_rest(shared: Path) -> None:
    long = 0
    with lzma.open(shared / "extraction" / "dev_pages.jsonl.xz", "rt", encoding="utf-8") as file:
        for line in file:
            text = "\n".join(json.loads(line)["paragraphs"])
            rest = identify(text[600:])
            if len(text) > 1600 and rest.sure:
                long += 1
                assert identify(text).language == rest.language, text[:80]
    assert long > 200
