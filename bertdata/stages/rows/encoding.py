"""Encode documents with one encoder per process, because Dask unpickles a job for each task."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...dataset.tasks import StoredValue
from ...tokens import vocab
from ...tokens.encode import Encoder
from ...tokens.segment import WordEncoder


class DocumentsEncoder:
    """Encode documents with a run's vocabulary, by one thread at a time."""

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


@lru_cache(maxsize=2)  # a cluster worker may alternate between two runs
def encoder_of_run(vocabulary: StoredValue, chinese_words: str) -> DocumentsEncoder:
    """Return this process' encoder for the vocabulary that the driver stored for the workers."""
    return DocumentsEncoder(vocab.of_run(vocabulary), chinese_words)
