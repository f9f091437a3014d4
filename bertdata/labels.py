"""The label of a position whose token is not predicted."""

from __future__ import annotations

IGNORED = -100  # `ignore_index` of torch's cross_entropy
