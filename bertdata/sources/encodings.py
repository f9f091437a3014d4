"""Bytes of a book become text: the encoding is told from the bytes alone, and always the same way.

Unicode says what it is (a byte order mark, or valid UTF-8).  The other encodings differ in where the bytes above 0x7F
stand: Western books have a few, alone among letters (Windows-1252, of which Latin-1 is the used part); Chinese books
have almost nothing else, in pairs, and the frequent characters have their own rows (GB18030, Big5).

    >>> decode("déjà vu".encode("latin-1")), decode("紅樓夢。第一回".encode("big5"))
    ('déjà vu', '紅樓夢。第一回')
"""

from __future__ import annotations

import codecs
import re

__all__ = ["BinaryData", "decode"]

_MARKS = [  # byte order marks, longest first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]
_CONTROL = re.compile(rb"[\x01-\x08\x0e-\x19\x1c-\x1f]")  # in no text: not tab, line ends, DOS end of file, escape
_MOST_CONTROL = 1000  # a text may have one stray control character in so many bytes
_HIGH = re.compile(rb"[\x80-\xff]")
_VALID = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")  # in UTF-8
_VALID_PER_STRAY = 4  # Latin-1 has next to no valid sequence, GB18030 one for each three other bytes
_PAIRS = re.compile(rb"[\x81-\xfe][\x40-\x7e\x80-\xfe]")
_CHINESE = [  # punctuation and the characters of the first level, which are nearly all of any text
    (re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]"), ("gb18030",)),
    (re.compile(rb"[\xa1-\xa3\xa4-\xc6][\x40-\x7e\xa1-\xfe]"), ("cp950", "big5hkscs")),
]
_ENOUGH_FREQUENT = 0.8  # of the pairs; Western text reaches 0.2, the wrong one of the two Chinese encodings 0.6
_MOST_WESTERN = 0.3  # share of bytes above 0x7F; French and German have 0.05, Cyrillic and Greek encodings 0.8
_MOST_DAMAGED = 0.001  # share of characters that may be broken in a text whose encoding is otherwise plain


class BinaryData(ValueError):
    """Refuse data that is no text in any encoding."""


def decode(data: bytes) -> str:
    r"""Decode UTF-8, UTF-16 or UTF-32 with a mark, Windows-1252 and Latin-1, GB18030 and Big5.

    A stray byte in UTF-8 (an old quotation mark, say) is read as Windows-1252; a broken pair in a Chinese text
    becomes U+FFFD.  BinaryData: there are NUL or many control characters.  ValueError: no encoding fits.

    >>> decode(b"\xff\xfeT\x00e\x00a\x00"), decode(b"caf\xe9 \x93noir\x94")
    ('Tea', 'café “noir”')
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _stray(data[3:]) if encoding == "utf-8" else _marked(data[len(mark) :], encoding)
    if (nul := data.find(b"\0")) >= 0:
        raise BinaryData(f"a NUL byte at offset {nul}: this is not a text file")
    if len(control := _CONTROL.findall(data)) > 3 + len(data) // _MOST_CONTROL:
        raise BinaryData(f"{len(control)} control characters: this is not a text file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(_VALID.findall(data)) > _VALID_PER_STRAY * len(_HIGH.findall(_VALID.sub(b"", data))):
            return _stray(data)
        return _legacy(data, error.start)


def _marked(data: bytes, encoding: str) -> str:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(f"marked as {encoding}, but {error.reason} at byte {error.start}") from None
    if "\0" in text:
        raise BinaryData(f"a NUL character at {text.index(chr(0))}: this is not a text file")
    return text


def _stray(data: bytes) -> str:
    """Decode UTF-8 and read bytes that can't be a part of it as Windows-1252."""
    if b"\0" in data:
        raise BinaryData(f"a NUL byte at offset {data.index(0)}: this is not a text file")
    return data.decode("utf-8", "bertdata-windows-1252")


def _as_windows(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error("bertdata-windows-1252", _as_windows)


def _legacy(data: bytes, at: int) -> str:
    pairs = _PAIRS.findall(data)
    for frequent, encodings in _CHINESE:
        if not pairs or sum(map(bool, map(frequent.match, pairs))) < _ENOUGH_FREQUENT * len(pairs):
            continue
        for encoding in encodings:
            text = data.decode(encoding, "replace")
            if text.count("\ufffd") <= max(1, _MOST_DAMAGED * len(text)):
                return text
    high = len(_HIGH.findall(data))
    if high > _MOST_WESTERN * len(data):
        raise ValueError(f"no known encoding: not UTF-8 (byte {at}), {high} of {len(data)} bytes above 0x7F")
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError as error:
        raise ValueError(f"no known encoding: not UTF-8, and 0x{data[error.start]:02X} at byte {error.start}") from None
