"""Wikitext to paragraphs of running prose, as MediaWiki would show them."""

from .disambiguation import is_disambiguation
from .extract import extract_paragraphs
from .redirects import is_redirect

__all__ = ["extract_paragraphs", "is_disambiguation", "is_redirect"]
