"""Optional libraries: what each extra of pyproject.toml requires, and the command that installs it.

Messages name the libraries themselves. `bertdata` on the package index is another project, so an extra of it would install that.
"""

from __future__ import annotations

import shlex

from .errors import StorageError, UsageError, system_limit

EXTRAS = {  # tests/test_packaging.py compares them with pyproject.toml; versions only where only some versions work
    "train": ("torch", "safetensors", "transformers"),
    "hub": ("universal_pathlib", "datasets", "huggingface_hub"),
    "fast": ("gigatoken>=0.10,<0.11",),
    "zstd": ("backports.zstd",),
    "chinese": ("jieba", "opencc"),
    "near": ("rensa>=0.5,<0.6",),
    "remote": ("universal_pathlib",),
    "s3": ("universal_pathlib", "s3fs"),
    "gs": ("universal_pathlib", "gcsfs"),
    "tensorboard": ("torch", "safetensors", "transformers", "tensorboard"),
    "transformers": ("transformers",),
    "dask": ("apache-beam[dask]",),
    "gcp": ("apache-beam[gcp]", "universal_pathlib", "gcsfs"),
}


def install(extra: str) -> str:
    """Return the command that installs the libraries of an extra.

    >>> install("chinese"), install("near")
    ('pip install jieba opencc', "pip install 'rensa>=0.5,<0.6'")
    """
    return shlex.join(("pip", "install", *EXTRAS[extra]))


def missing_package(where: str, extra: str, error: ImportError) -> UsageError | StorageError:
    """Return the error for a library that cannot be imported: where it is needed, what failed, and how to install it.

    A library that is installed can fail to load because too many files are open: that is a StorageError.
    """
    if advice := system_limit(error):
        return StorageError(f"{where}: {error}. {advice}, then run the same command again")
    return UsageError(f"{where}: {error}. Install it with: {install(extra)}")
