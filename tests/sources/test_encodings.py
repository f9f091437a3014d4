"""Encodings: whatever a text was written in comes back, told from the bytes, named by a header, or given."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertdata.sources.encodings import decode

CHINESE = "第一天，他在河边的小屋里等着。天黑以后，没有人来，他就一个人吃了饭，喝了茶，然后睡了。" * 3
TRADITIONAL = "第一天，他在河邊的小屋裡等著。天黑以後，沒有人來，他就一個人吃了飯，喝了茶，然後睡了。" * 3
JAPANESE = "その日の夕方、少年は庭の戸口から台所に入ってきた。パンはありませんかと聞いたが、だれも答えなかった。" * 2
KOREAN = "오래된 집이 마을 끝에 서 있었다. 아무도 그 집에 살지 않았고, 저녁마다 고양이만 찾아왔다. " * 2
RUSSIAN = "Старый дом стоял на краю села, и никто в нём давно не жил. Вечером туда приходила только кошка. " * 2
FRENCH = "Le café était fermé; la fenêtre aussi. Où est passé le garçon? Il dort déjà. “Bien”, dit-elle — trop tôt. "
GERMAN = "Größe, Übermut und Äpfel: das weiß jeder. Früh am Morgen kam der Müller über die Brücke. "
ITALIAN = "Perché è così? Là, più in giù, c'è la città; è già tardi e però nessuno è partito. "
GREEK = "Το παλιό σπίτι στεκόταν στην άκρη του χωριού. "
WRITTEN = [
    (CHINESE, ("utf-8", "utf-8-sig", "utf-16", "utf-32", "gb18030", "gbk", "gb2312")),
    (TRADITIONAL, ("utf-8", "big5", "gbk", "gb18030")),
    (JAPANESE, ("utf-8", "shift_jis", "cp932", "euc-jp")),
    (KOREAN, ("utf-8", "euc-kr", "cp949")),
    (RUSSIAN, ("utf-8", "cp1251", "koi8-r", "cp866", "iso8859-5")),
    (FRENCH, ("utf-8", "utf-16", "cp1252")),
    (GERMAN, ("utf-8", "latin-1", "cp1252")),
    (ITALIAN, ("utf-8", "latin-1", "cp1252")),
]


def test_a_text_comes_back() -> None:
    for text, encoding in [(text, encoding) for text, all in WRITTEN for encoding in all]:
        for head in ["", "The Project Gutenberg EBook of a Kettle, by Nobody, in plain words.\r\n\r\n" * 200]:
            assert decode((head + text).encode(encoding)) == head + text, "all of it, and below a long header in English"
            data = text.encode(encoding)
            short = text[: max(20, len(text) * 200 // len(data))]
            assert decode(short.encode(encoding)) == short, "200 bytes of it"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_byte_order_mark_tells(encoding: str) -> None:
    assert decode(("\ufeff" + FRENCH).encode(encoding)) == FRENCH
    assert decode(("\ufeff" + FRENCH).encode(encoding), "koi8-r") == FRENCH, "whatever is given"


def test_a_header_names_what_can_not_be_told() -> None:
    polish = "Żółta łąka pod lasem była pusta; nikt tędy nie chodził. "
    header = "Title: The Meadow\n\nCharacter set encoding: {}\n\n"
    for encoding in ("ISO-8859-2", "windows-1250"):
        text = header.format(encoding) + polish
        assert decode(text.encode(encoding)) == text
    wrong = header.format("ISO-8859-1") + RUSSIAN
    assert decode(wrong.encode("koi8-r")) == wrong, "which many headers name without being right"
    unknown = header.format("klingon-1") + GERMAN
    assert decode(unknown.encode("cp1252")) == unknown


def test_a_given_encoding_goes_before_what_is_found() -> None:
    assert decode(GREEK.encode("iso8859-7"), "iso8859-7") == GREEK
    assert decode("дом".encode("cp1251"), "cp1251") == "дом"
    with pytest.raises(ValueError, match="ordinal not in range"):
        decode(GERMAN.encode(), "ascii")


def test_a_stray_byte_in_utf_8_is_one_character() -> None:
    assert decode("Élan, naïf, façade, déjà vu. ".encode() * 3 + b"\x93Oui\x94") == "Élan, naïf, façade, déjà vu. " * 3 + "“Oui”"


def test_one_broken_character_in_a_line_of_utf_8_costs_itself() -> None:
    for text in (CHINESE, TRADITIONAL, JAPANESE):
        data = text.encode()
        assert decode(data[:-2]).startswith(text[:-1]) and decode(data[:30] + b"\xff" + data[33:]).endswith(text[11:])


def test_lines_in_two_encodings_are_both_read() -> None:
    for text, encoding in [(FRENCH, "cp1252"), (GERMAN, "latin-1"), (ITALIAN, "cp1252")]:
        for share in range(1, 20):
            lines = [(text + str(n), "utf-8" if n % 20 < share else encoding) for n in range(40)]
            assert decode(b"\n".join(line.encode(how) for line, how in lines)) == "\n".join(line for line, _ in lines)
    both = "Das Café war früher geöffnet, « à côté ». " + RUSSIAN
    assert decode(both.encode() + GERMAN.encode("cp1252") * 3) == both + GERMAN * 3


@pytest.mark.parametrize(
    "text", ["Мама мыла раму, а папа читал газету. ", "Zażółć gęślą jaźń, a kot śpi. ", "나는 고양이다. 이름은 아직 없다. "]
)
@pytest.mark.parametrize("byte", [b"A", b"\xff", b"\x81"])
@pytest.mark.parametrize("words", [20, 9000])
def test_one_broken_word_of_utf_8_costs_itself(text: str, byte: bytes, words: int) -> None:
    data = text.encode()
    at = next(at for at in range(len(data) // 2, len(data)) if data[at] > 0xBF)
    lines = decode(data * words + data[:at] + byte + data[at + 1 :] + data * words).count(text)
    assert 2 * words <= lines <= 2 * words + 1


def test_what_follows_a_long_text_in_ascii_is_examined() -> None:
    assert decode(b"The tea is hot. " * 300_000 + "Le thé est frais – très. ".encode() * 99 + b"\xff.").count("thé") == 99


def test_a_broken_pair_is_one_character() -> None:
    data = (CHINESE * 9).encode("gb18030")
    text = decode(data[:-1])
    assert text[:-1] == (CHINESE * 9)[:-1] and text[-1] == "\ufffd"


def test_binary_data_is_told_from_text_that_is_not_decodable() -> None:
    assert decode(b"A word with a stray \0 in it.") == "A word with a stray \0 in it."
    with pytest.raises(ValueError, match="5 control characters"):
        decode(b"abc\0\1\2\0\0")
    with pytest.raises(ValueError, match="0x81 in position 3"):
        decode(b"caf\x81 au lait, sans plus de mots")
    assert decode((GREEK * 9).encode("iso8859-7")) == GREEK * 9


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])))
def test_utf_8_always_comes_back(text: str) -> None:
    assert decode(text.encode()) == text.removeprefix("\ufeff")


@given(st.binary(max_size=300))
def test_any_bytes_are_text_or_a_value_error(data: bytes) -> None:
    with contextlib.suppress(ValueError):
        decode(data)
