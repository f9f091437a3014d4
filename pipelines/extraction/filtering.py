"""A document passes the filters or is dropped with its reason: bounds, language, overlap with evaluation sets."""

from __future__ import annotations

from functools import cache

from bertdata import language
from bertdata.config import CorpusConfig
from bertdata.errors import ResumeError
from bertdata.files import digest
from bertdata.filters import Grams, check, read_examples
from bertdata.records import Document, Drop

__all__ = ["load_grams", "reason_to_drop"]


def reason_to_drop(document: Document, config: CorpusConfig) -> Drop | None:
    """Return why a document is left out, None if it is not."""
    if drop := check(document, config.filters):
        return drop
    languages = config.filters.languages
    if languages and (found := language.outside("\n".join(document.sentences), document.language, languages)):
        return Drop("language", document.id, f"language {found}, not {' or '.join(languages)}")
    if config.exclude and (shared := load_grams(config.exclude).find(" ".join(document.sentences))):
        return Drop("evaluation overlap", document.id, f"shares with an evaluation set: {shared}")
    return None


@cache
def load_grams(files: tuple[tuple[str, str, str], ...]) -> Grams:
    """Read the files of evaluation sets, once in a process; raise ResumeError for one that is not what it was."""
    for name, path, sha256 in files:
        if digest(path) != sha256:
            raise ResumeError(f"--exclude {name} has changed since this run was begun: start again with --overwrite")
    return Grams(text for name, path, _ in files for text in read_examples(name, path))
