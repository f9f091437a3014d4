"""`Extractor` and `extract_paragraphs` with every option off, so that a test turns on what it needs."""

from functools import partial

import bertdata.text.wikitext as wikitext

Extractor = partial(wikitext.Extractor, templates=None, math="drop", list_introductions="keep")
extract_paragraphs = partial(wikitext.extract_paragraphs, templates=None, math="drop", list_introductions="keep")
