"""Compare vocabularies on a corpus."""

from __future__ import annotations

from pathlib import Path

from ..dataset import manifest
from ..dataset.manifest_types import CorpusManifest
from ..dataset.staging import steady
from ..errors import UsageError
from ..reports.fertility import Fertility, measure
from ..storage.files import to_path
from ..storage.storage import storage_errors

__all__ = ["compare_vocabularies"]


@storage_errors()
def compare_vocabularies(corpus: str | Path, vocabs: list[str | Path]) -> list[Fertility]:
    """Encode a sample of a corpus with vocabularies, and count tokens per word, bytes per token, unknown tokens and split words.

    Args:
        corpus: Output of `build_corpus`. At most 32 MB of its text are read, from documents evenly spread over it.
        vocabs: Vocabularies, as in `make_pairs`.

    Returns:
        The figures of each vocabulary for each source and language, the one with most words first.

    Raises:
        UsageError: `corpus` is not a corpus, or a vocabulary is invalid.
        NoInputError, VerificationError: The corpus is missing or damaged.

    Examples:
        >>> from bertdata.sample import sample
        >>> from bertdata import build_corpus, train_vocab
        >>> corpus = build_corpus(books=sample() / "books", output=here / "corpus", workers=1)
        >>> vocab = train_vocab(corpus.path, output=here / "vocab", size=2000, workers=1)
        >>> english = compare_vocabularies(corpus.path, [vocab.path])[0]
        >>> english.language, english.tokens_per_word > 1
        ('en', True)
    """
    path = to_path(str(corpus))
    with steady(path):
        contents = manifest.read(path)
        if not isinstance(contents, CorpusManifest):
            raise UsageError(f"{path} contains {contents.kind}. Pass a corpus, to encode its text with `vocab`", field="vocab")
        manifest.check_files(path, manifest.listed(contents))
        return measure(path, contents, {str(vocab): to_path(str(vocab)) for vocab in vocabs})
