"""Configurations: BERT's defaults, refused when they can't work, equal when the bytes are equal."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

import bertdata
from bertdata.config import ChoiceConfig, CorpusConfig, ExportConfig, FilterConfig, PairsConfig, VocabConfig, read_toml
from bertdata.config.train import ModelConfig, OptimizerConfig, Phase, TrainConfig
from bertdata.errors import UsageError
from bertdata.training.masks import MaskConfig

KINDS = [CorpusConfig, VocabConfig, PairsConfig]


def test_the_defaults_are_those_of_bert() -> None:
    pairs, vocabulary = PairsConfig(), VocabConfig()
    assert (pairs.max_seq_length, pairs.short_seq_prob, pairs.seed) == (128, 0.1, 12345)
    assert (vocabulary.size, vocabulary.lowercase, vocabulary.strip_accents) == (30522, True, None)


def test_a_cased_vocabulary_keeps_accents_unless_asked() -> None:
    assert VocabConfig(lowercase=False).strip_accents is False
    assert VocabConfig(lowercase=False) == VocabConfig(lowercase=False, strip_accents=False)
    assert VocabConfig(lowercase=False, strip_accents=True).strip_accents is True


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_and_by_keyword_only(kind: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(kind(), dataclasses.fields(kind)[0].name, "x")
    with pytest.raises(TypeError):
        kind("arrow-stream")


@pytest.mark.parametrize(
    ("kind", "values", "problem"),
    [
        (CorpusConfig, {"definition_lists": "maybe"}, "`definition_lists`"),
        (CorpusConfig, {"task_bytes": 65535}, "`task_bytes`"),
        (CorpusConfig, {"max_page_bytes": 1023}, "`max_page_bytes`"),
        (CorpusConfig, {"max_rejects": 1.1}, "`max_rejects`"),
        (CorpusConfig, {"max_rejects": float("nan")}, "`max_rejects`"),
        (VocabConfig, {"layout": "other"}, "`layout`"),
        (VocabConfig, {"size": 63}, "`size`: use 64 to"),
        (VocabConfig, {"size": 2047, "layout": "bert"}, "`size`: use 2,048 to"),
        (VocabConfig, {"size": (1 << 20) + 1}, "`size`"),
        (VocabConfig, {"min_frequency": 0}, "`min_frequency`"),
        (VocabConfig, {"alphabet": 0}, "`alphabet`"),
        (VocabConfig, {"sample_bytes": 1023}, "`sample_bytes`"),
        (PairsConfig, {"max_seq_length": 15}, "`max_seq_length`"),
        (PairsConfig, {"max_seq_length": 65537}, "`max_seq_length`"),
        (PairsConfig, {"short_seq_prob": -0.1}, "`short_seq_prob`"),
        (PairsConfig, {"short_seq_prob": float("nan")}, "`short_seq_prob`"),
        (PairsConfig, {"shards": -1}, "`shards`"),
        (PairsConfig, {"shards": 100000}, "`shards`"),
    ],
)
def test_what_cannot_work_is_refused_by_its_field(kind: Any, values: dict[str, Any], problem: str) -> None:
    with pytest.raises(UsageError, match=f"^{problem}") as caught:
        kind(**values)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("kind", KINDS)
def test_identity_survives_json_and_makes_an_equal_configuration(kind: Any) -> None:
    config = kind(size=100) if kind is VocabConfig else kind(task_bytes=1 << 20) if kind is CorpusConfig else kind(seed=7)
    again = json.loads(json.dumps(config.identity()))
    assert again == config.identity()
    if kind is CorpusConfig:
        again |= {name: tuple(again[name]) for name in ("templates", "exclude")}  # only digests are told: of none, nothing
        bounds = {name: tuple(value) if isinstance(value, list) else value for name, value in again["filters"].items()}
        again |= {"filters": FilterConfig(**bounds), "choice": ChoiceConfig(**again["choice"])}
    assert kind(**again) == config and kind(**again).sha256() == config.sha256()


@pytest.mark.parametrize(
    ("kind", "free", "bound"),
    [
        (
            CorpusConfig,
            {"max_rejects": 0.9},
            {"definition_lists": "keep", "variant": "zh-tw", "task_bytes": 1 << 17, "language": "de"},
        ),
        (
            VocabConfig,
            {},
            {"size": 99, "lowercase": False, "strip_accents": False, "sample_bytes": 4096, "seed": 2, "min_frequency": 3},
        ),
        (PairsConfig, {"bucket_bytes": 1 << 20}, {"max_seq_length": 64, "short_seq_prob": 0.2, "seed": 2, "provenance": True}),
    ],
)
def test_the_hash_changes_with_what_the_bytes_depend_on_only(kind: Any, free: dict[str, Any], bound: dict[str, Any]) -> None:
    assert kind(**free).sha256() == kind().sha256()
    hashes = {kind().sha256(), *(kind(**{name: value}).sha256() for name, value in bound.items())}
    assert len(hashes) == len(bound) + 1


def test_toml(tmp_path: Path) -> None:
    path = tmp_path / "bertdata.toml"
    path.write_text("[make-pairs]\nmax_seq_length = 64\nseed = 7\n", encoding="utf-8")
    assert PairsConfig(**read_toml(path)["make-pairs"]) == PairsConfig(max_seq_length=64, seed=7)


@pytest.mark.parametrize("content", [b"[make-pairs\n", b"x = \n", b"\xff\xfe", None])
def test_a_bad_toml_file_is_a_usage_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "bertdata.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"bertdata\.toml"):
        read_toml(path)


@pytest.mark.parametrize(
    ("kind", "values", "told"),
    [
        (CorpusConfig, {"language": 3}, "`language` is 3: expected text"),
        (CorpusConfig, {"inline_templates": "yes"}, "`inline_templates` is 'yes': expected true or false"),
        (CorpusConfig, {"max_documents": True}, "`max_documents` is True: expected an integer"),
        (CorpusConfig, {"max_rejects": None}, "`max_rejects` is None: expected a number"),
        (CorpusConfig, {"templates": "own.toml"}, "`templates` is 'own.toml': expected a list of (text, text)"),
        (CorpusConfig, {"filters": {"min_letters": 0.1}}, "`filters` is {'min_letters': 0.1}: expected FilterConfig"),
        (FilterConfig, {"languages": "en"}, "`languages` is 'en': expected a list of text"),
        (FilterConfig, {"languages": ["en", 3]}, "`languages` is ['en', 3]: expected a list of text"),
        (ChoiceConfig, {"seed": "x" * 99}, "`seed` is 'xxxx"),
        (VocabConfig, {"size": "30522"}, "`size` is '30522': expected an integer"),
        (VocabConfig, {"strip_accents": "no"}, "`strip_accents` is 'no': expected true or false or None"),
        (PairsConfig, {"masked_lm_prob": "much"}, "`masked_lm_prob` is 'much': expected a number or None"),
        (ExportConfig, {"to": ["jsonl"]}, "`to` is ['jsonl']: expected text"),
        (MaskConfig, {"masked_lm_prob": "x"}, "`masked_lm_prob` is 'x': expected a number"),
        (MaskConfig, {"masked_lm_prob": -0.1}, "`masked_lm_prob` is -0.1: use a share up to 1, or 0 for unmasked rows"),
        (MaskConfig, {"unit": "letter"}, "`unit` letter: use one of piece, word"),
        (MaskConfig, {"mask_shares": "80/10"}, "`mask_shares` 80/10: use three shares"),
        (MaskConfig, {"max_predictions": -1}, "`max_predictions` is -1: use 1 or more"),
        (Phase, {"shards": "pairs", "steps": 1}, "`shards` is 'pairs': expected a list of text"),
        (TrainConfig, {"phases": "pairs"}, "`phases` is 'pairs': expected a list of Phase"),
        (ModelConfig, {"hidden_size": 768.0}, "`hidden_size` is 768.0: expected an integer"),
        (OptimizerConfig, {"learning_rate": "1e-4"}, "`learning_rate` is '1e-4': expected a number"),
    ],
)
def test_a_value_of_another_type_is_refused_when_it_is_made(kind: Any, values: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind(**values)
    assert str(caught.value).startswith(told) and len(str(caught.value)) < 160
    assert caught.value.field == told.split("`")[1] and caught.value.value == values[caught.value.field]


def test_a_list_will_do_where_a_tuple_is_kept() -> None:
    assert FilterConfig(languages=["en", "de"]) == FilterConfig(languages=("en", "de"))  # type: ignore[arg-type]
    assert hash(Phase(shards=["pairs"], steps=1, weights=[1, 2.5])) == hash(Phase(shards=("pairs",), steps=1, weights=(1, 2.5)))  # type: ignore[arg-type]


def test_a_configuration_of_another_kind_is_refused_at_the_call(tmp_path: Path) -> None:
    (tmp_path / "tea.txt").write_text("Tea is a drink.")
    with pytest.raises(UsageError, match="the configuration is {'language': 'en'}: expected CorpusConfig or None"):
        bertdata.build_corpus(text=tmp_path / "tea.txt", output=tmp_path / "corpus", config={"language": "en"})  # type: ignore[arg-type]
    assert not (tmp_path / "corpus").exists()
