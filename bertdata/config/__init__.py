"""Configure runs with frozen dataclasses. The defaults are BERT's, and the constructors reject invalid values.

`identity()` returns the fields that affect the output's bytes. A run resumes only if its identity is unchanged.
"""

from .base import Config
from .choice import ChoiceConfig
from .corpus import CorpusConfig
from .export import ExportConfig
from .filters import FilterConfig
from .objectives import LABEL_1_COUNTS, OBJECTIVES
from .pairs import PairsConfig, mask_shares
from .toml import parse_toml, read_small, read_toml
from .vocab import VocabConfig

__all__ = [
    "CONFIGS",
    "LABEL_1_COUNTS",
    "OBJECTIVES",
    "ChoiceConfig",
    "CorpusConfig",
    "ExportConfig",
    "FilterConfig",
    "PairsConfig",
    "VocabConfig",
    "parse_toml",
    "read_small",
    "read_toml",
    "mask_shares",
]

CONFIGS: dict[str, type[Config]] = {  # by the kind of dataset
    "documents": CorpusConfig,
    "vocabulary": VocabConfig,
    "pairs": PairsConfig,
    "export": ExportConfig,
}
