"""Edit or drop documents with the functions of `--map`, before the filters see them.

def shorten(document):
    if document.title.startswith("List of"):
        return "list"  # the reason to drop it
    return document._replace(sentences=document.sentences[:3], paragraph_starts=[0])
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...config import CorpusConfig
from ...errors import BertDataError
from ...records import Document, Drop, Reject
from ...storage.user_functions import load

_FIXED = ("id", "source", "language", "as_of")  # other stages rely on these
_MAX_REASON_CHARS = 60  # maximum length of a reason, which is a key in the manifest's counts


def edit(document: Document, config: CorpusConfig, counts: Counter[str]) -> Document | Drop | Reject:
    """Call each function with the result of the one before, and count the documents that it edits.

    A document becomes a Drop for the returned reason or if no sentence is left, and a Reject if a function raises or returns an
    invalid document.
    """
    for name in config.map_functions:
        function = load(name, "maps", dict(config.functions).get(name, ""))
        # A function may change the lists that it gets, so it gets copies.
        copy = document._replace(sentences=[*document.sentences], paragraph_starts=[*document.paragraph_starts])
        try:
            edited = function(copy)
        except BertDataError:
            raise
        except Exception as error:  # any exception of the user's function: reject this document and read the next one
            return Reject(document.id, "map-failed", f"{name}: {type(error).__name__}: {error}")
        if isinstance(edited, str) and 0 < len(edited) <= _MAX_REASON_CHARS and edited.isprintable():
            return Drop(edited, document.id, f"map {name}")
        if problem := _problem(document, edited):
            return Reject(document.id, "no-document", f"{name} returned {problem}")
        if not any(map(str.strip, edited.sentences)):
            return Drop("no prose", document.id, f"map {name}")
        edited = _without_empty(edited)
        counts[f"edits/{name}"] += edited != document
        document = edited
    return document


def _problem(document: Document, edited: Any) -> str:
    """Return why a value is not a valid edit of a document, or an empty string if it is valid."""
    if isinstance(edited, str):
        return f"the reason {edited!r:.100}: use 1 to {_MAX_REASON_CHARS} printable characters"
    if not isinstance(edited, Document):
        return f"{type(edited).__name__}, not a Document or a reason to drop it"
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


def _without_empty(document: Document) -> Document:
    """Remove empty sentences, and line breaks within sentences."""
    sentences: list[str] = []
    starts: list[int] = []
    for paragraph in document.paragraphs():
        if kept := [text for sentence in paragraph if (text := " ".join(sentence.splitlines()).strip())]:
            starts.append(len(sentences))
            sentences += kept
    return document._replace(sentences=sentences, paragraph_starts=starts)
