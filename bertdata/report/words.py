"""Say in words what a manifest counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["describe", "size"]


def size(count: int) -> str:
    """Return a number of bytes as people say it.

    >>> size(999), size(1_530_000)
    ('999 B', '1.5 MB')
    """
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def describe(manifest: dict[str, Any], directory: Path) -> str:
    """Return a few lines: what the data set holds, and what became of everything that went in."""
    lines = [f"{directory}: {_content(manifest)}"]
    for stage in manifest["counts"]:
        lines.append(f"  {stage['stage']}: {stage['in']:,} in, {stage['out']:,} out{_gone(stage)}")
    if statistics := manifest.get("statistics"):
        lines.append(
            f"  NotNext {statistics['not_next']:,} of {statistics['pairs']:,} ({statistics['not_next_share']:.4f}), mean length "
            f"{statistics['mean_length']:.1f}, padding {100 * statistics['padding_share']:.1f} %"
        )
        if repeated := statistics["repeated_ids"]:
            lines.append(f"  {repeated:,} documents have the id of another one: two dumps of one wiki?  They exchange no text.")
    if rejects := manifest.get("rejects"):
        lines.append(f"  rejects are listed in {directory}/rejects ({sum(file['rows'] for file in rejects):,})")
    return "\n".join(lines)


def _content(manifest: dict[str, Any]) -> str:
    if manifest["kind"] == "vocabulary":
        sample = manifest["sample"]
        return f"{manifest['size']:,} pieces from {sample['words']:,} words ({sample['distinct_words']:,} distinct)"
    total = size(sum(shard["bytes"] for shard in manifest["shards"]))
    return f"{manifest['rows']:,} {manifest['kind']} in {len(manifest['shards'])} shards, {total}"


def _gone(stage: dict[str, Any]) -> str:
    parts = []
    for key in ("dropped", "rejected"):
        if stage[key]:
            parts.append(f"; {key}: " + ", ".join(f"{reason} {count:,}" for reason, count in stage[key].items()))
    return "".join(parts)
