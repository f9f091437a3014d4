"""Train BERT from shards to a checkpoint that Hugging Face loads.

    done = bertdata.train("run.toml", "run")      # done.checkpoint is for from_pretrained

One idea per file: `model`, `optimizer`, `learner` (a step), `world` (processes), `checkpoint`, `loop`.
"""

from typing import TYPE_CHECKING, Any

from ...extras import missing_package

if TYPE_CHECKING:
    from .loop import Done, train

__all__ = ["Done", "train"]


def __getattr__(name: str) -> Any:
    """Import PyTorch, which takes seconds, only for training. By then, the command line has its signal handlers."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import loop
    except ModuleNotFoundError as error:
        raise missing_package(f"training needs {error.name}", "train", error) from None
    return getattr(loop, name)
