"""The trainer: BERT from shards to a checkpoint that Hugging Face loads.

    done = bertdata.train("run.toml", "run")      # done.checkpoint is for from_pretrained

One file, one idea: `model`, `optimizer`, `learner` (a step), `world` (processes), `checkpoint`, `run` (the loop).
"""

from typing import TYPE_CHECKING, Any

from ...extras import missing_package

if TYPE_CHECKING:
    from .run import Done, train

__all__ = ["Done", "train"]


def __getattr__(name: str) -> Any:
    """Load PyTorch, which takes seconds, when training is asked for: by then the command line heeds signals."""
    if name not in __all__:
        raise AttributeError(name)
    try:
        from . import run
    except ModuleNotFoundError as error:
        raise missing_package(f"training needs {error.name}", "train", error) from None
    return getattr(run, name)
