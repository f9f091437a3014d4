"""The hard-wrapped lines of a book's paragraph become one line, with the hyphens that the printer added taken out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ..lines import join_lines

__all__ = ["hyphenated", "join_signatures", "title_case", "unwrap"]

_HYPHEN = re.compile(r"([^\W\d_]+)-$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SUSPENDED = frozenset(("and", "or", "to", "und", "oder", "bis", "en", "of", "et", "ou", "y", "e", "a"))  # three- and fourfold
_DASHES = ("--", "—", "–")
_LONGEST_CLOSE = 60  # characters of "I am, with esteem, your friend,"
_LONGEST_SIGNATURE = 60
_CLOSERS = "_*=)]’”\"' "


def hyphenated(blocks: Iterable[list[str]]) -> set[str]:
    """Return the words that line ends cut and that occur whole elsewhere in the book, in lower case.

    >>> hyphenated([["a tea-", "pot and", "a well-", "known teapot"]])
    {'teapot'}
    """
    blocks = list(blocks)
    cuts = {cut for lines in blocks for cut in _cuts(lines)}
    if not cuts:
        return set()
    whole = {word.lower() for lines in blocks for line in lines for word in _WORD.findall(line)}
    return {first + second for first, second in cuts if first + second in whole and f"{first}-{second}" not in whole}


def unwrap(lines: list[str], words: set[str]) -> str:
    """Join the lines of a paragraph; mend a word cut by a line end if it is one of `words` (see `hyphenated`).

    >>> unwrap(["The tea-", "pot is well-", "known--", "here."], {"teapot"})
    'The teapot is well-known--here.'
    """
    parts: list[str] = []
    lines = [line.strip() for line in lines]
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        cut = next(_cuts([line, after]), None)
        if cut is not None:
            parts.append(line[:-1] if "".join(cut) in words else line)
        elif after and (line.endswith(_DASHES) or after.startswith(_DASHES)):
            parts.append(line)
        else:
            parts.append(line + "\n")
    return join_lines("".join(parts).split("\n"))


def join_signatures(paragraphs: list[str]) -> list[str]:
    """Join the close of a letter with the signature that stands below it.

    >>> join_signatures(["We leave at noon.", "Your friend,", "ANNA."])
    ['We leave at noon.', 'Your friend, ANNA.']
    """
    joined: list[str] = []
    for paragraph in paragraphs:
        if joined and _is_close(joined[-1]) and _is_signature(paragraph):
            joined[-1] += " " + paragraph
        else:
            joined.append(paragraph)
    return joined


def title_case(text: str) -> bool:
    """Tell whether all the long words of a line are capitalised.

    >>> title_case("The Master of the House"), title_case("The master of the house")
    (True, False)
    """
    words = [word for word in re.findall(r"[^\W\d_]+", text) if len(word) > 3]
    return all(word[0].isupper() for word in words)


def _cuts(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line, after in zip(lines, lines[1:], strict=False):
        if line.endswith("-") and not line.endswith("--") and (first := _HYPHEN.search(line)):
            second = _WORD.match(after.lstrip())
            if second and second.group()[0].islower() and second.group() not in _SUSPENDED:
                yield first.group(1).lower(), second.group().lower()


def _is_close(text: str) -> bool:
    last = text.rstrip(_CLOSERS).rpartition(" ")[2]
    return len(text) <= _LONGEST_CLOSE and (text.endswith(",") or (last.isalpha() and (last.islower() or last == text)))


def _is_signature(text: str) -> bool:
    if len(text) > _LONGEST_SIGNATURE or any(map(str.isdigit, text)) or not text.lstrip("_\"“'‘")[:1].isupper():
        return False
    return text.rstrip(_CLOSERS)[-1:] not in ".!?:" or title_case(text)
