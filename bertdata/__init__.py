"""Build BERT pretraining corpora: raw Wikipedia dumps and books in, training shards out.

    import bertdata

    corpus = bertdata.build_corpus(wikipedia="dumps", books="books", output="corpus")
    vocab = bertdata.train_vocab(corpus.path, output="vocab")
    (pairs,) = bertdata.make_pairs(corpus.path, vocab=vocab.path, output="pairs")
    for batch in bertdata.batches(bertdata.Shards(pairs.path), 64):
        ...

Every command of `bertdata` is a function here.  It prints nothing, returns a value, and raises a `BertDataError`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .commands.build_corpus import build_corpus
    from .commands.doctor import doctor
    from .commands.download import download_hub, download_wikipedia
    from .commands.export import export
    from .commands.inspect import inspect
    from .commands.make_pairs import make_pairs
    from .commands.train_vocab import train_vocab
    from .config import ChoiceConfig, CorpusConfig, FilterConfig, PairsConfig, VocabConfig
    from .config.train import ModelConfig, OptimizerConfig, Phase, TrainConfig
    from .dataset.data_set import DataSet, open
    from .dataset.rows import Shards
    from .errors import BertDataError
    from .reports.page import report
    from .run.progress import Progress
    from .sources.books import read_book
    from .stages.trace import trace
    from .text.sentences import split_sentences
    from .text.wikitext import Extraction, Extractor, extract_paragraphs, load_templates
    from .training import attention
    from .training.epoch_plan import BatchFormat
    from .training.loader import batches
    from .training.masks import MaskConfig
    from .training.served import rows_of_step, steps_of
    from .training.trainer import train
    from .verification import verify

__version__ = "0.1.0"

_FROM = {  # public name -> the module that has it, which is loaded when the name is asked for
    "build_corpus": "commands.build_corpus",
    "train_vocab": "commands.train_vocab",
    "make_pairs": "commands.make_pairs",
    "export": "commands.export",
    "report": "reports.page",
    "trace": "stages.trace",
    "verify": "verification",
    "inspect": "commands.inspect",
    "download_wikipedia": "commands.download",
    "download_hub": "commands.download",
    "doctor": "commands.doctor",
    "open": "dataset.data_set",
    "train": "training.trainer",
    "DataSet": "dataset.data_set",
    "Progress": "run.progress",
    "Shards": "dataset.rows",
    "batches": "training.loader",
    "BatchFormat": "training.epoch_plan",
    "MaskConfig": "training.masks",
    "attention": "training.attention",
    "rows_of_step": "training.served",
    "steps_of": "training.served",
    "extract_paragraphs": "text.wikitext",
    "Extractor": "text.wikitext",
    "Extraction": "text.wikitext",
    "load_templates": "text.wikitext",
    "read_book": "sources.books",
    "split_sentences": "text.sentences",
    "CorpusConfig": "config",
    "FilterConfig": "config",
    "ChoiceConfig": "config",
    "VocabConfig": "config",
    "PairsConfig": "config",
    "TrainConfig": "config.train",
    "ModelConfig": "config.train",
    "OptimizerConfig": "config.train",
    "Phase": "config.train",
    "BertDataError": "errors",
}

__all__ = [
    "BatchFormat",
    "BertDataError",
    "ChoiceConfig",
    "CorpusConfig",
    "DataSet",
    "Extraction",
    "Extractor",
    "FilterConfig",
    "MaskConfig",
    "ModelConfig",
    "OptimizerConfig",
    "PairsConfig",
    "Phase",
    "Progress",
    "Shards",
    "TrainConfig",
    "VocabConfig",
    "__version__",
    "attention",
    "batches",
    "build_corpus",
    "doctor",
    "download_hub",
    "download_wikipedia",
    "export",
    "extract_paragraphs",
    "inspect",
    "load_templates",
    "make_pairs",
    "open",
    "read_book",
    "report",
    "rows_of_step",
    "split_sentences",
    "steps_of",
    "trace",
    "train",
    "train_vocab",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use, with its dependencies; `import bertdata` alone loads nothing heavy."""
    if name in _FROM:
        module = importlib.import_module(f".{_FROM[name]}", __name__)
        return getattr(module, name, module)  # `attention` is a module
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
