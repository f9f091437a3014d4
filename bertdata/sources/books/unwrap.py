"""Join the hard-wrapped lines of a book's paragraphs, and remove the hyphens that the printer added."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import unescape

from ..lines import join_lines

_SPACED_DASHES = frozenset(("da", "de", "nl", "no", "sv"))  # spelling rules of Duden, Taalunie and the Nordic language councils
_BEFORE_MARK = re.compile(r"-- (?=[,;:.!?)\]])")

_HYPHEN = re.compile(r"(?<![^\W\d_])([^\W\d_]+)-$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
# Words that follow a suspended hyphen: "three- and fourfold".
_SUSPENDED = {
    *("and", "or", "to", "nor", "but", "und", "oder", "bis", "sowie", "wie", "en", "of", "tot", "et", "ou", "y", "o", "e", "a"),
    *("och", "eller", "og"),
}
_EMPHASIS = re.compile(r"(?<!\w)_{1,2}(?=[^\s_])|(?<=[^\s_])_{1,2}(?!\w)")  # not the blank of "Mr. ____"
_OTHER_EMPHASIS = re.compile(r"(?<![\w=+#~])([=+#~])(?=[^\W\d_])([^=+#~]+)(?<=[^\s=+#~])\1(?![\w=+#~])")
_ENTITY = re.compile(r"&(?:[A-Za-z]{2,8}|#\d{1,6});")  # left over from an HTML version
_DASHES = ("--", "—", "–")
_MAX_CLOSE_CHARACTERS = 60  # of "I am, with esteem, your friend,"
_MAX_SIGNATURE_CHARACTERS = 60
_CLOSERS = "_*=)]’”\"' "


def hyphenated(blocks: Iterable[list[str]]) -> set[str]:
    """Return the lowercase words that are split at a line end and occur unsplit elsewhere in the book."""
    blocks = list(blocks)
    cuts = {cut for lines in blocks if len(lines) > 1 for cut in _cuts(lines)}
    if not cuts:
        return set()
    words = {word.lower() for lines in blocks for line in lines for word in _WORD.findall(line)}
    return {first + second for first, second in cuts if first + second in words and f"{first}-{second}" not in words}


def unwrap(lines: list[str], words: set[str]) -> str:
    """Join the lines of a paragraph; rejoin a word that is split at a line end if it is in `words` (see `hyphenated`)."""
    if len(lines) == 1:
        return lines[0].strip()
    parts: list[str] = []
    lines = [line.strip() for line in lines]
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        cut = next(_cuts([line, after]), None) if line.endswith("-") else None
        if cut is not None:
            parts.append(line[:-1] if "".join(cut) in words else line)
        elif after and (line.endswith(_DASHES) or after.startswith(_DASHES) or _is_compound(line, after)):
            parts.append(line)
        else:
            parts.append(line + "\n")
    return join_lines("".join(parts).split("\n"))


def drop_marks(paragraph: str) -> str:
    """Remove the marks for italics, bold and spaced letters in plain text, and decode entities."""
    if "&" in paragraph:
        paragraph = _ENTITY.sub(lambda entity: unescape(entity[0]), paragraph)
    if "_" in paragraph:
        paragraph = _EMPHASIS.sub("", paragraph)
    if "=" in paragraph or "+" in paragraph or "#" in paragraph or "~" in paragraph:
        paragraph = _OTHER_EMPHASIS.sub(r"\2", paragraph)
    return paragraph.strip()


def set_dashes(paragraph: str, language: str) -> str:
    """Put spaces around dashes if the language does, except before the punctuation that ends a sentence or clause.

    A transcriber's ``--`` has no spaces in any language, and a sentence that ends before one could not be split from the next.
    """
    if language not in _SPACED_DASHES or "--" not in paragraph:
        return paragraph
    return _BEFORE_MARK.sub("--", " -- ".join(map(str.strip, paragraph.split("--")))).replace("  ", " ").strip()


def join_signatures(paragraphs: list[str]) -> list[str]:
    """Join the close of a letter with the signature below it."""
    joined: list[str] = []
    for paragraph in paragraphs:
        if joined and is_close(joined[-1]) and is_signature(paragraph):
            joined[-1] += " " + paragraph
        else:
            joined.append(paragraph)
    return joined


def title_case(text: str) -> bool:
    """Return True if all long words of a line are capitalized, or all its words if none is long."""
    words = re.findall(r"[^\W\d_]+", text)
    return all(word[0].isupper() for word in [word for word in words if len(word) > 3] or words)


def _cuts(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line, after in zip(lines, lines[1:], strict=False):
        if line.endswith("-") and not line.endswith("--") and (first := _HYPHEN.search(line)):
            second = _WORD.match(after.lstrip())
            if second and second.group()[0].islower() and second.group() not in _SUSPENDED:
                yield first.group(1).lower(), second.group().lower()


def _is_compound(line: str, after: str) -> bool:
    """Return True if a hyphen joins the parts on both lines: ``Anglo-`` and ``Saxon``, ``1845-`` and ``1901``."""
    second = re.match(r"\w+", after) if line.endswith("-") and line[-2:-1].isalnum() else None
    return second is not None and second.group().lower() not in _SUSPENDED


def is_close(text: str) -> bool:
    """Return True if a paragraph is the close of a letter, which a name follows."""
    if len(text) > _MAX_CLOSE_CHARACTERS or text.isupper():
        return False
    last = text.rstrip(_CLOSERS).rpartition(" ")[2]
    last = last if last.endswith("-") else last.replace("-", "")
    return text.endswith(",") or (last.isalpha() and (last.islower() or last == text))


def is_signature(text: str) -> bool:
    """Return True if a paragraph can be a signature."""
    if len(text) > _MAX_SIGNATURE_CHARACTERS or any(map(str.isdigit, text)) or not text.lstrip("_\"“'‘")[:1].isupper():
        return False
    return text.rstrip(_CLOSERS)[-1:] not in ".!?:" or title_case(text)
