"""The trainer: BERT from shards to a checkpoint that Hugging Face loads.

    from bertdata.config.train import read_training
    done = bertdata.trainer.train(read_training("run.toml"), "run")      # done.checkpoint is for from_pretrained

One file, one idea: `model`, `optimizer`, `learner` (a step), `world` (processes), `checkpoint`, `run` (the loop).
"""

try:
    from .run import Done, train
except ModuleNotFoundError as error:
    from ..errors import UsageError

    raise UsageError(f"training needs {error.name}: pip install 'bertdata[train]'") from error

__all__ = ["Done", "train"]
