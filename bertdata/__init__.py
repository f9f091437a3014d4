"""Build BERT pretraining corpora: raw Wikipedia dumps and books in, training shards out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .shards import Shards

__version__ = "0.1.0"
__all__ = ["Shards", "__version__"]


def __getattr__(name: str) -> Any:
    """Load `Shards` when it is asked for, and pyarrow with it; `import bertdata` alone loads neither."""
    if name == "Shards":
        from .shards import Shards

        return Shards
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
