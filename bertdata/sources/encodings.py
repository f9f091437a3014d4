"""Decode the bytes of a book or text, in a specified encoding or in one detected from the bytes.

Unicode is identified by a byte order mark or by valid UTF-8 sequences. Otherwise, single bytes above 0x7F between other letters
mean a Western text (Windows-1252, which includes the used part of Latin-1), and long runs of them another alphabet, which
charset-normalizer identifies. Unicode and a Western encoding may occur in one file that was joined from several.
"""

from __future__ import annotations

import codecs
import contextlib
import re
from typing import Any, cast

from ..records import Reject

_UNICODE = ("utf-8", "utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")  # the mark of UTF-32 begins with that of UTF-16
# control characters that text does not contain; excludes tab, line ends, DOS end of file and escape
_CONTROL_BYTES = bytes([*range(9), *range(0x0E, 0x1A), *range(0x1C, 0x20)])
_BYTES_PER_CONTROL = 20  # at least, of text; data that is packed has a control character in 10 bytes
_RUN = re.compile(rb"[\x80-\xff]+")
_SEQUENCES = re.compile(rb"(?:[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3})+")  # in UTF-8
_MIN_FOREIGN_RUN_BYTES = 3
_MAX_BROKEN_SHARE = 0.1  # of the bytes of a run in UTF-8, and of all runs
_MAX_FOREIGN_SHARE = 0.3  # of the bytes above 0x7F, in runs of three or more: about 0 in Western books, most in others
# A header's encoding, if it can't be detected. Many headers name ISO-8859-1 wrongly.
_DECLARED = re.compile(rb"(?im)^character set encoding:\s*(iso-?8859-(?:[2-9]|1[013-6])|windows-125[0-8]|koi8-[rtu])\b")
_HEADER_BYTES = 4000  # first bytes, in which a header names the encoding
_SCANNED_BYTES = 1 << 22  # bytes examined for runs
_SAMPLE_BYTES, _SMALL_SAMPLE_BYTES = 1 << 16, 1 << 11  # bytes examined for another alphabet
_OTHERS = ["cp932", "euc_jp", "cp949", "gb18030", "big5", "big5hkscs", "cp1251", "koi8_r", "cp866", "iso8859_5", "cp1253"]
_MAX_DAMAGED_SHARE = 0.001  # maximum share of broken characters in a text whose encoding is otherwise clear

_JSON_OBJECT = re.compile(r'[\ufeff\s]*\{[ \t]*"[^"\n]{0,200}"[ \t]*:')  # the beginning of JSON lines

# Error handlers: one reads a stray byte in UTF-8 as Windows-1252, the other marks undecodable bytes.
REPAIR, MARK_BROKEN = "bertdata-windows-1252", "bertdata-broken"


def decode(data: bytes, encoding: str = "") -> str:
    r"""Decode data in `encoding`, or in the detected one.

    A stray byte in UTF-8 (such as an old quotation mark) is read as Windows-1252; a broken pair in double-byte text becomes
    U+FFFD. Raise ValueError for many control characters, and if no encoding fits or the specified one does not.

    >>> decode(b"\xff\xfeT\x00e\x00a\x00"), decode(b"caf\xe9 \x93noir\x94"), decode(b"\xd0\xd2\xc9", "koi8-r")
    ('Tea', 'café “noir”', 'при')
    """
    name = encoding_of(data, encoding)
    is_exact = bool(encoding) or name in ("cp1252", *_UNICODE)
    errors = REPAIR if name == "utf-8" != encoding else "strict" if is_exact else "replace"
    text = data.decode(name, errors).removeprefix("\ufeff")
    if not is_exact and text.count("\ufffd") > max(1, _MAX_DAMAGED_SHARE * len(text)):
        raise ValueError(f"not UTF-8, nor {name}")
    return text


def encoding_of(data: bytes, encoding: str = "") -> str:
    """Return the encoding that a byte order mark names, or `encoding`, or the detected one. Raise ValueError if none is."""
    if stated := next((name for name in _UNICODE if data.startswith("\ufeff".encode(name))), encoding):
        return stated
    controls = len(data) - len(data.translate(None, _CONTROL_BYTES))
    if controls > len(data) // _BYTES_PER_CONTROL:
        raise ValueError(f"{controls} control characters: this is not a text file")
    with contextlib.suppress(UnicodeDecodeError):
        data.decode()
        return "utf-8"
    # Sort the runs of bytes above 0x7F. Valid UTF-8 hardly ever occurs by chance in a Western text, which has single bytes. In
    # double-byte text, a third of the pairs is valid, but the runs as a whole are not.
    start = next(_RUN.finditer(data)).start()
    runs = [match[0][:_SAMPLE_BYTES] for match in _RUN.finditer(data, start, start + _SCANNED_BYTES)]
    others = [run for run in runs if len(_SEQUENCES.sub(b"", run)) > _MAX_BROKEN_SHARE * len(run)]
    foreign_bytes, other_bytes = (sum(len(run) for run in others if len(run) >= least) for least in (_MIN_FOREIGN_RUN_BYTES, 1))
    is_western = foreign_bytes <= _MAX_FOREIGN_SHARE * other_bytes
    is_damaged = other_bytes <= _MAX_BROKEN_SHARE * sum(map(len, runs))  # a word or two
    if (is_western or is_damaged) and len(others) < len(runs):
        return "utf-8"
    if declared := _DECLARED.search(data[:_HEADER_BYTES]):
        return declared[1].decode().lower()
    if is_western:
        return "cp1252"
    from charset_normalizer import from_bytes  # importing it takes 0.1 s

    lines = b"\n".join(filter(_RUN.search, data[start:].splitlines()))
    # A broken character makes a sample undecodable, so try others, and those that begin or end a byte or two later or earlier.
    for at, size in [(0, _SAMPLE_BYTES), *((n, _SMALL_SAMPLE_BYTES) for n in range(0, len(lines), _SMALL_SAMPLE_BYTES)[:8])]:
        for cut in range(4):
            if best := from_bytes(lines[at + cut % 2 : at + size - cut], cp_isolation=_OTHERS).best():
                return best.encoding
    raise ValueError("no known encoding")


def decode_or_reject(data: bytes, encoding: str, id: str, where: str) -> str | Reject:
    """Decode a text, or return a reject; `where` is the text's location. Reasons: ``undecodable``, ``json-lines``."""
    try:
        text = decode(data, encoding)
    except ValueError as error:
        return Reject(id, "undecodable", f"{where}: {error}. Name its encoding with --encoding")
    if _JSON_OBJECT.match(text):
        return Reject(id, "json-lines", f"{where}: lines of JSON in a file of plain text. Give it a name that ends in .jsonl")
    return text


def _repair(error: Any) -> tuple[str, int]:
    return error.object[error.start : error.end].decode("cp1252", "replace"), error.end


codecs.register_error(REPAIR, _repair)
codecs.register_error(MARK_BROKEN, lambda error: ("\udc80", cast("Any", error).end))  # half a character, which no decoder returns
