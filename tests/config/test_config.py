"""Configurations: BERT's defaults, invalid values refused, equal identities for equal bytes, one definition of each option."""

from __future__ import annotations

import dataclasses
import inspect
import json
import typing
from pathlib import Path
from typing import Any

import pytest
from conftest import read_rows

import bertdata
from bertdata.config import ChoiceConfig, CorpusConfig, ExportConfig, FilterConfig, PairsConfig, VocabConfig, read_toml
from bertdata.config.base import Config, hints_of, options_of
from bertdata.config.train import OptimizerConfig, Phase, TrainConfig, read_training
from bertdata.errors import UsageError
from bertdata.training.masks import MaskConfig

KINDS = [CorpusConfig, VocabConfig, PairsConfig, ExportConfig]
ALL = [*KINDS, ChoiceConfig, FilterConfig, MaskConfig, OptimizerConfig, Phase, TrainConfig]
REQUIRED = {Phase: {"shards": ["x"], "steps": 1}, TrainConfig: {"phases": [{"shards": ["x"], "steps": 1}]}}


def test_the_defaults_are_those_of_bert() -> None:
    pairs, vocabulary = PairsConfig(), VocabConfig()
    assert (pairs.max_seq_length, pairs.short_seq_prob, pairs.seed) == (128, 0.1, 12345)
    assert (vocabulary.size, vocabulary.lowercase, vocabulary.strip_accents) == (30522, True, None)
    assert VocabConfig(lowercase=False) == VocabConfig(lowercase=False, strip_accents=False)


@pytest.mark.parametrize("kind", KINDS)
def test_frozen_and_by_keyword_only(kind: Any) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(kind(), dataclasses.fields(kind)[0].name, "x")
    with pytest.raises(TypeError):
        kind("arrow-stream")


WRONG: list[tuple[Any, dict[str, Any], str]] = [
    (ChoiceConfig, {"dedup": "exakt"}, "`dedup` is 'exakt': use one of none, exact, near: did you mean 'exact'?"),
    (CorpusConfig, {"task_bytes": 65535}, "`task_bytes` is 65535: use 65,536 or more"),
    (CorpusConfig, {"max_page_bytes": 1023}, "`max_page_bytes` is 1023: expected an integer >= 1024"),
    (CorpusConfig, {"max_rejects": 1.1}, "`max_rejects` is 1.1: expected a number <= 1.0"),
    (CorpusConfig, {"language": 3}, "`language` is 3: expected text, got an integer"),
    (CorpusConfig, {"learn_templates": "yes"}, "`learn_templates` is 'yes': expected true or false"),
    (CorpusConfig, {"max_documents": True}, "`max_documents` is True: expected an integer, got true or false"),
    (CorpusConfig, {"max_rejects": None}, "`max_rejects` is None: expected a number, got None"),
    (CorpusConfig, {"templates": "own.toml"}, "`templates` is 'own.toml': expected a list"),
    (CorpusConfig, {"encoding": "gb18300"}, "`encoding` gb18300: no such encoding"),
    (FilterConfig, {"languages": "en"}, "`languages` is 'en': expected a list, got text"),
    (FilterConfig, {"languages": ["en", 3]}, "`languages` at [1] is ['en', 3]: expected text"),
    (FilterConfig, {"languages": ["english"]}, "`languages`: 'english' is not a language code. Use en"),
    (ChoiceConfig, {"seed": "x" * 99}, "`seed` is 'xxxx"),
    (ChoiceConfig, {"seed": 1 << 70}, "`seed` is 1180591620717411303424: expected an integer <="),
    (ChoiceConfig, {"max_words": "1__0"}, "`max_words` 1__0: write a number over 0"),
    (ChoiceConfig, {"max_words": "0"}, "`max_words` 0: write a number over 0"),
    (ChoiceConfig, {"mix": "wikipedia=nan"}, "`mix` wikipedia=nan: write each source once"),
    (VocabConfig, {"size": 63}, "`size` is 63: expected an integer >= 64"),
    (VocabConfig, {"size": 2047, "layout": "bert"}, "`size`: use 2,048 or more"),
    (VocabConfig, {"size": "30522"}, "`size` is '30522': expected an integer, got text"),
    (VocabConfig, {"strip_accents": "no"}, "`strip_accents` is 'no': expected true or false or None"),
    (VocabConfig, {"extra_tokens": ["tea"]}, "`extra_tokens`: 'tea' is not a valid token: "),
    (VocabConfig, {"extra_tokens": ["[MASK]"]}, "`extra_tokens`: '[MASK]' is repeated or reserved"),
    (VocabConfig, {"extra_tokens": ["[a b]"]}, "`extra_tokens`: '[a b]' is not a valid token"),
    (VocabConfig, {"model": "bpe", "size": 200}, "`size`: use 293 or more"),
    (PairsConfig, {"max_seq_length": 15}, "`max_seq_length` is 15: expected an integer >= 16"),
    (PairsConfig, {"shards": 100000}, "`shards` is 100000: expected an integer <= 99999"),
    (PairsConfig, {"objective": "causal", "masking": "static"}, "`masking` static does nothing"),
    (PairsConfig, {"whole_word": True}, "`whole_word` does nothing with `masking` none"),
    (PairsConfig, {"masking": "static", "mask_shares": "nan/50/50"}, "`mask_shares` nan/50/50: use three shares"),
    (MaskConfig, {"unit": "letter"}, "`unit` is 'letter': use one of piece, word"),
    (MaskConfig, {"mask_shares": "80/10"}, "`mask_shares` 80/10: use three shares"),
    (Phase, {"shards": [], "steps": 1}, "`shards` is []: expected a list of length >= 1"),
    (TrainConfig, {"phases": "pairs"}, "`phases` is 'pairs': expected a list"),
    (OptimizerConfig, {"learning_rate": 0.0}, "`learning_rate` is 0.0: expected a number > 0"),
]


@pytest.mark.parametrize(("kind", "values", "says"), WRONG, ids=lambda value: str(value)[:40])
def test_what_cannot_work_is_refused_by_its_field(kind: Any, values: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError) as caught:
        kind(**values)
    assert str(caught.value).startswith(says) and len(str(caught.value)) < 180
    assert caught.value.exit_code == 2 and caught.value.field in {"", *values}


@pytest.mark.parametrize("kind", ALL)
def test_no_number_can_be_nan_or_infinite(kind: Any) -> None:
    for name, hint in hints_of(kind).items():
        if hint is float or float in typing.get_args(hint) or "float" in str(hint):
            for value in (float("nan"), float("inf")):
                with pytest.raises(UsageError, match=f"`{name}`"):
                    kind(**REQUIRED.get(kind, {}) | {name: [value] if "tuple" in str(hint) else value})


@pytest.mark.parametrize("kind", KINDS)
def test_identity_survives_json_and_makes_an_equal_configuration(kind: Any) -> None:
    values = {VocabConfig: {"size": 100}, CorpusConfig: {"task_bytes": 1 << 20}, PairsConfig: {"seed": 7}}
    config = kind(**values.get(kind, {}))
    again = json.loads(json.dumps(config.identity()))
    assert again == config.identity() and kind.of(again | {"of_another_version": 1}) == config


@pytest.mark.parametrize(
    ("kind", "free", "bound"),
    [
        (CorpusConfig, {"max_rejects": 0.9}, {"math": "tex", "variant": "zh-tw", "map_functions": ("a:b",)}),
        (VocabConfig, {}, {"size": 99, "lowercase": False, "strip_accents": False, "sample_bytes": 4096, "seed": 2}),
        (PairsConfig, {"bucket_bytes": 1 << 20}, {"max_seq_length": 64, "short_seq_prob": 0.2, "seed": 2, "provenance": True}),
    ],
)
def test_the_identity_changes_with_what_the_bytes_depend_on_only(kind: Any, free: dict[str, Any], bound: dict[str, Any]) -> None:
    assert kind(**free).identity() == kind().identity()
    different = [kind().identity(), *(kind(**{name: value}).identity() for name, value in bound.items())]
    assert len({json.dumps(identity) for identity in different}) == len(bound) + 1


def test_keywords_replace_fields_of_a_configuration() -> None:
    assert PairsConfig.with_options(None, {"objective": "sop", "seed": 3}) == PairsConfig(objective="sop", seed=3)
    nested = CorpusConfig.with_options(CorpusConfig(math="tex"), {"dedup": "near"})
    assert (nested.choice.dedup, nested.math) == ("near", "tex")
    assert PairsConfig.with_options(PairsConfig(seed=3), {"objective": "documents"}).short_seq_prob == 0.0
    with pytest.raises(TypeError, match=r"'max_seq_lenght'.*max_seq_length"):
        PairsConfig.with_options(None, {"max_seq_lenght": 64})
    with pytest.raises(UsageError, match="the configuration is {'language': 'en'}: expected CorpusConfig or None"):
        CorpusConfig.with_options({"language": "en"})  # type: ignore[arg-type]


def test_a_configuration_and_keywords_are_combined_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tea.jsonl").write_text('{"id": 1, "text": "Tea is a drink."}\n{"id": 2, "text": "Cake is sweet."}\n')
    (tmp_path / "ids.txt").write_text("tea.jsonl:1\n")
    function = "def shout(document):\n    return document._replace(sentences=[each.upper() for each in document.sentences])\n"
    (tmp_path / "mine_for_config.py").write_text(function)
    monkeypatch.syspath_prepend(tmp_path)
    config = CorpusConfig(id_column="id", map_functions=("mine_for_config:shout",))
    source, output = tmp_path / "tea.jsonl", tmp_path / "corpus"
    made = bertdata.build_corpus(text=source, output=output, config=config, exclude_ids=tmp_path / "ids.txt", workers=1)
    assert [row["sentences"] for row in read_rows(made.path)] == [["CAKE IS SWEET."]]


def test_toml_takes_dashes_and_a_string_for_a_list(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text("batch-size = 8\nphases = [{ shards = 'pairs', steps = 9, batch-size = 4 }]\n")
    config = read_training(tmp_path / "run.toml")
    assert (config.batch_size, config.phases[0].batch_size, config.phases[0].shards) == (8, 4, ("pairs",))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "[optimizer]\nlerning_rate = 3\n[[phases]]\nshards = 'x'\nsteps = 1",
            "run.toml: optimizer: unknown key lerning_rate: did",
        ),
        ("", "run.toml: phases is missing"),
        ("[[phases]]\nshards = 'x'", "run.toml: phases[0]: steps is missing"),
        ("[[phases]]\nshards = 'x'\nsteps = 0", "run.toml: phases[0]: `steps` is 0: expected an integer >= 1"),
        ("phases = 3", "run.toml: `phases` is 3: expected a list"),
        ("[[phases]]\nshards = 'x'\nsteps = 1\n[optimizer]\nbeta_1 = nan", "run.toml: optimizer: `beta_1` is nan"),
    ],
)
def test_an_error_of_a_toml_file_names_file_and_key(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_training("run.toml")
    assert str(caught.value).startswith(says)


@pytest.mark.parametrize("content", [b"[make-pairs\n", b"x = \n", b"\xff\xfe", b"#" * (2 << 20), None])
def test_a_bad_toml_file_is_a_usage_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "bertdata.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=r"bertdata\.toml"):
        read_toml(path)


@pytest.mark.parametrize("kind", KINDS)
def test_help_of_a_configuration_explains_its_options(kind: type[Config]) -> None:
    text = "".join(inspect.getdoc(each) or "" for each in (kind, ChoiceConfig, FilterConfig))
    assert options_of(kind) and all(f"\n{name}: {option.help}" in text for name, option in options_of(kind).items())
