"""Optional libraries: what each extra of pyproject.toml is for, and the command that installs it.

    install("train")                 pip install torch safetensors
    install("near")                  pip install 'rensa>=0.5,<0.6'

Messages name the libraries themselves. `bertdata` on the package index is another project, so an extra of it would install that.
"""

from __future__ import annotations

import shlex
from importlib.util import find_spec
from typing import NamedTuple

from .errors import StorageError, UsageError, system_limit


class Extra(NamedTuple):
    """A group of optional libraries.

    purpose: the feature, as `bertdata doctor` shows it.
    requirements: what `pip install` takes, with a version where only some versions work.
    modules: the imported modules.
    """

    purpose: str
    requirements: tuple[str, ...]
    modules: tuple[str, ...]


EXTRAS = {  # tests/test_packaging.py compares the requirements with pyproject.toml
    "train": Extra("bertdata train and the loader", ("torch", "safetensors"), ("torch", "safetensors")),
    "hub": Extra(
        "datasets of the Hub",
        ("universal_pathlib", "datasets", "huggingface_hub"),
        ("huggingface_hub", "datasets", "upath"),
    ),
    "fast": Extra("fast byte-level BPE", ("gigatoken>=0.10,<0.11",), ("gigatoken",)),
    "zstd": Extra("input as .zst", ("backports.zstd",), ("backports.zstd",)),
    "chinese": Extra("words of Chinese", ("jieba", "opencc"), ("jieba", "opencc")),
    "near": Extra("--dedup near", ("rensa>=0.5,<0.6",), ("rensa",)),
    "remote": Extra("URLs of other stores", ("universal_pathlib",), ("upath",)),
    "s3": Extra("s3://", ("universal_pathlib", "s3fs"), ("s3fs", "upath")),
    "gs": Extra("gs://", ("universal_pathlib", "gcsfs"), ("gcsfs", "upath")),
    "tensorboard": Extra("curves in TensorBoard", ("torch", "safetensors", "tensorboard"), ("tensorboard",)),
    "transformers": Extra("use of checkpoints, vocabularies without a tokenizer.json", ("transformers",), ("transformers",)),
    "dask": Extra("runs on Dask", ("apache-beam[dask]",), ("dask", "distributed")),
    "spark": Extra("runs on Spark, with beam-pyspark-runner", ("pyspark>=3.5,<4",), ("pyspark",)),
    "gcp": Extra("runs on Dataflow", ("apache-beam[gcp]", "universal_pathlib", "gcsfs"), ("google.cloud.storage", "apitools")),
}


def install(extra: str) -> str:
    """Return the command that installs the libraries of an extra.

    >>> install("chinese"), install("spark")
    ('pip install jieba opencc', "pip install 'pyspark>=3.5,<4'")
    """
    return shlex.join(("pip", "install", *EXTRAS[extra].requirements))


def missing(modules: tuple[str, ...]) -> list[str]:
    """Return the modules that are not installed. Of a submodule this imports the package around it.

    >>> missing(("json", "json.no_such_module", "no_such_package.module"))
    ['json.no_such_module', 'no_such_package.module']
    """

    def is_missing(module: str) -> bool:
        try:
            return find_spec(module) is None
        except (ImportError, ValueError):
            return True

    return [module for module in modules if is_missing(module)]


def missing_package(where: str, extra: str, error: ImportError) -> UsageError | StorageError:
    """Return the error for a library that cannot be imported: where it is needed, what failed, and how to install it.

    A library that is installed can fail to load because too many files are open: that is a StorageError.
    """
    if advice := system_limit(error):
        return StorageError(f"{where}: {error}. To fix it, {advice}, then run the same command again")
    return UsageError(f"{where}: {error}. Install it with: {install(extra)}")
