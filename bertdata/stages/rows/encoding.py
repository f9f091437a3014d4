"""Encode documents with one shared encoder per process, even if an engine unpickles a step many times.

An encoder is a tokenizer with a cache of words, and with ``chinese_words`` also a word dictionary. A local worker unpickles its
steps once. Dask unpickles them for each task and would start with an empty cache.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...dataset.tasks import StoredValue
from ...tokens import vocab
from ...tokens.encode import Encoder
from ...tokens.segment import WordEncoder

__all__ = ["DocumentsEncoder", "encoder_of_run"]

_MAX_ENCODERS = 2  # encoders kept per process: a cluster worker may alternate between two runs
_encoders: dict[tuple[str, str], DocumentsEncoder] = {}  # by the digest of a vocabulary and the segmenter; the last used is last
_making = threading.Lock()


class DocumentsEncoder:
    """Encode documents with a run's vocabulary. Each call uses the cache of its thread."""

    def __init__(self, vocabulary: vocab.Vocabulary, chinese_words: str) -> None:
        self._lock = threading.Lock()
        encoder = vocabulary.encoder()
        self._encoder: Encoder | WordEncoder = encoder if chinese_words == "none" else WordEncoder(encoder, vocabulary)

    def __call__(
        self, languages: pa.StringArray, documents: pa.ListArray, paragraphs: pa.ListArray
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return all ids [T] concatenated, the sentence ends [S], and a mask of tokens that continue a word.

        The mask is [T], or [0] if the vocabulary marks them with ``##``.
        """
        with self._lock:
            if isinstance(self._encoder, WordEncoder):
                return self._encoder.encode(languages.to_pylist(), documents.to_pylist())
            return *self._encoder.encode_documents(documents, paragraphs), np.zeros(0, bool)


def encoder_of_run(vocabulary: StoredValue, chinese_words: str) -> DocumentsEncoder:
    """Return this process' encoder for the vocabulary that the driver stored for the workers."""
    key = (vocabulary.sha256, chinese_words)
    with _making:
        encoder = _encoders.pop(key, None) or DocumentsEncoder(vocab.of_run(vocabulary), chinese_words)
        _encoders[key] = encoder
        while len(_encoders) > _MAX_ENCODERS:
            del _encoders[next(iter(_encoders))]
    return encoder
