"""Define the rows that the building blocks exchange, each a typed `NamedTuple` with a Beam schema.

An annotation that is a string has no schema, so this file and `bertdata.records` do without `from __future__ import annotations`.
"""

from typing import NamedTuple

from apache_beam import coders

from ..records import Article, Document, Prose

__all__ = ["Article", "Document", "InputFile", "Prose", "SkippedRecord"]


class SkippedRecord(NamedTuple):
    """A record that did not become a document.

    Attributes:
        source: Kind of input: wikipedia or another project, books or text.
        reason: Why it was skipped, such as redirect. The manifest counts records by reason.
        id: Name of the record, or an empty string for a drop that is counted but not listed.
        detail: Where the record is in the input, or the value that decided.
        lost: Bytes of the input that could not be read, in addition to the record's own.
    """

    source: str
    reason: str
    id: str = ""
    detail: str = ""
    lost: int = 0


class InputFile(NamedTuple):
    """An input file, as the manifest and the data card list it.

    Attributes:
        source: Kind of input: wikipedia or another project, books or text.
        name: Path of the file below the common parent of all files of its kind.
        bytes: Size of the file.
        licence: License of its text.
    """

    source: str
    name: str
    bytes: int
    licence: str


for _row in (Article, Document, InputFile, Prose, SkippedRecord):
    coders.registry.register_coder(_row, coders.RowCoder)
