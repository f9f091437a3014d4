"""Edit documents with the functions of `--map`: each takes a document and returns it edited, before the filters see it.

    def shorten(document):
        return document._replace(sentences=document.sentences[:3], paragraph_starts=[0])

A function can also return a tuple of the document and its own counts, such as ``(document, {"e-mail addresses": 2})``.
"""

from __future__ import annotations

from typing import Any

from ...config import CorpusConfig
from ...errors import BertDataError
from ...records import Document, Drop, Reject
from ...storage.user_functions import load
from .sources import Counts

__all__ = ["edit"]

_FIXED = ("id", "source", "language", "as_of")  # other stages rely on these
_MAX_NAME_CHARS = 60  # maximum length of the name of a count, which is a key in the manifest


def edit(document: Document, config: CorpusConfig, counts: Counts) -> Document | Drop | Reject:
    """Call each function with the result of the one before, and count the documents that it edits.

    A document becomes a Reject if a function raises or returns an invalid document, and a Drop if no sentence is left.
    """
    for name in config.map_functions:
        function = load(name, "maps", dict(config.functions).get(name, ""))
        # A function may change the lists that it gets, so it gets copies.
        copy = document._replace(sentences=[*document.sentences], paragraph_starts=[*document.paragraph_starts])
        try:
            returned = function(copy)
        except BertDataError:
            raise
        except Exception as error:  # any exception of the user's function: reject this document and read the next one
            return Reject(document.id, "map-failed", f"{name}: {type(error).__name__}: {error}")
        edited, names = returned if type(returned) is tuple and len(returned) == 2 else (returned, {})
        if problem := _problem(document, edited) or _count_problem(names):
            return Reject(document.id, "no-document", f"{name} returned {problem}")
        if not any(map(str.strip, edited.sentences)):
            return Drop("no prose", document.id, f"map {name}")
        edited = _without_empty(edited)
        counts.edits[name] += edited != document
        counts.edits.update(names)
        document = edited
    return document


def _problem(document: Document, edited: Any) -> str:
    """Return why a value is not a valid edit of a document, or an empty string if it is valid."""
    if not isinstance(edited, Document):
        return f"{type(edited).__name__}, not a Document"
    for field in _FIXED:
        if getattr(edited, field) != getattr(document, field):
            return f"another {field}: {getattr(edited, field)!r:.100}"
    sentences, starts = edited.sentences, edited.paragraph_starts
    if type(sentences) is not list or type(starts) is not list:
        return "sentences or paragraph_starts that are not lists"
    try:
        "".join([edited.title, edited.url, edited.licence, *sentences]).encode()
    except (TypeError, UnicodeEncodeError) as error:
        return f"text that is not valid: {error}"
    if not sentences:  # the document is dropped, whatever its paragraphs
        return ""
    is_valid = starts[:1] == [0] and all(type(start) is int for start in starts)
    if is_valid and all(a < b for a, b in zip(starts, [*starts[1:], len(sentences)], strict=True)):
        return ""
    return f"paragraph_starts {starts!r:.100} of {len(sentences)} sentences: begin with 0, and rise to below that number"


def _count_problem(names: Any) -> str:
    valid = isinstance(names, dict) and all(
        isinstance(key, str) and 0 < len(key) <= _MAX_NAME_CHARS and type(number) is int and number >= 0
        for key, number in names.items()
    )
    return "" if valid else f"counts {names!r:.100}: use names of at most {_MAX_NAME_CHARS} characters, and numbers"


def _without_empty(document: Document) -> Document:
    """Remove empty sentences, and line breaks within sentences."""
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in document.paragraphs():
        if kept := [text for sentence in paragraph if (text := " ".join(sentence.splitlines()).strip())]:
            starts.append(len(sentences))
            sentences += kept
    return document._replace(sentences=sentences, paragraph_starts=starts)
