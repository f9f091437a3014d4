"""Turn books of any format into documents, one per book, with their prose in paragraphs."""

from .clean import Reading, clean
from .read import read_book, read_books, split

__all__ = ["Reading", "clean", "read_book", "read_books", "split"]
