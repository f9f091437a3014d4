"""Check a dataset for corruption and inconsistent contents by reading all of it again.

    check.py       the complete check: the manifest, the files in parallel processes, the sums
    directory.py   files on disk against the manifest: missing, unknown, links, sizes, digests
    batches.py     a shard's record batches: schema, end marks, validity, number of rows
    documents.py   rules for documents
    row_checks.py  rows of tokens, as the rules see them
    pairs.py       rules for rows: lengths, [CLS] and [SEP], segments, labels
    masks.py       rules for static masks
    vocabulary.py  rules for a vocabulary, and agreement of its files
    lists.py       rejects and drops, line by line
    counts.py      the manifest's counts against the shards

A digest finds damage since a file was written. A rule finds a file that was wrong when it was written. Exports have no rules:
their files are checked by digest, size and count, and `make long` reads them with the readers of other trainers.
"""

from .check import Problem, Result, verify

__all__ = ["Problem", "Result", "verify"]
