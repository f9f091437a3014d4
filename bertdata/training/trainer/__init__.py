"""Train BERT from shards to a checkpoint that Hugging Face loads.

done = bertdata.train("run.toml", "run")      # done.checkpoint is for from_pretrained
"""

from ...extras import missing_package

try:
    from .loop import Done, train
except ModuleNotFoundError as error:
    raise missing_package(f"training needs {error.name}", "train", error) from None

__all__ = ["Done", "train"]
