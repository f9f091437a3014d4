"""Apply the filters to a document: it passes, or is dropped with a reason: a bound, its language, overlap with test sets."""

from __future__ import annotations

from functools import cache

from ...config import CorpusConfig
from ...errors import BertDataError, ResumeError, UsageError
from ...io.files import digest
from ...io.functions import load
from ...records import Document, Drop
from ...text import language
from ...text.filters import Grams, check, read_examples

__all__ = ["load_grams", "reason_to_drop"]

_LONGEST = 60  # characters of a reason: it is a key of the manifest's counts


def reason_to_drop(document: Document, config: CorpusConfig) -> Drop | None:
    """Return why a document is left out, None if it is not."""
    if drop := check(document, config.filters):
        return drop
    languages = config.filters.languages
    if languages and (other := language.outside("\n".join(document.sentences), document.language, languages)):
        return Drop("language", document.id, f"language {other}, not {' or '.join(languages)}")
    if config.exclude and (shared := load_grams(config.exclude).find(" ".join(document.sentences))):
        return Drop("evaluation overlap", document.id, f"shares with an evaluation set: {shared}")
    for name in config.filter_functions:
        if reason := _reason(name, document, config):
            return Drop(reason, document.id, f"filter {name}")
    return None


def _reason(name: str, document: Document, config: CorpusConfig) -> str:
    """Ask a filter of the user's; raise UsageError, with the document's id, where it raises or returns something else."""
    try:
        reason = load(name, "filters", dict(config.functions).get(name, ""))(document)
    except BertDataError:
        raise
    except Exception as error:
        raise UsageError(f"`filters` {name} raises {type(error).__name__}: {error}, of the document {document.id}") from error
    if reason is None:
        return ""
    if not isinstance(reason, str) or not 0 < len(reason) <= _LONGEST:
        raise UsageError(
            f"`filters` {name} returns {reason!r:.100} of the document {document.id}: return None to keep it, or a reason of at "
            f"most {_LONGEST} characters"
        )
    return reason


@cache
def load_grams(files: tuple[tuple[str, str, str], ...]) -> Grams:
    """Read the files of evaluation sets, once in a process; raise ResumeError for one that is not what it was."""
    for name, path, sha256 in files:
        if digest(path) != sha256:
            raise ResumeError(f"`exclude` {name} has changed since this run was begun: start again with `overwrite`")
    return Grams(text for name, path, _ in files for text in read_examples(name, path))
