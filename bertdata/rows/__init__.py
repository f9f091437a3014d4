"""Build training rows from a partition of tokenized documents, for one of these objectives:

``nsp``             pairs for next sentence prediction, exactly half NotNext (BERT)
``sop``             pairs for sentence order prediction, exactly half swapped (ALBERT)
``documents``       text of one document (ModernBERT)
``full-sentences``  full sentences that fill a row, across documents (RoBERTa)
``causal``          running text cut to length (GPT)

partition.py      input and output types
chunks.py      documents -> chunks, each cut into A and its true B
exchange.py    matches of chunks; one of every two exchanges its Bs
sentence_pairs.py, one_document.py, running_text.py   chunks -> pairs; text -> rows of one document; text -> rows of many
pack.py        several rows packed into one

Google's algorithm draws B at random and cuts it to fit, so the length of a pair reveals its label. Here, pairs of both labels
have the same lengths, documents and text, each used once per copy. They differ only in whether B follows A.
"""

from __future__ import annotations

from collections import Counter

from ..config import PairsConfig
from ..pieces import Special
from . import one_document, running_text, sentence_pairs
from .pack import pack
from .partition import Pairs, Partition

__all__ = ["Partition", "Pairs", "build", "statistics"]


def build(partition: Partition, config: PairsConfig, special: Special) -> Pairs:
    """Build a partition's rows for the objective of `config`."""
    if config.objective in ("nsp", "sop"):
        built = sentence_pairs.build(partition, config, special)
        return pack(built, config.max_seq_length, config.seed) if config.pack else built
    if config.objective == "documents" or config.pack:
        return one_document.build(partition, config, special)
    return running_text.build(partition, config, special)


def statistics(pairs: Pairs) -> Counter[str]:
    """Count rows, their parts where they are packed, labels 1, and the tokens they hold with [CLS] and [SEP]."""
    ones = 0 if pairs.labels is None else int(pairs.labels.sum())
    rows = len(pairs.ends) - 1
    parts = {} if pairs.parts is None else {"parts": len(pairs.parts) - 1}
    return Counter(rows=rows, ones=ones, tokens=int(pairs.ends[-1]), **parts)
