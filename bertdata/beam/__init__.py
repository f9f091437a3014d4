"""Use bertdata's steps as transforms of your own Apache Beam pipeline.

    import apache_beam as beam
    from bertdata.beam import ExtractParagraphs, ReadWikipedia, SplitSentences, WriteDocuments

    with beam.Pipeline() as pipeline:
        documents = pipeline | ReadWikipedia("dumps") | ExtractParagraphs() | SplitSentences()
        documents | WriteDocuments("corpus")

`providers.yaml` in this folder makes the same transforms available in Beam YAML.
"""

from .building_blocks import ExtractParagraphs, ReadBooks, ReadText, ReadWikipedia, SplitSentences
from .schemas import Article, Document, InputFile, Prose, SkippedRecord
from .write_documents import WriteDocuments

__all__ = [
    "Article",
    "Document",
    "ExtractParagraphs",
    "InputFile",
    "Prose",
    "ReadBooks",
    "ReadText",
    "ReadWikipedia",
    "SkippedRecord",
    "SplitSentences",
    "WriteDocuments",
]
