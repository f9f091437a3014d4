"""Sentences of thirty languages: abbreviations, initials, numbers, ordinals, ellipses, quotations, and stops of their own."""

from __future__ import annotations

from bertdata.text.sentences import split_sentences

# A language and a paragraph, a sentence a line; each is what their join would break without a rule.
PARAGRAPHS = """
fr
M. Petit est arrivé à 8 h 30.
Il a payé 2,50 €.
« Où vas-tu ? » demanda-t-elle.
Mme Roux n’a rien dit…
Oui.

fr
Voir p. 12, vol. 3.
J.-P. Morel l’a écrit en 1990.
Le Dr Blanc et le Pr. Noir sont là.
Est-ce vrai ?
Oui !

es
El Dr. Ruiz vive en la Av. del Sol.
¿Cuánto cuesta?
Cuesta 3.500 pesos.
La Sra. Gil dijo: «No sé…
Ya.»
Se fue.

es
EE. UU. ganó el partido.
Nació en el s. XIX.
¡Qué bien!
¿De veras?
J. L. Vega lo dijo.
Véase pág. 7.

it
Il dott. Bianchi abita in via G. Verdi.
Costa 2.500 lire.
La sig.ra Neri rise…
Poi tacque.
Perché?

it
Cfr. p. 12 del libro.
Nel sec. XVI visse lì.
Non lo so!

pt
A Sra. Lima mora na Av. Brasil.
Custa R$ 2.500,00.
O Dr. J. Melo riu…
Por quê?
Ver pág. 3, cap. 2.
Foi em 1990.

nl
Mevr. de Wit kwam om 8.30 uur.
Dr. J. Bos woont hier.
“Waarom?” vroeg zij.
Dat is o.a. zo, d.w.z. soms.
Zie blz. 12.

ru
А. С. Орлов жил на ул. Мира.
Он родился в 1990 г. в Туле.
Это стоит 2,5 руб. за кг у нас.
Почему?
Не знаю…
Так вышло.

ru
Город основан в XII в. князем.
См. рис. 3 и табл. 2.
— Кто там? — спросил он.
«Я», — ответила она.
Дверь открылась.

uk
Д-р Коваль жив на вул. Лісовій.
Він народився 1990 р. у Львові.
Чому?
Не знаю…
«Я йду», — сказав він.

bg
Г-н Петров живее на ул. Дълга.
Защо?
Не знам…
Роден е през 1990 г. в София.

pl
Prof. Kot mieszka przy ul. Leśnej 5.
Urodził się w 1990 r. w Łodzi.
To kosztuje 2,5 zł.
Dlaczego?
Nie wiem…
Tak.

pl
Np. kot i pies itp. są tu.
Zob. s. 12.
Żyła w XIX w. na wsi.
A. B. Nowak śpi.
Ks. Jan czyta.

cs
Prof. Novák bydlí v ul. Lesní.
Narodil se 3. května 1990 v Brně.
Stojí to 2,5 Kč.
Proč?
Nevím…
V 19. století žil.

sk
Prof. Kováč býva na ul. Lesnej.
Pozri str. 12 v knihe.
Prečo?
Neviem…
Tak to je.

sv
Dr. Berg bor på S:t Eriksgatan.
Det kostar 2,5 kr.
T.ex. en katt m.m. finns här.
Den 3 maj kom han kl. 8.30.
Bl.a. sov hon.

da
Dr. Holm bor ved søen.
Den 3. maj 1990 kom han.
I det 19. århundrede levede han.
Kl. 8.30 gik hun.
Hvorfor?

fi
Tri Laine asuu Oulussa.
Hän syntyi 3. toukokuuta 1990.
Se maksaa n. 2,5 euroa.
Miksi?
En tiedä…
Esim. kissa nukkuu.

tr
Prof. Dr. Kaya İzmir’de yaşıyor.
3. sınıfa gidiyor.
2,5 TL ödedi.
Niçin?
Bilmiyorum…
M. K. Demir yazdı.

hu
Dr. Nagy az u. 5. alatt lakik.
1990. május 3-án jött.
A 19. században élt.
Miért?
Nem tudom…
Így volt.

ro
Dl. Popa locuiește pe str. Lungă.
De ce?
Nu știu…
A plătit 2,5 lei.
„Vino aici.
Stai jos.”

el
Ο κ. Παππάς ήρθε στις 8.30.
Γιατί;
Δεν ξέρω…
Έτσι είναι.
«Έλα εδώ.
Κάθισε.»
Βλ. σελ. 12.

he
ד"ר כהן גר בחיפה.
למה?
הוא שילם 2.5 שקל.
צה"ל הגיע!
"בוא הנה.
שב."
אחר כך הלך.

ar
وصل د. سامي إلى المدينة.
هل أنت بخير؟
نعم!
دفع 2.5 دينار.
ثم ذهب.

fa
او به شهر رفت.
چرا؟
نمی‌دانم!
سپس رفت.

ur
وہ شہر گیا۔
کیوں؟
معلوم نہیں۔
ڈاکٹر آیا!

hi
डॉ. शर्मा आए।
क्यों?
उसने 2.5 रुपये दिए।
“आओ।
बैठो।”
फिर गया॥

mr
तो आला.
का?
माहीत नाही.
डॉ. जोशी गेले.

bn
তিনি এলেন।
কেন?
জানি না।
ড. রায় গেলেন!
২.৫ টাকা দিলেন।

my
သူလာသည်။
ဘာကြောင့်လဲ။
မသိပါ။

km
គាត់មក។
ហេតុអ្វី?
ខ្ញុំមិនដឹង។
គាត់ទៅ។

am
እሱ መጣ።
ለምን?
አላውቅም።
ከዚያ ሄደ።

hy
Նա եկավ։
Ինչո՞ւ։
Չգիտեմ։

th
เขามาแล้ว!
ทำไม?

ko
김 박사는 서울에 산다.
왜?
그는 2.5원을 냈다.
“이리 와.
앉아.”
그리고 갔다.

vi
TS. Lan sống ở TP. Huế.
Tại sao?
Tôi không biết…
Giá 2.500 đồng.
“Lại đây.
Ngồi xuống.”
Rồi đi.

id
Dr. Budi tinggal di Jl. Mawar.
Mengapa?
Saya tidak tahu…
Harganya Rp 2.500.
Ia pergi.

ja
「行こう。」
しかし彼は来なかった。
「そうだ。」と言った。

de
Hr. Maier bzw. Fr. Kurz kamen u. a. um 8.30 Uhr.
Er zahlte 2,5 Mio. Euro.
„Komm!“, rief er.
Vgl. S. 12 ff. im Buch.

de
Der 2. Weltkrieg begann.
Kaiser Wilhelm II. kam.
Die 2. Liga spielt am 17. und 18. Juni.
Sie kam am 12.
Er ging.

de
Er wurde 1990 geboren.
1995 zog er um.
Zum 25. Mal regnete es.
Warum?
Keine Ahnung…
So war es.

en
Mrs. Hale vs. St. John Co. Ltd. was in court.
He got $3.5 million.
“Really?” she asked.
Cf. Fig. 3 and Eq. 2.

en
“No.
I will not.”
She left.
No. 5 is empty.
“No way!
Get out.”
He left…
She stayed.

en
Gen. Lee vs. Col. Ward, et al. agreed.
The U.S. Army left.
She woke at 6 a.m. every day.
Use .NET or Node.js today.

en
“Who is it?” — he asked.
He works for Jones Inc.
She does too.
Yahoo! is here.

en
Great tea :)
I like it ;-)
Thanks!
J.R.R. Tolkien wrote it.
He scored 3.5, 4.0, etc.

de
Immer wieder gerne :-)
Die Fa. Müller GmbH & Co. KG liefert.
Siehe Abb. 3 und Tab. 4.
Danach weiter.
Ca. 30 Leute, inkl. Kinder, kamen.
Nr. 5 lebt.
"""
EXAMPLES = [block.split("\n") for block in PARAGRAPHS.strip().split("\n\n")]


def test_a_paragraph_is_split_where_its_sentences_end() -> None:
    for example in EXAMPLES:
        language, *expected = example
        assert split_sentences(("" if language == "ja" else " ").join(expected), language) == expected


def test_many_languages_are_looked_at() -> None:
    assert len({example[0] for example in EXAMPLES}) >= 30
