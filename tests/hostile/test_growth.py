"""Functions that take foreign text take linear time, whatever the text is.

Four times the text may take ten times as long: quadratic time would be sixteen times.  What takes less than a hundredth of a
second for the long text is not looked at again; and the long text is tried only where the time of the short one can be neither
told from noise nor from more than linear growth.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from functools import cache
from itertools import cycle, islice, pairwise
from typing import Any

import pytest

from bertdata.config import FilterConfig
from bertdata.records import Document, FileRange
from bertdata.sources import dumps
from bertdata.sources.books import clean
from bertdata.sources.books.xhtml import passages
from bertdata.sources.bzip2 import Block
from bertdata.sources.encodings import decode
from bertdata.sources.lines import paragraphs
from bertdata.stages.selection.duplicates import fingerprint, normal
from bertdata.stages.selection.minhash import Signer
from bertdata.text.filters import Grams, check
from bertdata.text.language.identify import guess, outside
from bertdata.text.sentences import split_sentences, splitter
from bertdata.text.wikitext import Extractor, extract_paragraphs, is_redirect, load_templates
from bertdata.text.wikitext.tex import tex_to_text
from bertdata.tokens.encoder import Encoder
from bertdata.tokens.segment import Segmenter
from bertdata.tokens.vocab import SPECIAL, count_parts, from_tokens, parts_to_words

pytestmark = pytest.mark.nightly

SIZE, TIMES = 6_000, 4  # characters of the short text; the long one has so many times as many
SHORT = 0.01  # seconds for the long text that are not looked into: 400 nanoseconds a character
GROWTH = 10.0  # of time from the short text to the long one, at which half of the time of the short one is not linear
STRAIGHT = 6.0  # growth from a quarter of the short text to the short one; of what reaches GROWTH then, it is 6.4
TABLE = load_templates("en")
PIECES = [*SPECIAL, "a", "##a", ".", "中"]
TOKENIZER = from_tokens(PIECES, lowercase=True, strip_accents=True).tokenizer()
WORDS = "the heron stood in the lower harbour until the ferry had crossed to the other side and so on"
GRAMS = Grams([WORDS])
SPLIT_PLAIN = splitter("regex")
segmenter, signer = cache(Segmenter), cache(Signer)


def texts(pieces: list[str]) -> list[str]:
    """Return the pieces, and each two of them that stand beside each other in the list."""
    return [*pieces, *(first + second for first, second in zip(pieces, islice(cycle(pieces), 1, None), strict=False))]


PROSE = texts(
    [
        "a",
        " ",
        ".",
        "9",
        '"',
        "'",
        "(",
        ")",
        "[",
        "“",
        "”",
        "…",
        "-",
        "—",
        "A. ",
        "a.",
        "!? ",
        "[1]",
        "é",
        "\u00a0",
        "x: ",
        "N No. ",
    ]
)
PROSE += ["Mr. ", "1. A ", "(a ", '"A." ', "'a ", ":) A", "… A", "a'b ", "«a» ", "U.S. ", "12. A", "\u200b", "e\u0301", "I. "]
CJK = texts(["中", "。", "「", "」", "（", "）", "《", "？", "!", "”", "的", "あ", "、", "가"])
OTHER = ["ก", "ก ", "។ ", "हि। ", "ا. ", "և։ ", "৭.৭", "ა. ", "\u0e01\u0e33", "т. д. ", "am 3. M ", "der 5. "]
BOOK = texts(["a", "\n", " ", "  a\n", "a-\n", "a--", "\n\n\na", "_a_ ", "=a", "[", "]", "[Illustration: a", "{1}", ". ", "...."])
BOOK += [
    "CHAPTER I\n\n",
    "CONTENTS\n\na. 1\n",
    "*** START OF ",
    "[Pg 1] ",
    "I. ",
    "A B\n\n",
    "\t",
    "Transcriber's Note\n\n\n\n",
    "\x0c",
]
BOOK += [" and a", "1 2\n", "    A b\n", "SCENE I\n\n_A_\n\n", "a,\n\nA B.\n\n", "index\n\nb\n\n", "Produced, a", "a   b   c\n"]
MARKUP = texts(["<", ">", "<p>", "</p>", "<a ", "<a b='", 'x="', "<!--", "<![CDATA[", "&amp;", "&", "</", "<br/>", "<script>"])
MARKUP += [
    "<p><a href=x>y</a>",
    "<table>",
    "<b><i>",
    "&#1",
    "<ns:p",
    "a=b ",
    "<div class=poem>",
    "\v ",
    "<br/> ",
    "<?",
    "<style>]]>",
]
WIKI = texts(
    [
        "{{",
        "}}",
        "[[",
        "]]",
        "''",
        "<ref>",
        "{|\n",
        "|",
        "-{",
        "<!--",
        "[http://x ",
        "&",
        "=",
        "_",
        "__",
        " ",
        "\n",
        "{{{",
        ":",
        "<div ",
    ]
)
WIKI += [
    "{{#ifeq:9",
    "{{#if:",
    "<ref name=",
    "[[File:",
    "[[a|[",
    "\n|}",
    "\n|-\n",
    "<br ",
    "&#x",
    "''' ",
    "\n\x1f",
    "{{convert|9",
    "~~~~",
]
WIKI += [
    "{{plural:1|",
    "{{lc:",
    "]]]",
    "[[:",
    "{{!}}",
    "\n ",
    "\n*",
    "\n----",
    "<p>",
    "<ul>",
    "</ul>",
    "<blockquote>",
    "\n<div>\n",
    "{{a\n",
]
TEX = ["{", "\\frac", "^", "_{", "'", "\\left", "\\sqrt[", "\\over", "\\not", "(", "|", "\\hat{", "\\text{", "x+"]
XML = ["<text>", "<a>", "&lt;", "<", ">", "</page>", "<page>", "<title>", "<id>", "<a b='", "<!--", "]]>", "&", "a"]
BYTES = [*map(bytes, ([0xE9], [0x80], [0xC3, 0xA9], [0xC3, 0x28], [0xF0, 0x9F], [0xA1, 0xA1], [0x81, 0x30], [0xD0], [0x1A]))]
BYTES += [b"a", b" ", b"\n", b"character set encoding: ", b"\xa4\xa2", b"\x82\xa0", b"\xb0\xa1a", b"\xe9t\xe9 "]
Case = tuple[str, Callable[[Any], object], list[Any]]


def document(text: str) -> Document:
    return Document("text:a", "text", "en", "", "", [text, *text.split(".")], [0, 1])


def fed(data: bytes) -> list[object]:
    """Cut a dump into pages, fed by small blocks."""
    small = [Block(start, data[start : start + 1000]) for start in range(0, len(data), 1000)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dumps, "blocks", lambda *part: iter(small))
        patch.setattr(dumps.files, "size", lambda path: len(data))
        return list(dumps._cut(FileRange("a.xml", "a.xml", 0, len(data)), 1 << 16))


def fields(data: bytes) -> object:
    """Read a page."""
    dumps._guess_name(data)
    xml = b"<title>T</title><id>1</id><revision><text>" + data + b"</text></revision></page>"
    return dumps._parse(xml, dumps.Site("wiki", "en", "", {}), "a.xml")


def decoded(data: bytes) -> object:
    """Decode a text, if it can be."""
    try:
        return decode(data)
    except ValueError as error:
        return error


def expanded(function: str) -> Callable[[str], object]:
    """Give the text to a parser function."""
    return lambda text: extract_paragraphs(function.format(text), language="en", templates=TABLE)


CASES: list[Case] = [
    *(
        (f"sentences {language}", lambda text, language=language: split_sentences(text, language), pieces)
        for language, pieces in {
            "en": PROSE,
            "de": [*PROSE, *OTHER],
            "fr": PROSE,
            "ru": OTHER,
            "hi": OTHER,
            "ar": OTHER,
            "th": OTHER,
            "km": OTHER,
            "zh": [*CJK, *PROSE[:20]],
            "ja": CJK,
            "ko": CJK,
            "en of others": [*CJK, *OTHER],
        }.items()
    ),
    ("sentences by one rule", lambda text: SPLIT_PLAIN(text, "en"), [*PROSE, *CJK]),
    ("book", clean, BOOK),
    ("book in Dutch", lambda text: clean("Language: Dutch\n*** START OF THE PROJECT GUTENBERG EBOOK A ***\n\n" + text), BOOK),
    ("lines", paragraphs, BOOK),
    ("XHTML", passages, MARKUP),
    ("wikitext without templates", lambda text: extract_paragraphs(text, language="en"), WIKI),
    ("wikitext with templates", lambda text: extract_paragraphs(text, language="en", templates=TABLE), WIKI),
    *(
        (
            f"function {function}",
            expanded(function),
            ["9", "9.", "a ", '<span class="a ', "|", "=", ",", "(", "1+", "-", " ", "{{!}}", "a"],
        )
        for function in (
            "{{{{#ifeq:{}x|1|a|b}}}}",
            "{{{{#switch:{}x|1=a|b}}}}",
            "{{{{plural:{}x|a|b}}}}",
            "{{{{#iferror:{}|x}}}}",
            "{{{{#expr:{}}}}}",
            "{{{{formatnum:{}}}}}",
            "{{{{formatnum:{}|R}}}}",
            "{{{{convert|{}|km}}}}",
            "{{{{convert|1|{}|mi}}}}",
            "{{{{cvt|1|km|disp=x|{}}}}}",
            "{{{{#replace:{}|9|bb}}}}",
            "{{{{padleft:{}|500|{}}}}}".replace("{}|500|{}", "{}|500|0"),
            "{{{{lang|la|{}}}}}",
        )
    ),
    ("formulas", lambda text: (tex_to_text(text), Extractor(math="text")(f"<math>{text}</math>")), TEX),
    ("redirect", is_redirect, [" ", "#", "#REDIRECT ", "#REDIRECT:"]),
    ("page", lambda text: fields(text.encode()), XML),
    ("pages", lambda text: fed(text.encode()), XML),
    ("encoding", decoded, BYTES),
    ("language", lambda text: (guess(text), outside(text, "en", ("en",))), [*PROSE, *CJK, *OTHER]),
    ("bounds", lambda text: check(document(text), FilterConfig()), [*PROSE[:30], *CJK]),
    ("excluded", GRAMS.find, [*PROSE[:30], *CJK, WORDS[:60]]),
    ("duplicates", lambda text: fingerprint(normal(text)), [*PROSE, *CJK]),
    ("tokens", lambda text: Encoder(TOKENIZER, PIECES).encode([text]), [*PROSE[:40], *CJK, *OTHER]),
    ("words", lambda text: parts_to_words(count_parts([text]), TOKENIZER), [*PROSE[:40], *CJK, *OTHER]),
]


def segmented(text: str) -> object:
    """Cut a text into Chinese words."""
    pytest.importorskip("jieba")
    return list(segmenter().parts(text))


def signed(text: str) -> object:
    """Sign a text, to find its near-copies."""
    pytest.importorskip("rensa")
    return signer()([text])


CASES += [("Chinese words", segmented, [*CJK, "清华", "大学生活"]), ("near-copies", signed, [*PROSE[:20], *CJK, "ก"])]


def seconds(function: Callable[[Any], object], text: str | bytes) -> float:
    """Return the processor time of a call without garbage collection, which takes longer the more other objects there are."""
    gc.disable()
    try:
        start = time.process_time()
        function(text)
        return time.process_time() - start
    finally:
        gc.enable()


def superlinear(function: Callable[[Any], object], first: Any, second: Any) -> str:
    """Say by how much the time grows where it grows faster than the text; the best of some measurements counts."""
    little, short, long = (
        first * (size // 2 // len(first)) + second * (size // 2 // len(second)) for size in (SIZE // TIMES, SIZE, SIZE * TIMES)
    )
    needed = seconds(function, short)
    if needed > SHORT / TIMES**2:
        always = seconds(function, first + second)
        if needed < STRAIGHT * (min(seconds(function, little) for _ in range(2)) - always):
            return ""
    for _ in range(4):
        needed = seconds(function, long)
        if needed < SHORT or needed < GROWTH * min(seconds(function, short) for _ in range(2)):
            return ""
    return f"{needed:.2f} s for {len(long)} characters, {seconds(function, short):.3f} s for {len(short)}"


@pytest.mark.slow
@pytest.mark.parametrize(("function", "pieces"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_time_grows_as_the_text_does(function: Callable[[Any], object], pieces: list[Any]) -> None:
    gc.collect()
    pairs = [*zip(pieces, pieces, strict=True), *pairwise(pieces), *pairwise(pieces[::-1])]
    found = {pair: grown for pair in pairs if (grown := superlinear(function, *pair))}
    assert not found
