"""Read lines of any length in bounded memory, cut files into ranges of whole lines, and join lines to paragraphs."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import IO, TypeVar

from ..records import Drop, FileRange
from ..storage.files import open_file

T = TypeVar("T")

_BLOCK_BYTES = 1 << 20  # bytes per read while skipping an overlong line
MAX_LINES = 1_500_000  # maximum per text; each line takes about 60 bytes of memory plus its characters

# Scripts written without spaces between words: ideographs, kana, their punctuation and full-width forms (not Hangul).
CJK = "\u2e80-\u2fdf\u3000-\u312f\u31a0-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff"

_NEWLINES = ("\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029")  # in addition to the line feed
_OTHER_SPACE = re.compile(r"[^\S ]\s*| \s+")  # than a single space
_BLANK_LINES = re.compile(r"\n(?:[^\S\n]*\n)+")
_CJK_BREAK = re.compile(f"\n(?<=[{CJK}]\n)(?=[{CJK}])")
# Control characters other than whitespace, the byte order mark, marks of annotations, and noncharacters of the first plane.
_CONTROL = re.compile("[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ufdd0-\ufdef\ufeff\ufff9-\ufffb\ufffe\uffff]")
_STOP = re.compile(r"[.!?…](?!\w)")
_MAX_UTTERANCE_STOPS = 0.1  # stops per line
_MAX_CAPITAL_SHARE = 0.01  # of the cased letters
_CASE_SAMPLE_CHARACTERS = 20_000
_OTHER_FORMS = str.maketrans("İıſ", "iis")  # letters that re.IGNORECASE matches with i and s, but str.lower does not


def read_lines(file: IO[bytes], size: int | None, max_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    """Read the lines of the next `size` bytes (None: to the end), each with its offset from the current position.

    If a line is longer than `max_bytes`, not counting its newline, yield None for it. Only one block of it is in memory.
    Of many blank lines in a row, only some are yielded: a packed file of a few bytes can have a billion.
    """
    offset = 0
    while (size is None or offset < size) and (line := file.readline(max_bytes + 1)):
        is_whole = len(line) <= max_bytes or line.endswith(b"\n")
        start, offset, rest = offset, offset + len(line), line
        while not (is_whole or rest.endswith(b"\n")) and (rest := file.readline(_BLOCK_BYTES)):
            offset += len(rest)
        if line.isspace() and isinstance(file, io.BufferedReader):
            ahead = file.peek()[: None if size is None else size - offset]
            offset += len(file.read(ahead.rfind(b"\n", 0, len(ahead) - len(ahead.lstrip())) + 1))
        yield start, line.removesuffix(b"\n") if is_whole else None


def or_empty(records: Iterator[T], part: FileRange, source: str) -> Iterator[T | Drop]:
    """Yield the records of a file range, and a drop for a file that has none, such as a table without rows."""
    record = None
    for record in records:
        yield record
    if record is None and part.start == 0:
        yield Drop("empty", f"{source}:{part.name}")


def split_lines(path: str, size: int, target: int, *, at_blank_lines: bool = False) -> list[tuple[int, int]]:
    """Cut the first `size` bytes of a file into ranges of about `target` bytes, each with complete lines.

    Only the bytes between a cut and the end of its line, or the next blank line, are read, a block at a time. A file of three
    lines of 10 bytes and a target of 12 returns ``[(0, 20), (20, 30)]``.
    """
    ends = [0]
    with open_file(path) as file:
        while (end := ends[-1]) < size:
            end += target
            if end < size:
                file.seek(end - 1)  # not `end`: a range that ends with a line is complete
                next(read_lines(file, None, 0), None)  # skip the rest of the line
                end = file.tell()
                if at_blank_lines:
                    lines = read_lines(file, size - end, _BLOCK_BYTES)
                    end += next((at + len(line) + 1 for at, line in lines if line is not None and not line.strip()), size)
            ends.append(min(end, size))
    return list(pairwise(ends))


def ranges_at(places: Iterable[int], length: int, target: int) -> list[tuple[int, int]]:
    """Cut a file of `length` bytes at some of the places, which are in order, into ranges of at least `target` bytes."""
    starts = [0]
    for place in places:
        if place - starts[-1] >= target:
            starts.append(place)
    return list(pairwise([*starts, length]))


def count_lines(text: str) -> int:
    """Count the line ends of a text, of every type."""
    return text.count("\n") + sum(map(text.count, _NEWLINES[1:]))


def unify_newlines(text: str) -> str:
    r"""Replace every line end (``\r\n``, ``\r``, form feed, U+0085, U+2028, U+2029) with ``\n``."""
    for newline in _NEWLINES:
        text = text.replace(newline, "\n")
    return text


def fold_case(text: str) -> str:
    """Lowercase each character, so that a pattern of lowercase Latin letters matches as with `re.IGNORECASE`.

    This is two to four times as fast: `re` can skip alternatives by their first character only if case matters.
    """
    return text.lower() if text.isascii() else text.translate(_OTHER_FORMS).lower()


def paragraphs(text: str) -> list[str]:
    r"""Split a text at its blank lines and join the lines of each paragraph.

    >>> paragraphs("One line\nand another.\n\n  \nNext.\n")
    ['One line and another.', 'Next.']
    """
    unified = unify_newlines(text)
    blocks = unified.split("\n") if _are_utterances(text) else _BLANK_LINES.split(unified)
    return [paragraph for block in blocks if (paragraph := join_lines(block.split("\n")))]


def _are_utterances(text: str) -> bool:
    """Return True if each line of a text is a sentence, as in transcripts: it has almost no capital letters and no stops."""
    lines = text.count("\n", 0, len(text.rstrip())) + 1
    if lines < 2 or len(_STOP.findall(text)) > _MAX_UTTERANCE_STOPS * lines:
        return False
    sample = text[:_CASE_SAMPLE_CHARACTERS]
    letters = sum(map(str.islower, sample))
    return letters >= len(sample) // 2 and sum(map(str.isupper, sample)) <= _MAX_CAPITAL_SHARE * letters


def drop_controls(text: str) -> str:
    """Drop control characters, except whitespace, and code points that are not characters."""
    return _CONTROL.sub("", text)


def join_lines(lines: Iterable[str]) -> str:
    """Join the lines of a paragraph with a space, or with nothing between two CJK characters.

    >>> join_lines(["tea and ", " cake"]), join_lines(["红楼", "梦"])
    ('tea and cake', '红楼梦')
    """
    return _CJK_BREAK.sub("", "\n".join(filter(None, map(str.strip, lines)))).replace("\n", " ")


def one_line(text: str) -> str:
    """Normalize whitespace to one space between words."""
    return _OTHER_SPACE.sub(" ", text).strip()
