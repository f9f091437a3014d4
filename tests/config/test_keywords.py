"""Every option of a command is a keyword of its function, with the same name and type."""

from __future__ import annotations

import inspect
import typing
from pathlib import Path

import pytest

import bertdata
from bertdata.config import ChoiceConfig, CorpusConfig, FilterConfig, PairsConfig, VocabConfig
from bertdata.config.base import Config, options_of
from bertdata.config.keywords import CorpusOptions, PairsOptions, VocabOptions
from bertdata.errors import UsageError

KINDS = [
    (CorpusOptions, (CorpusConfig, FilterConfig, ChoiceConfig), {"templates", "exclude", "exclude_ids", "depends_on"}),
    (VocabOptions, (VocabConfig,), set()),
    (PairsOptions, (PairsConfig,), set()),
]
WIDER = {"namespaces", "languages", "max_seq_length", "extra_tokens"}  # keywords that accept more types than the field


@pytest.mark.parametrize(("keywords", "configs", "files"), KINDS, ids=lambda each: getattr(each, "__name__", ""))
def test_keywords_are_the_options_of_the_configurations(
    keywords: typing.Any, configs: tuple[type[Config], ...], files: set[str]
) -> None:
    found = typing.get_type_hints(keywords)
    expected = {name: typing.get_type_hints(kind)[name] for kind in configs for name in options_of(kind)}
    assert found.keys() - files == expected.keys()
    assert {name: found[name] for name in expected.keys() - WIDER} == {name: expected[name] for name in expected.keys() - WIDER}


def test_options_are_passed_as_keywords_or_in_a_config() -> None:
    assert PairsConfig.with_options(None, {"objective": "sop", "seed": 3}) == PairsConfig(objective="sop", seed=3)
    assert VocabConfig.with_options(None, {"model": "bpe"}) == VocabConfig(model="bpe")
    nested = CorpusConfig.with_options(None, {"dedup": "near", "min_characters": 9, "math": "tex"})
    assert (nested.choice.dedup, nested.filters.min_characters, nested.math) == ("near", 9, "tex")
    with pytest.raises(UsageError, match="pass `config` or keyword options, not both") as error:
        PairsConfig.with_options(PairsConfig(), {"seed": 3})
    assert error.value.field == "seed"
    with pytest.raises(TypeError, match="'max_seq_lenght'.*max_seq_length"):
        PairsConfig.with_options(None, {"max_seq_lenght": 64})


def test_help_of_a_configuration_explains_its_options() -> None:
    text = inspect.getdoc(PairsConfig) or ""
    assert "\nmax_seq_length: Row length in tokens, including [CLS] and [SEP]." in text
    assert all(f"\n{name}: " in text for name in options_of(PairsConfig))


@pytest.mark.slow
def test_several_lengths_make_a_dataset_each(sample_corpus: Path, tmp_path: Path) -> None:
    vocab = bertdata.train_vocab(sample_corpus, output=tmp_path / "vocab", size=8000, workers=1)
    made = bertdata.make_pairs(
        sample_corpus,
        vocab=vocab.path,
        output=tmp_path / "pairs",
        max_seq_length=(160, 192),
        objective="documents",
        masking="static",
        max_predictions=140,  # more than the default length
        workers=1,
    )
    assert [(each.path.name, each.manifest.config["max_seq_length"]) for each in made] == [("pairs-160", 160), ("pairs-192", 192)]
    with pytest.raises(UsageError, match="not both"):
        bertdata.make_pairs(sample_corpus, vocab=vocab.path, output=tmp_path, config=PairsConfig(), max_seq_length=64)
    (one,) = bertdata.make_pairs(sample_corpus, vocab=vocab.path, output=tmp_path / "one", max_seq_length=128, workers=1)
    assert one.manifest.config["max_seq_length"] == 128 and one.manifest.config["objective"] == "nsp"
