"""Sentences in every script: native digits, stops of their own, lists that end a sentence, small letters, dashes, speech."""

from __future__ import annotations

import pytest

from bertdata.text.sentences import split_sentences
from bertdata.text.sentences.quotation import mask, opening_quotes
from bertdata.text.sentences.starters import is_listed, is_written_out, left_out

# A rule, then a language and a paragraph, a sentence a line; each is what their join would break without the rule.
PARAGRAPHS = """
no cut inside a number of native digits
bn
নদীটি ৭.৭ মিটার গভীর।
সেতুটি ১২.৫ মিটার লম্বা।

no cut inside a number of native digits
mr
रस्ता ३.५ मैल लांब आहे.
तो जुना आहे.

no cut inside a number of native digits
hi
बाँध ६.३ मीटर ऊँचा है।
सुबह ११.४५ पर गाड़ी आई।

no cut inside a number of native digits
ar
بلغ السعر ٢١.٩ دينار في السوق.
ثم انخفض إلى ٢٠.٥ دينار.

no cut inside a number of native digits
ur
قیمت ۷.۵ روپے تھی۔
پھر کم ہوئی۔

no cut inside a number of native digits
fa
بها ۲.۵ درصد کم شد.
بازار آرام بود.

where the danda ends sentences, a full stop is an abbreviation's
hi
स्व. रमेश गुप्ता यहाँ रहते थे।
एल. वी. राव उनके मित्र थे।

where the danda ends sentences, a full stop is an abbreviation's
bn
প্রো. করিম এলেন।
তিনি বসলেন।

a hindi paragraph without a danda ends at full stops
hi
वह घर गया.
फिर सो गया.

the currency sign that is typed for the danda
bn
গাড়ি এল৷
সবাই উঠল৷
কেউ নামল না।

dotted abbreviations of scripts without capitals
mr
गाव १२ कि.मी. दूर आहे.
इ.स. १९०० मध्ये तो आला.

a letter alone, where no word of one letter is last
mr
इ. स. १८५० मध्ये शाळा सुरू झाली.
व. ना. जोशी तेथे होते.

no cut inside a dotted abbreviation
ta
அவர் க.ப.ம. கட்சியில் சேர்ந்தார்.
விலை ரூ. 20 ஆகும்.

a missing space does not hide an end between whole words
kn
ಅವನು ಮನೆಗೆ ಹೋಗಿದ್ದಾನೆ.
ಅಲ್ಲಿ ಯಾರೂ ಇರಲಿಲ್ಲ.

the verb of saying comes after what is said
mr
"पाऊस येईल का?" आजीने विचारले.
"नाही!" मुलगा म्हणाला.
सगळे हसले.

the verb of saying begins a sentence that tells what
hi
"तुम कब आए?"
उसने कहा कि वह कल आया था।

the verb of saying comes after what is said
hi
"तुम कब आए?" उसने पूछा।
मैं चुप रहा।

a particle takes up what was asked
ta
‘யார் அங்கே?’ என்று அவள் கேட்டாள்.
பதில் இல்லை.

a particle takes up what was asked
ko
"누구세요?" 라고 물었다.
대답이 없었다.

a polite form ends a sentence without a stop
ko
방이 아주 깨끗했습니다
직원도 친절해요
다음에 또 오세요
꼭 갈게요.

a quoted polite form goes on
ko
그는 괜찮습니다 라고 답했다.
나는 웃었다.

three full stops end an armenian sentence, one does not
hy
Գնացքը չեկավ...
Մենք սպասեցինք։
Նա ծնվել է 1950 թ. Գյումրիում։

an ellipsis is a pause where no capital tells
he
הוא חיכה לה שעה... ואז הלך הביתה.
היא לא באה.

an editor's mark ends nothing
ar
دفع عشرة دنانير (!) ثم خرج من السوق.
لم يعد بعدها.

and so on, before a capital
ru
Продают яблоки, груши и т. д.
Рынок открыт с утра.
Там есть мёд, воск и т. п.
Цены низкие.

and so on, before a small letter
ru
Яблоки и т. д. продают здесь.
Их много.

a reference goes on
ru
Об этом см. В начале книги.
Далее см. рис. 4.

a year ends a sentence before a word that begins one
ru
Школу построили в 1901 г.
Она стоит и теперь.
В 1902 г. Орлов уехал.

and so on, before a capital
es
Vende peras, higos, etc.
Lucía compra mucho.

and so on, before a capital
it
Vende pere, fichi ecc.
Lucia ne compra.

and so on, before a capital
pl
Sprzedaje gruszki, śliwki itp.
Nowa klientka płaci.

and so on, before a capital
nl
Zij verkoopt peren, vijgen enz.
Jansen koopt veel.

and so on, before a capital
el
Πουλά αχλάδια, σύκα κ.λπ.
Νέα πελάτισσα ήρθε.

the symbol of a unit has no full stop of its own
vi
Cây cầu dài 30 m.
Sông rất rộng.

the symbol of a unit has no full stop of its own
uk
До озера лишилося 35 км.
Дорога погана.

a common word is no abbreviation
hu
Ő jött, mi viszont nem.
Holnap indulunk.

a common word is no abbreviation
nl
Meer is er niet dan dat.
Morgen gaan we weg.

a common word is no abbreviation
sv
Boken vill jag inte ha den med.
Sedan gick hon.

a letter alone, before a word that begins sentences
it
Le parti sono A, B e C.
Nel caso di C si paga.

the last letter of a list is no initial
uk
Є три групи: А, Б та В.
Група В найменша.

an initial, before a name
it
Scrisse M. Gallo.
Lo lesse E. Nebbia a casa.

a semicolon before a word that begins sentences
es
El primero llegó tarde;
Este otro no vino.

a small letter after a word too long for an abbreviation
fi
Illalla tuli kova myrskytuuli.
sitten satoi.

a small letter after a short word
it
Vive in prov. di Siena, al n. 4.
Non esce.

a small letter in brackets after a long word
fr
Les députés ont voté la proposition.
(applaudissements du public)

no cut in the names of files
pl
Otwórz plik START.BAT w edytorze.
Zamknij go.

no cut without a space after an abbreviation
it
Roma fu fondata nel 753 a.C. da Romolo.
Nel 44 a.C. Cesare morì.

a space was forgotten
pt
Chegou na segunda-feira.
Depois saiu às 19h.

a piece that begins with a comma
vi
Ông nói: "Tôi mệt lắm rồi...", sau đó đi ngủ.
Trời mưa.

a piece that is a full stop
vi
Bà bảo: "Thế thì thôi..." .
Ông gật đầu.

a piece that begins with a slash
es
La densidad era de 288 hab. / km² en 1990.
Luego bajó.

a piece that is a smiley
fi
Oli niin kiva päivä. :)
Huomenna taas. :D
Nyt nukkumaan! :)

a dash goes on with who said it
ru
-- Где ты был? -- спросил я.
-- Дома! -- крикнул он.
Мы ушли.

a dash and a comma go on
es
¿Por qué? -, se preguntó ella.
Nadie lo sabe.

a date before a dash is a heading
es
7 de junio. - El río baja.
8 de junio. - El río sube.

an omission begins the next sentence
fr
Elle avait peur.
[...] Les voisins sont partis.
(...) Personne n'est resté.

two commas open a quotation
nl
Hij won de rit niet.
,,Het was te zwaar.
Ik ben moe'', zei hij.

a quotation mark between spaces opens, or closes
tr
Kapıyı açtı.
" Kim o? "
Ses yoktu.

an ordinal before a king's name
hu
Ekkor IV. Béla volt a király.
Utána V. István jött.

an item's number after a colon
pl
Należy: 1. Wyjąć kartę.
Potem ją schować.

an abbreviation that a number follows
fr
Revue du droit, Vol. XVII, No. 3, pp. 12-15.
Elle paraît encore.

an abbreviation that a number follows
pl
Zgodnie z art. 42 ust. 2 kara wynosi ok. 30 zł.
Zapłacił.

a title before a name
id
Kata Tn. Harun, Ny. Sari dan Ir. Budi datang.
Kami duduk.

small marks of khmer
km
គាត់ទៅផ្ទះ។
គាត់ញ៉ាំបាយ៕
គាត់គេង។

thai is cut at spaces between clauses
th
พวกเขาขับรถผ่านภูเขาสูงไปยังหมู่บ้านเล็กริมทะเล
ชาวบ้านเตรียมอาหารไว้ต้อนรับแขกทุกคนที่มา

thai abbreviations end nothing
th
โรงเรียนนี้เปิดสอนครั้งแรกเมื่อ พ.ศ. 2450 ที่อำเภอเมือง

thai goes on before a word that carries on
th
เขาซื้อบ้านหลังใหญ่ใกล้แม่น้ำเจ้าพระยาให้กับครอบครัว ซึ่งพ่อแม่ของเขาชอบมากกว่าที่คิดเอาไว้
"""
EXAMPLES = [block.split("\n") for block in PARAGRAPHS.strip().split("\n\n")]


def test_a_paragraph_is_split_where_its_sentences_end() -> None:
    for example in EXAMPLES:
        _, language, *expected = example
        assert split_sentences(" ".join(expected), language) == expected


@pytest.mark.parametrize(
    ("language", "paragraph", "count"),
    [
        ("pt", "Chegou na segunda-feira.Depois saiu cedo.", 2),
        ("pt", "Saiu às 19h.A porta fechou.", 1),
        ("kn", "ಅವನು ಮನೆಗೆ ಹೋಗಿದ್ದಾನೆ.ಅಲ್ಲಿ ಯಾರೂ ಇರಲಿಲ್ಲ.", 2),
        ("mr", "कथा पु.ल.देशपांडे यांची आहे.", 1),
        ("en", "She left in May.Then he came.", 2),
        ("en", "It runs on ASP.Net and 2.5.Beta today.", 1),
        ("bn", "সে এল৷সে গেল৷", 2),
    ],
)
def test_without_white_space_only_the_ends_of_words_are_ends(language: str, paragraph: str, count: int) -> None:
    assert len(split_sentences(paragraph, language)) == count


def test_latin_text_in_a_thai_corpus_is_split_at_its_stops() -> None:
    assert split_sentences("The tea is ready. He came.", "th") == ["The tea is ready.", "He came."]
    assert split_sentences("เขามา! เธอไปไหน? กลับบ้าน", "th") == ["เขามา!", "เธอไปไหน?", "กลับบ้าน"]


@pytest.mark.parametrize("language", ["de", "en", "hy"])
def test_a_small_letter_begins_nothing_where_words_are_shortened_at_any_length(language: str) -> None:
    assert not is_written_out("in einer langen Zeitschrift.", 28, language)
    assert is_written_out("in einer langen Zeitschrift.", 28, "sv")


def test_only_what_begins_sentences_ends_one_after_an_abbreviation() -> None:
    assert left_out("Dr. Il sole. Rossi", "it", frozenset()) == [4]
    assert left_out("Dr. Il sole. Rossi", "it", {4}) == []
    assert left_out("Dr. Il sole. Rossi", "xx", frozenset()) == []


def test_a_list_of_letters_is_told_from_initials() -> None:
    assert is_listed("W, W e Z.", 9)
    assert not is_listed("di A. B.", 8)


def test_a_mask_has_the_length_of_its_text() -> None:
    for text in ("[...] „Ja“ (!) ,,nee'' (…) [12]", "a\u2028b « c » ''d''"):
        assert len(mask(text, "nl")) == len(text)
    assert opening_quotes('a "b" c "d') == {2, 8}
