"""Convert wikitext to paragraphs of running prose, as MediaWiki would display them."""

from .extract import Extraction, Extractor, extract_paragraphs
from .pages import is_redirect
from .templates.table import Templates, load_templates
from .variants import check_variant

__all__ = [
    "Extraction",
    "Extractor",
    "Templates",
    "check_variant",
    "extract_paragraphs",
    "is_redirect",
    "load_templates",
]
