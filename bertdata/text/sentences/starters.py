"""Ends that sentencex leaves out after an abbreviation, because it takes none to end a sentence.

After "etc.", after the symbol of a unit ("5 km.") and after a common word that its lists hold for an abbreviation (Dutch "dat.",
Hungarian "nem."), a capital begins a sentence.  After any other, and after a semicolon, only a word that begins sentences and no
names does: "1990 г. Он", "vitamin A. Se".  After a word too long for an abbreviation a small letter does too.

    >>> left_out("Des pommes, etc. Paris dort. Sous Louis I. Elle rit.", "fr", {29})
    [17, 43]
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import cache

__all__ = ["begins_sentence", "is_listed", "is_written_out", "left_out"]

_STARTERS = {  # frequent first words of sentences; none that is part of names, as French "Le" and Spanish "La" are
    "bg": "В На По С За От До При Това Той Тя Те То Но И Как Така Ако Когато След Обаче Всички Този Тази Тези През Според Има",
    "ca": "Es Va En Amb Per Però També Quan Aquest Aquesta Aquests Segons Després És No Com Així Fou Era Durant",
    "cs": "V Ve Na Po Do Od Z Ze Za O Při Je Byl Byla Bylo To Ta Tato Tento Toto Jeho Její Jako Když Ale Podle Dále Pro Ten S"
    " Mezi Dne Roku Jsou Nachází",
    "da": "Det Han Hun De I På Men Når Efter Som Fra Ved Denne Dette Disse Under Siden Her Der Med For Om Ifølge En Et",
    "de": "Die Das Im Er Sie Es In Am Seit Nach Mit Bei Auf Eine Diese Dieser Dieses Dort Dabei Auch Als Für Seine Ihre Nachdem"
    " Durch Hier Heute Danach Dann Wenn",
    "el": "Η Ο Το Οι Τα Στο Στη Στην Στις Στον Στα Σε Με Για Από Αυτό Αυτή Αυτός Αυτά Ένα Μια Ως Όταν Αλλά Και Κατά Μετά Επίσης"
    " Δεν Είναι Ήταν Σύμφωνα Όμως",
    "es": "El En Los Se Su Sus Este Esta Estos Estas Éste Una Un Por Para Con Pero Además También Según Tras Cuando Desde"
    " Durante Fue Es No Como Así Entre Actualmente Finalmente Posteriormente Inicialmente Generalmente Recientemente"
    " Normalmente",
    "et": "See Ta Nad Need Kui Ka Aga Ning Ja Pärast Aastal Seal Siis Tema",
    "fi": "Se Hän He Ne Tämä Nämä Myös Kun Jos Mutta Vuonna Hänen Sen Niin Siellä Lisäksi Kuitenkin Sitten Ja",
    "fr": "Il Elle Ils Elles On Ce Cette Ces Cet Dans En Mais Pour Par Sur Avec Son Sa Ses Leur Après Avant Depuis Lors Selon"
    " Cependant Toutefois Ainsi Puis Au Aux Une Nous Vous Je",
    "hr": "U Na Po Od Do Iz Za O Pri Je Bio Bila Bilo To Ta Taj Ovaj Ova Ovo Njegov Njezin Kao Kada Kad Ali Prema Nakon Međutim",
    "hu": "A Az Ez Ezt Ezek Egy És De Ha Nem Mert Majd Később Itt Ott Ezért Így Amikor Két Minden Miután",
    "id": "Ia Dia Mereka Pada Di Dari Dalam Dengan Untuk Ini Itu Hal Namun Tetapi Tapi Sedangkan Selain Setelah Saat Ketika"
    " Menurut Oleh Karena Sebagai Kami Saya Beberapa Para",
    "it": "Il I Gli Nel Nella Nei Nelle In Per Con Si È Non Ma Anche Questo Questa Questi Secondo Dopo Tra Fu Era Sono Una Un"
    " Suo Sua Quando Se Come Così Ha Su Attualmente Finalmente Successivamente Inizialmente Generalmente Recentemente"
    " Normalmente Infine Inoltre",
    "lt": "Jis Ji Jie Tai Šis Ši Bet Kai Po Nuo Iki Apie Per Dėl Taip Yra Buvo",
    "lv": "Viņš Viņa Tas Tā Šis Šī Bet Kad Pēc No Līdz Par Ir Bija",
    "nl": "Het Dit Deze Dat Die In Op Met Na Voor Door Ook Maar Hij Zij Ze Er Daarna Toen Als Om Bij Zijn Volgens Tijdens Een"
    " Ik We Wij Hun Haar En Vanaf",
    "pl": "W We Na Po Do Od Z Ze Za O Przy Jest To Ten Ta Te Jego Jej Ich Był Była Było Nie Jak Jednak Ale Gdy Kiedy Podczas"
    " Według Oraz Dla",
    "pt": "O Em No Na Nos Nas Um Uma Com Para Por Ele Ela Eles Elas Este Esta Seu Sua Mas Segundo Após Depois Durante Foi É Não"
    " Ao Isto Isso Esse Essa Já Quando Os As Atualmente Actualmente Finalmente Infelizmente Felizmente Posteriormente"
    " Inicialmente Geralmente Recentemente Normalmente",
    "ro": "În Din La Pe Cu De Este A Au El Ea Ei Ele Acest Această Aceasta Acesta Dar După Când Pentru Prin Un O Nu Conform",
    "ru": "В Во На По С Со К О У За Из От До При Для Это Он Она Они Оно Его Её Ее Их Но А И Как Так Также Если Когда После"
    " Однако Все Всё Этот Эта Эти Тогда Поэтому Здесь Такой Такая Такое Такие Нужно Был Была Было Были Кроме Среди Между",
    "sv": "Det Den Han Hon De I På Men När Efter Som Från Vid Detta Denna Dessa Under Sedan Här Där Av Med För Om Enligt En Ett",
    "tr": "Bu Bir O Ancak Ama Ayrıca Daha Sonra Çünkü Her İlk Fakat Ve Bunun Böyle Şu Aynı Onun Bunlar Onlar Burada",
    "uk": "У В На З Із Зі По До Від За Про При Для Це Він Вона Вони Воно Його Її Їх Але А І Й Та Як Так Також Якщо Коли Після"
    " Однак Проте Тому Тобто Ці Цей Ця Тоді Був Була Було Були",
    "vi": "Tuy Trong Các Những Một Khi Sau Theo Nhưng Vì Đây Đó Năm Tại Với Cũng Để Từ Do Nếu Ngoài Ở Hiện Vào Chúng Họ Nó"
    " Người Phía Trên Đến Trước Mỗi Tôi Ông Anh Chị Đã Là Lúc Bên Nhiều Mọi Rồi Và Trời Có Không",
}  # fmt: skip
_SAME_STARTERS = {"no": "da", "nb": "no", "nn": "no", "sk": "cs", "ms": "id", "be": "ru", "gl": "pt", "bs": "hr", "sh": "hr"}
_LISTS = {  # "and so on", in some languages of several words; a capital after it begins a sentence
    "bg": r"и др|и т\.? ?н", "cs": "atd|apod|aj", "da": r"osv|m\.? ?m|mv", "de": "usw", "el": r"κλπ|κ\.?λπ|κ\.?ά|κτλ",
    "es": "etc", "fi": "jne|ym|yms", "hr": "itd|i sl", "hu": "stb", "id": "dll|dsb|dst", "it": "ecc", "nl": "enz",
    "pl": "itp|itd", "ro": r"ș\.? ?a", "ru": r"т\. ?д|т\. ?п|и др|и пр", "sv": r"osv|m\. ?m|mm", "tr": "vb|vs",
    "uk": r"т\. ?д|т\. ?п|та ін|тощо", "vi": r"v\.v",
}  # fmt: skip
_WRITTEN_OUT = {  # common words in sentencex's lists of abbreviations
    "ca": "de en un no com entre sobre", "cs": "pod", "da": "med var da to", "eo": "la al",
    "es": "de en un para con no entre sobre nos", "gl": "con", "hu": "nem",
    "it": "di la in si le con al lo ha ma su ai se ed ci mi laser", "lv": "no", "nl": "dat al", "no": "det med kan ut",
    "ro": "la al", "sl": "pa med", "sv": "det med kan ut hon", "tl": "mo", "vi": "ca con ga hon may no que mo me la",
}  # fmt: skip
_UNITS = "[kcm]?m[²³]?|ha|k?g|[kMG]?Hz|[kM]W|°[CF]|[ксм]?м[²³]?|кг|га|χλμ"  # symbols, which the SI writes without a full stop


def _table(words: dict[str, str]) -> dict[str, str]:
    for language, other in _SAME_STARTERS.items():
        if other in words:
            words = {language: words[other], **words}
    return words


_FIRST = {language: frozenset(words.split()) for language, words in _table(_STARTERS).items()}
_LISTED, _WORDS = _table(_LISTS), _table(_WRITTEN_OUT)
_STOP = re.compile(r"[.;]\s+(?=([^\W\d_]+)(?!\w|[.]))")
_LONG_WORD = re.compile(r"(?:[^\W\d_]{5,}[aeiouyàáâãäåèéêëìíîïòóôõöøùúûüýąęıаеиоуыэюяіїєёsς]|[^\W\d_]{8,})\s?$")
_LETTERS = re.compile(r"(?<!\w)[^\W\d_], (?:[^\W\d_] \w{1,4} )?[^\W\d_]\s?$")  # "A, B and C" are not initials
_CAPITALS_ONLY = frozenset(("de", "en", "hy", "lb", "nds"))  # German shortens words at any length; in Armenian it is a colon
_LOOK_BACK = 24


@cache
def _complete(language: str) -> re.Pattern[str] | None:
    """Return what a full stop is behind that ends the sentence if a capital follows; None for a language without a list."""
    if language not in _FIRST and language not in _WORDS:
        return None
    before = "|".join(filter(None, ("etc", _LISTED.get(language), *_WORDS.get(language, "").split())))
    return re.compile(rf"(?:(?<!\w)(?:{before})|\d ?(?:{_UNITS}))\s?$")


def begins_sentence(text: str, at: int, language: str) -> bool:
    """Return True if the word at `at` starts sentences but not names."""
    end = text.find(" ", at, at + _LOOK_BACK)
    return end > at and text[at:end] in _FIRST.get(language, ())


def is_listed(text: str, end: int) -> bool:
    """Return True if the letter before the full stop before `end` is the last item of a list of letters."""
    return _LETTERS.search(text, max(0, end - _LOOK_BACK), end - 1) is not None


def is_written_out(text: str, end: int, language: str) -> bool:
    """Return True if the word before the full stop before `end` is too long to be an abbreviation."""
    return language not in _CAPITALS_ONLY and _LONG_WORD.search(text, max(0, end - _LOOK_BACK), end - 1) is not None


def left_out(masked: str, language: str, known: Container[int]) -> list[int]:
    """Return additional sentence ends after full stops, found from the words before or after them."""
    if language in ("en", "hy"):  # sentencex knows enough English, and the Armenian full stop is not "."
        return []
    first, complete = _FIRST.get(language), _complete(language)
    ends = []
    for stop in _STOP.finditer(masked):
        if stop.end() in known:
            continue
        # The next word decides together with the one before:
        #
        #   "1990 г. Он"         "Он" starts sentences and no names: an end
        #   "etc. Paris"         "etc." finishes a list, and a capital follows: an end
        #   "Dr. Paris"          an abbreviation before a name: no end
        #   "pommes rouges. le"  "rouges" is too long for an abbreviation: an end, also before a small letter
        word, at = stop[1], stop.start()
        if word[0].isupper():
            if (
                (first and word in first)  # after a semicolon too
                or (masked[at] == "." and complete and complete.search(masked, max(0, at - _LOOK_BACK), at))
                or (masked[at] == "." and is_listed(masked, at + 1))
            ):
                ends.append(stop.end())
        elif masked[at] == "." and word[0].islower() and is_written_out(masked, at + 1, language):
            ends.append(stop.end())
    return ends
