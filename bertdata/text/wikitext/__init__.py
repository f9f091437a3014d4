"""Convert wikitext to paragraphs of running prose, as MediaWiki would display them."""

from .disambiguation import is_disambiguation
from .extract import extract_paragraphs, resolution_steps
from .redirects import is_redirect
from .templates import Templates, load_templates
from .variants import check_variant

__all__ = [
    "Templates",
    "check_variant",
    "extract_paragraphs",
    "is_disambiguation",
    "is_redirect",
    "load_templates",
    "resolution_steps",
]
