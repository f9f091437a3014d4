"""The keyword options of `build_corpus`, `train_vocab` and `make_pairs`, for editors and type checkers.

They are the fields of the configurations, with the same names and types; tests/config/test_keywords.py compares them. The
functions take them as ``**options: Unpack[PairsOptions]``. `help(bertdata.PairsConfig)` explains each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

from .input_kinds import Paths

__all__ = ["CorpusOptions", "PairsOptions", "VocabOptions"]


class CorpusOptions(TypedDict, total=False):
    """Options of `build_corpus`: those of `CorpusConfig`, `FilterConfig` and `ChoiceConfig`, and files."""

    templates: Paths  # TOML files of your templates
    exclude: Paths  # evaluation sets: documents that overlap with them are dropped
    exclude_ids: Paths  # files of document ids to drop
    depends_on: Paths  # files that your functions read
    definition_lists: Literal["drop", "keep"]
    list_introductions: Literal["keep", "drop"]
    listings: Literal["drop", "keep"]
    variant: str
    inline_templates: bool
    learn_templates: bool
    math: Literal["text", "tex", "drop-sentence", "drop"]
    namespaces: Sequence[str]
    drop_disambiguation: bool
    text_column: str
    title_column: str
    id_column: str
    text_documents: Literal["file", "blank-lines", "lines"]
    text_lines: int
    text_marks: Literal["keep", "drop"]
    book_sentences: int
    verse: Literal["auto", "keep", "drop"]
    footnotes: Literal["prose", "drop", "keep"]
    encoding: str
    language: str
    sentence_splitter: str
    max_documents: int
    task_bytes: int
    max_page_bytes: int
    max_rejects: float
    languages: Sequence[str]
    min_characters: int
    max_characters: int
    min_letters: float
    max_digits: float
    max_repeated: float
    max_boilerplate: float
    dedup: Literal["none", "exact", "near"]
    dedup_paragraphs: bool
    near_threshold: float
    mix: str
    group_by: Literal["source", "language"]
    byte_premium: str
    sample_documents: int
    max_words: str
    seed: int


class VocabOptions(TypedDict, total=False):
    """Options of `train_vocab`: those of `VocabConfig`."""

    model: Literal["wordpiece", "bpe", "unigram"]
    size: int
    byte_fallback: bool
    pad_to_multiple_of: int
    extra_tokens: Sequence[str]
    lowercase: bool | None
    strip_accents: bool | None
    layout: Literal["compact", "bert"]
    min_frequency: int
    alphabet: int
    sample_bytes: int
    seed: int


class PairsOptions(TypedDict, total=False):
    """Options of `make_pairs`: those of `PairsConfig`. Several row lengths make one dataset each."""

    max_seq_length: int | Sequence[int]
    objective: Literal["nsp", "sop", "documents", "full-sentences", "causal"]
    pack: bool
    short_seq_prob: float | None
    dupe_factor: int
    validation_fraction: float
    shards: int
    provenance: bool
    pair_across_languages: bool
    pair_within: Literal["none", "source"]
    masking: Literal["none", "static"]
    masked_lm_prob: float | None
    max_predictions: int
    whole_word: bool
    mask_shares: str
    chinese_words: Literal["none", "jieba"]
    special_tokens: str
    seed: int
