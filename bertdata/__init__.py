"""Build BERT pretraining corpora: raw Wikipedia dumps and books in, training shards out."""

__version__ = "0.1.0"
__all__ = ["__version__"]
