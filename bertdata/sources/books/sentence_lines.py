"""Read BookCorpus in its first published form: one lowercase sentence per line, without boundaries between books.

    books_large_p1.txt   books_large_p2.txt

Such a file is cut into documents with a fixed number of lines. Each line is one sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...records import FileRange, Reject
from ...storage.files import open_file
from ..line_ranges import check_end, read_lines

__all__ = ["is_sentence_lines", "read_sentences"]

_NAME = re.compile(r"(?:.*/)?books_large_p\d[^/]*\.txt", re.IGNORECASE)


def is_sentence_lines(name: str) -> bool:
    """Return True if a file's name means that its lines are sentences.

    >>> is_sentence_lines("bookcorpus/books_large_p1.txt"), is_sentence_lines("bookcorpus/emma.txt")
    (True, False)
    """
    return _NAME.fullmatch(name) is not None


def read_sentences(part: FileRange, count: int, max_bytes: int) -> Iterator[tuple[int, list[str]] | Reject]:
    """Yield `count` lines at a time, without blank lines, with the byte offset of the first.

    Reasons to reject a line: ``bad-utf-8``, ``binary``, ``too-large``; the file: ``truncated``.
    """
    begin, sentences = part.start, list[str]()
    with open_file(part.path) as file:
        file.seek(part.start)
        for start, line in read_lines(file, part.end - part.start, max_bytes):
            sentence = _sentence(line, part, part.start + start, max_bytes)
            if isinstance(sentence, Reject):
                yield sentence
            elif sentence:
                begin = begin if sentences else part.start + start
                sentences.append(sentence)
            if len(sentences) == count:
                yield begin, sentences
                sentences = []
        if sentences:
            yield begin, sentences
        yield from check_end(file, part, "books")


def _sentence(line: bytes | None, part: FileRange, at: int, max_bytes: int) -> str | Reject:
    id, where = f"books:{part.name}:{at}", f"{part.name}: byte {at}"
    if line is None:
        return Reject(id, "too-large", f"{where}: a line of more than {max_bytes} bytes")
    if b"\0" in line:
        return Reject(id, "binary", f"{where}: a NUL byte: this is not text")
    try:
        return " ".join(line.decode("utf-8-sig" if at == 0 else "utf-8").split())
    except UnicodeDecodeError as error:
        return Reject(id, "bad-utf-8", f"{where}: {error.reason} at byte {error.start} of the line")
