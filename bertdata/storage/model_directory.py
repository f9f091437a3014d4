"""Find the directory of a model of `transformers`: a directory of this machine, or a model of the Hugging Face Hub.

    model_directory("answerdotai/ModernBERT-base")      # downloads its configuration and tokenizer, once

The Hub's files are in the cache of `huggingface_hub`, which other programs share.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import UsageError
from ..extras import missing_package
from .files import to_path

_FILES = ("*.json", "*.txt", "*.model")  # configuration and tokenizer
_WEIGHTS = ("model*.safetensors",)  # no pickles
_OF_FILES = (".json", ".txt")  # of a configuration or vocabulary, whose path is wrong if its folder does not exist


def model_directory(name: str | Path, *, weights: bool = False) -> Path:
    """Return the directory of a model. Download it if `name` is OWNER/MODEL and the directory OWNER does not exist.

    Args:
        name: A path, or the name of a model of the Hub.
        weights: Download the weights, too.

    Raises:
        UsageError: The Hub does not have the model, or cannot be reached and its cache does not have the files.
    """
    path = to_path(name)
    parts = str(name).split("/")
    is_name = len(parts) == 2 and all(part[:1].isalnum() for part in parts) and path.suffix not in _OF_FILES
    if not is_name or path.parent.exists():
        return path
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise missing_package(f"{name}: no such directory. A model of the Hub needs huggingface_hub", "hub", error) from None
    try:
        patterns = [*_FILES, *(_WEIGHTS if weights else ())]
        return Path(snapshot_download(str(name), allow_patterns=patterns, ignore_patterns="*/*"))
    except (OSError, ValueError) as error:  # errors of huggingface_hub are OSErrors, or ValueErrors about the name
        why = " ".join(str(error).split())[:300]
        raise UsageError(
            f"{name}: no such directory, and no model of that name could be downloaded from the Hugging Face Hub ({why}). "
            "Check the name and the network, or pass the directory of a model"
        ) from error
