"""Turn books of any format into documents, one per book, with their prose in paragraphs."""

from .account import KEPT, READ
from .clean import Reading, clean
from .read import Book, read_book, read_books, split
from .sentence_lines import is_sentence_lines

__all__ = ["KEPT", "READ", "Book", "Reading", "clean", "is_sentence_lines", "read_book", "read_books", "split"]
