"""Build training rows from a partition of tokenized documents, for one of these objectives:

``nsp``             pairs for next sentence prediction, exactly half NotNext (BERT)
``sop``             pairs for sentence order prediction, exactly half swapped (ALBERT)
``documents``       text of one document (RoBERTa, ModernBERT)
``causal``          text of one document, without [CLS] (GPT)

partition.py        input and output types
chunks.py           documents -> chunks, each cut into A and its true B
exchange.py         matches of chunks, of which one of every two exchanges its Bs
sentence_pairs.py   chunks -> pairs
documents.py        documents -> rows of one document
pack.py             several rows packed into one
masking.py          masks of rows, stored or drawn during loading, and the tokens they may use

Google's algorithm draws B at random and cuts it to fit, so the length of a pair reveals its label. Here, pairs of both labels
have the same lengths, documents and text, each used once per copy. They differ only in whether B follows A.
"""

from __future__ import annotations

from collections import Counter

from ..config import PairsConfig
from ..pieces import Special
from . import documents, sentence_pairs
from .pack import pack
from .partition import Pairs, Partition

__all__ = ["Partition", "Pairs", "build", "statistics"]


def build(partition: Partition, config: PairsConfig, special: Special) -> Pairs:
    """Build a partition's rows for the objective of `config`."""
    if config.objective in ("nsp", "sop"):
        built = sentence_pairs.build(partition, config, special)
        return pack(built, config.max_seq_length, config.seed) if config.pack else built
    return documents.build(partition, config, special)


def statistics(pairs: Pairs) -> Counter[str]:
    """Count rows, their parts where they are packed, labels 1, and the tokens they hold with [CLS] and [SEP]."""
    ones = 0 if pairs.labels is None else int(pairs.labels.sum())
    rows = len(pairs.ends) - 1
    parts = {} if pairs.parts is None else {"parts": len(pairs.parts) - 1}
    return Counter(rows=rows, ones=ones, tokens=int(pairs.ends[-1]), **parts)
