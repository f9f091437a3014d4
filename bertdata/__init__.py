"""Build BERT pretraining corpora: raw Wikipedia dumps and books in, training shards out.

    import bertdata

    corpus = bertdata.build_corpus(wikipedia="dumps", books="books", output="corpus")
    vocab = bertdata.train_vocab(corpus.path, output="vocab")
    (pairs,) = bertdata.make_pairs(corpus.path, vocab=vocab.path, output="pairs")
    for batch in bertdata.batches(bertdata.Shards(pairs.path), 64):
        ...

The commands of `bertdata` are functions here. They print nothing, return a value, and raise a `BertDataError`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for editors and type checkers
    from .commands.build_corpus import build_corpus as build_corpus
    from .commands.download import download_wikipedia as download_wikipedia
    from .commands.export import export as export
    from .commands.inspect import inspect as inspect
    from .commands.make_pairs import make_pairs as make_pairs
    from .commands.train_vocab import train_vocab as train_vocab
    from .config import ChoiceConfig as ChoiceConfig
    from .config import CorpusConfig as CorpusConfig
    from .config import FilterConfig as FilterConfig
    from .config import PairsConfig as PairsConfig
    from .config import VocabConfig as VocabConfig
    from .config.train import OptimizerConfig as OptimizerConfig
    from .config.train import Phase as Phase
    from .config.train import TrainConfig as TrainConfig
    from .dataset.data_set import DataSet as DataSet
    from .dataset.data_set import open as open
    from .dataset.rows import Shards as Shards
    from .errors import BertDataError as BertDataError
    from .reports.page import report as report
    from .run.progress import Progress as Progress
    from .sources.books import read_book as read_book
    from .stages.trace import trace as trace
    from .text.sentences import split_sentences as split_sentences
    from .text.wikitext import Extraction as Extraction
    from .text.wikitext import Extractor as Extractor
    from .text.wikitext import extract_paragraphs as extract_paragraphs
    from .text.wikitext import load_templates as load_templates
    from .training import attention as attention
    from .training.loader import batches as batches
    from .training.masks import MaskConfig as MaskConfig
    from .training.served import rows_of_step as rows_of_step
    from .training.served import steps_of as steps_of
    from .training.trainer import train as train
    from .verification import verify as verify

__version__ = "0.1.0"
_NAMES = {  # module -> its public names, which are loaded when they are asked for
    "commands.build_corpus": ("build_corpus",),
    "commands.download": ("download_wikipedia",),
    "commands.export": ("export",),
    "commands.inspect": ("inspect",),
    "commands.make_pairs": ("make_pairs",),
    "commands.train_vocab": ("train_vocab",),
    "config": ("ChoiceConfig", "CorpusConfig", "FilterConfig", "PairsConfig", "VocabConfig"),
    "config.train": ("OptimizerConfig", "Phase", "TrainConfig"),
    "dataset.data_set": ("DataSet", "open"),
    "dataset.rows": ("Shards",),
    "errors": ("BertDataError",),
    "reports.page": ("report",),
    "run.progress": ("Progress",),
    "sources.books": ("read_book",),
    "stages.trace": ("trace",),
    "text.sentences": ("split_sentences",),
    "text.wikitext": ("Extraction", "Extractor", "extract_paragraphs", "load_templates"),
    "training.attention": ("attention",),  # the module itself
    "training.loader": ("batches",),
    "training.masks": ("MaskConfig",),
    "training.served": ("rows_of_step", "steps_of"),
    "training.trainer": ("train",),
    "verification": ("verify",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
__all__ = sorted([*_MODULES, "__version__"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    """Load a public name on first use, with its dependencies; `import bertdata` alone loads nothing heavy."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_MODULES[name]}", __name__)
    return getattr(module, name, module)


def __dir__() -> list[str]:
    return __all__
