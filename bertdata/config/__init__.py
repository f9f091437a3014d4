"""Configure runs with frozen dataclasses. The defaults are BERT's, and the constructors reject invalid values.

`identity()` returns the fields that affect the output's bytes. A run resumes only if its identity is unchanged.
"""

from .base import Config
from .choice import ChoiceConfig as ChoiceConfig
from .corpus import CorpusConfig as CorpusConfig
from .export import ExportConfig as ExportConfig
from .filters import FilterConfig as FilterConfig
from .objectives import LABEL_1_COUNTS as LABEL_1_COUNTS
from .objectives import OBJECTIVES as OBJECTIVES
from .pairs import PairsConfig as PairsConfig
from .pairs import mask_shares as mask_shares
from .toml import parse_toml as parse_toml
from .toml import read_small as read_small
from .toml import read_toml as read_toml
from .vocab import VocabConfig as VocabConfig

CONFIGS: dict[str, type[Config]] = {  # by the kind of dataset
    "documents": CorpusConfig,
    "vocabulary": VocabConfig,
    "pairs": PairsConfig,
    "export": ExportConfig,
}
