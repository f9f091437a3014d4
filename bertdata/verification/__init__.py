"""Read a dataset again, all of it, and tell what is not as it was written, or cannot be right.

    check.py       the whole of it: the manifest, the files over processes, the sums
    files.py       what lies there against what the manifest names: missing, strange, links, sizes, digests
    batches.py     a shard's record batches: schema, end marks, validity, rows
    documents.py   the laws of documents
    rows.py        rows of tokens as the laws see them
    pairs.py       the laws of rows: lengths, [CLS] and [SEP], segments, labels
    masks.py       the laws of static masks
    vocabulary.py  the laws of a vocabulary, and that its files agree
    lists.py       what was rejected and dropped, line by line
    sums.py        what the manifest counts against what was found

A digest finds damage since a file was written, and a law finds a file that was wrong when it was written. Exports have no laws:
their files are checked by digest, size and count, and `make long` reads them with the readers of other trainers.
"""

from .check import Problem, Result, verify

__all__ = ["Problem", "Result", "verify"]
