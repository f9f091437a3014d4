"""Check a dataset for corruption and inconsistent contents by reading all of it again.

    check.py       the complete check: the manifest, the files in parallel processes, the sums
    files.py       files on disk against the manifest: missing, unknown, links, sizes, digests, record batches, lists
    documents.py   rules for documents
    rows.py        rules for rows: lengths, special tokens, segments, labels, static masks
    sums.py        the manifest's counts against the shards

A digest finds damage since a file was written. A rule finds a dataset whose digests are right and whose values no command writes.
"""

from .check import Problem, Result, verify

__all__ = ["Problem", "Result", "verify"]
