"""What the configurations share: frozen, checked when made, and an identity that tells what the bytes depend on."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError

__all__ = ["FORMATS", "FREE", "Config"]

FORMATS = ("arrow-stream", "arrow-file", "parquet")
FREE: dict[str, Any] = {"identity": False}  # marks a field that the output's bytes do not depend on


@dataclass(frozen=True, kw_only=True)
class Config:
    """A frozen value that refuses what cannot work when it is made."""

    def identity(self) -> dict[str, Any]:
        """Return the fields that the output's bytes depend on."""
        fields = dataclasses.fields(self)
        values = {f.name: getattr(self, f.name) for f in fields if f.metadata.get("identity", True)}
        return {name: _plain(value) for name, value in values.items()}

    def sha256(self) -> str:
        """Hash the identity."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()

    def _require(self, condition: bool, problem: str) -> None:
        if not condition:
            raise UsageError(problem)


def _plain(value: Any) -> Any:
    """Return a field's value as JSON has it."""
    if isinstance(value, Config):
        return value.identity()
    return [_plain(each) for each in value] if isinstance(value, tuple) else value
