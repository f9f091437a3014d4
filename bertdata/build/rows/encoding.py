"""Encode the documents of a run, by one encoder in each process, however often an engine makes a step anew from its bytes.

An encoder is a tokenizer, with ``chinese_words`` a dictionary of words as well, and the memo of what was asked for before.  A
local worker makes its steps once; Dask makes them for each of its tasks, where all of that would begin anew.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...dataset.plan_files import StoredValue
from ...tokens import vocab
from ...tokens.chinese import WordEncoder
from ...tokens.documents import DocumentEncoder
from ...tokens.encoder import Encoder

__all__ = ["DocumentsEncoder", "encoder_of_run"]

_MOST = 2  # encoders in a process: a cluster's worker may serve two runs by turns
_encoders: dict[tuple[int, int, str], DocumentsEncoder] = {}  # by the vocabulary's length and digest, the last used last
_making = threading.Lock()


class DocumentsEncoder:
    """Encode documents with a run's vocabulary, in one thread at a time: a memo belongs to the call that fills it."""

    def __init__(self, vocabulary: vocab.AnyVocabulary, chinese_words: str) -> None:
        self._lock = threading.Lock()
        self._encoder: Encoder | DocumentEncoder | WordEncoder = vocabulary.document_encoder()
        if chinese_words != "none":
            assert isinstance(vocabulary, vocab.Vocabulary) and isinstance(self._encoder, Encoder)
            self._encoder = WordEncoder(self._encoder, vocabulary)

    def __call__(
        self, languages: pa.StringArray, documents: pa.ListArray, paragraphs: pa.ListArray, exact: bool = False
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return all ids [T] end to end, where each sentence ends [S], and which tokens continue a word, where ``##`` does not
        tell it: [T] or [0]. With `exact`, `tokenizers` gives the ids.
        """
        with self._lock:
            if isinstance(self._encoder, WordEncoder):
                return self._encoder.encode(languages.to_pylist(), documents.to_pylist(), exact)
            return *self._encoder.encode_documents(documents, paragraphs, exact), np.zeros(0, bool)


def encoder_of_run(vocabulary: StoredValue, chinese_words: str) -> DocumentsEncoder:
    """Return this process' encoder for the vocabulary that the driver of a run has stored for its workers."""
    key = (vocabulary.length, vocabulary.digest, chinese_words)
    with _making:
        encoder = _encoders.pop(key, None) or DocumentsEncoder(vocab.of_run(vocabulary), chinese_words)
        _encoders[key] = encoder
        while len(_encoders) > _MOST:
            del _encoders[next(iter(_encoders))]
    return encoder
