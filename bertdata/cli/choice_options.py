"""Options of `build-corpus` that choose documents across the whole corpus."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import click

from ..config import DEDUP, ChoiceConfig, CorpusConfig

__all__ = ["choice_options", "take_choice"]

_DEFAULTS = ChoiceConfig()

F = TypeVar("F", bound=Callable[..., Any])


def choice_options(command: F) -> F:
    """Add the options."""
    for decorate in (
        click.option("--seed", type=int, default=_DEFAULTS.seed, show_default=True, help="Seed of what --mix and a sample draw."),
        click.option(
            "--max-documents",
            type=click.IntRange(min=0),
            default=CorpusConfig.max_documents,
            help="Stop after so many documents, an equal part from the beginning of each task: for a quick trial.",
        ),
        click.option(
            "--sample-documents",
            type=click.IntRange(min=0),
            default=_DEFAULTS.sample_documents,
            help="Draw exactly so many documents from all that are left; all where there are fewer.",
        ),
        click.option(
            "--mix",
            default=_DEFAULTS.mix,
            metavar="SHARES",
            help="Shares of the text by source, such as wikipedia=0.7,books=0.3: sources are thinned to meet them.",
        ),
        click.option("--dedup-paragraphs", is_flag=True, help="Drop long paragraphs that have occurred before."),
        click.option(
            "--near-threshold",
            type=float,
            default=_DEFAULTS.near_threshold,
            show_default=True,
            help="Similarity from which on --dedup near takes two documents for copies.",
        ),
        click.option(
            "--dedup",
            type=click.Choice(DEDUP),
            default=_DEFAULTS.dedup,
            show_default=True,
            help="Keep the first of documents with the same words, or with nearly the same.",
        ),
    ):
        command = decorate(command)
    return command


def take_choice(values: dict[str, Any]) -> ChoiceConfig:
    """Take these options out of a command's parameters."""
    return ChoiceConfig(**{field.name: values.pop(field.name) for field in dataclasses.fields(ChoiceConfig)})
