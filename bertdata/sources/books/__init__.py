"""Books of any form become documents: one a book, its prose in paragraphs."""

from .clean import clean, read_paragraphs
from .read import Book, read_books

__all__ = ["Book", "clean", "read_books", "read_paragraphs"]
