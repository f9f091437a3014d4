"""Batches for models of `transformers`: a document of a packed row gets the logits it gets alone, or the rows are refused."""

from __future__ import annotations

import inspect
import pickle
from pathlib import Path
from typing import Any

import pytest
from conftest import Build

from bertdata.dataset.rows import Shards
from bertdata.errors import UsageError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from bertdata.training import attention, loader  # noqa: E402
from bertdata.training.models import SEPARATES_DOCUMENTS, target_of  # noqa: E402

LENGTH, SAME, OTHER = 96, 1e-5, 1e-2
PACKED = sorted(SEPARATES_DOCUMENTS - {"BertForPreTraining"})
CLASSES = [*PACKED, "BertForPreTraining", "AlbertForPreTraining", "DebertaV2ForMaskedLM"]
pytestmark = pytest.mark.filterwarnings("default")  # those of transformers are not ours
Batch = dict[str, Any]


@pytest.fixture(scope="module")
def rows(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shards]:
    """Rows of the sample: "sop" is not packed, "packed sop" is."""
    root, common = tmp_path_factory.mktemp("rows"), ("--vocab", sample_vocab, "--max-seq-length", LENGTH)
    found = {}
    for objective in ("nsp", "sop", "documents", "causal"):
        for prefix, pack in (("", ()), ("packed ", ("--pack",))):
            name = f"{prefix}{objective}"
            found[name] = Shards(build("make-pairs", root / name, sample_corpus, *common, "--objective", objective, *pack))
    return found


def _model(name: str, vocab_size: int, kind: str = "eager", **changes: Any) -> Any:
    """A small model of the class, with weights so large that a wrong mask or position changes its logits."""
    cls = getattr(transformers, name)
    long = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 48, "num_hidden_layers": 3}
    sizes: Any = {
        "GPT2Config": {"n_embd": 32, "n_head": 2, "n_layer": 3, "n_positions": LENGTH},
        "DistilBertConfig": {"dim": 32, "n_heads": 2, "hidden_dim": 48, "n_layers": 3, "max_position_embeddings": LENGTH},
        "AlbertConfig": {**long, "embedding_size": 16, "max_position_embeddings": LENGTH},
        "ElectraConfig": {**long, "embedding_size": 16, "max_position_embeddings": LENGTH},
        "ModernBertConfig": {**long, "num_hidden_layers": 4, "local_attention": 16, "max_position_embeddings": LENGTH},
        "DebertaV2Config": {**long, "type_vocab_size": 2, "max_position_embeddings": LENGTH},
        "RoFormerConfig": {**long, "max_position_embeddings": 16 * LENGTH},
    }.get(cls.config_class.__name__, {**long, "max_position_embeddings": LENGTH + 1})
    common = {"vocab_size": vocab_size, "pad_token_id": 0, "initializer_range": 0.1, "attn_implementation": kind}
    torch.manual_seed(1)
    return cls(cls.config_class(**common | sizes | changes)).eval()


def _kinds(name: str) -> list[str]:
    return ["eager", "sdpa"] if getattr(transformers, name)._supports_sdpa else ["eager"]


def _rows_for(name: str, rows: dict[str, Shards]) -> Shards:
    """Packed rows that the class can learn from, with segments where it has these."""
    target = target_of(_model(name, 100))
    return rows["packed causal" if target.causal else "packed sop" if target.has_segments else "packed documents"]


def _documents(shards: Shards, unpadded: bool) -> tuple[Batch, Any, list[Batch]]:
    """A batch as the loader gives it, the number of each token's document, and the arguments of each document alone."""
    padded = loader.batches(shards, 4, for_model="custom", unpadded=unpadded)
    batch, flat = next(
        both for both in zip(padded, loader.batches(shards, 4, unpadded=True), strict=True) if len(both[1]["cu_seqlens"]) > 6
    )
    bounds = flat["cu_seqlens"].tolist()
    names = [name for name in ("input_ids", "token_type_ids") if name in flat]
    alone = [{name: flat[name][None, s:e] for name in names} for s, e in zip(bounds[:-1], bounds[1:], strict=True)]
    return batch, attention.documents_of(batch["cu_seqlens"]) if unpadded else batch["document_ids"], alone


@pytest.mark.parametrize("unpadded", [False, True], ids=["padded", "unpadded"])
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in PACKED for kind in _kinds(name)])
@torch.no_grad()
def test_packed_logits_equal_single_ones(rows: dict[str, Shards], name: str, kind: str, unpadded: bool) -> None:
    shards = _rows_for(name, rows)
    model = _model(name, shards.vocab_size, kind)
    batch, documents, alone = _documents(shards, unpadded)
    arguments = attention.for_transformers(batch, model)
    assert arguments.keys() <= set(inspect.signature(model.forward).parameters)
    assert ("token_type_ids" in arguments) == (target_of(model).has_segments and not target_of(model).causal)
    found = model(**arguments).logits[documents > 0]
    wanted = torch.cat([model(**each).logits[0] for each in alone])
    assert (found - wanted).abs().max() < SAME
    blind = model(**{**arguments, "attention_mask": None}).logits[documents > 0]
    assert (blind - wanted).abs().max() > OTHER, "without the mask documents see each other"


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in PACKED for kind in _kinds(name)])
@torch.no_grad()
def test_what_later_tokens_change(rows: dict[str, Shards], name: str, kind: str) -> None:
    """Later tokens of a causal row change nothing before them; of a masked row they change their own document alone."""
    shards = _rows_for(name, rows)
    model = _model(name, shards.vocab_size, kind)
    batch, documents, _ = _documents(shards, unpadded=False)
    row = int((documents.amax(1) >= 2).nonzero()[0])  # of two documents or more
    second = (documents[row] == 2).nonzero()[:, 0]
    middle = int(second[len(second) // 2])
    changed = batch["input_ids"].clone()
    changed[row, middle:] = (changed[row, middle:] + 7) % 1000 + 50
    before, after = (
        model(**attention.for_transformers({**batch, "input_ids": ids}, model)).logits[row]
        for ids in (batch["input_ids"], changed)
    )
    differs = (before - after).abs().amax(-1)
    assert differs[documents[row] == 1].max() < SAME, "the first document sees the second"
    start = differs[int(second[0]) : middle]
    assert start.max() < SAME if target_of(model).causal else start.min() > SAME


@pytest.mark.parametrize("name", CLASSES)
def test_a_loader_for_a_model_gives_its_arguments(rows: dict[str, Shards], name: str) -> None:
    """By the model and, for rows that are not packed, by its class and name: the loss is that of the labels."""
    shards = rows["causal" if "LMHead" in name else "sop"]
    model = _model(name, shards.vocab_size)
    batches = [next(iter(loader.batches(shards, 4, for_model=given))) for given in (model, name, type(model))]
    generic = next(iter(loader.batches(shards, 4)))
    for batch in batches:
        assert batch.keys() <= set(inspect.signature(model.forward).parameters)
        assert all(torch.equal(batch[key], batches[0][key]) for key in batch)
        assert torch.equal(batch["labels"], generic["labels"])
        if label := target_of(model).pair_label:
            assert torch.equal(batch[label], generic["next_sentence_label"])
        assert torch.isfinite(model(**batch).loss)


def test_sliding_layers_of_modernbert_get_their_own_mask(rows: dict[str, Shards]) -> None:
    shards = rows["packed documents"]
    masks = next(iter(loader.batches(shards, 4, for_model=_model("ModernBertForMaskedLM", shards.vocab_size, "sdpa"))))
    full, sliding = masks["attention_mask"]["full_attention"], masks["attention_mask"]["sliding_attention"]
    assert full.dtype == torch.bool and (sliding <= full).all()
    assert not sliding[0, 0, 0, 9:].any() and sliding[0, 0, 0, :9].equal(full[0, 0, 0, :9])


@pytest.mark.parametrize("workers", [0, 1])
def test_packed_batches_for_a_model_come_from_workers_too(rows: dict[str, Shards], workers: int) -> None:
    shards = rows["packed causal"]
    model = _model("GPT2LMHeadModel", shards.vocab_size, "sdpa")
    made = loader.batches(shards, 4, steps=2, for_model=model, workers=workers)
    custom = loader.batches(shards, 4, steps=2, for_model="custom")
    assert len(pickle.dumps(made.dataset)) < 10_000, "weights do not go to worker processes"
    for batch, generic in zip(made, custom, strict=True):
        wanted = attention.for_transformers(generic, model)
        assert batch.keys() == wanted.keys() and all(torch.equal(batch[name], wanted[name]) for name in batch)


def test_flash_attention_gets_the_arguments_of_the_flattening_collator(rows: dict[str, Shards]) -> None:
    collate = transformers.DataCollatorWithFlattening(return_flash_attn_kwargs=True)
    shards = rows["packed documents"]
    model = _model("BertForMaskedLM", shards.vocab_size)
    model.config._attn_implementation = "flash_attention_2"  # which this machine need not have
    ours = next(iter(loader.batches(shards, 8, for_model=model, unpadded=True)))
    generic = next(iter(loader.batches(shards, 8, unpadded=True)))
    bounds = generic["cu_seqlens"].tolist()
    ids = generic["input_ids"].tolist()
    theirs = collate([{"input_ids": ids[s:e]} for s, e in zip(bounds[:-1], bounds[1:], strict=True)], return_tensors="pt")
    assert ours.keys() == theirs.keys() | {"token_type_ids"}
    for name in theirs.keys() - {"labels"}:
        assert torch.equal(torch.as_tensor(ours[name]), torch.as_tensor(theirs[name])), name
    with pytest.raises(UsageError, match=r"BertForMaskedLM: flash_attention_2 .* Use unpadded=True"):
        loader.batches(shards, 8, for_model=model)


REFUSED = [
    # class, rows, options of the loader, the message
    ("BertForPreTraining", "packed nsp", {}, "reads one pair per row, and these have several. Make rows without --pack"),
    ("BertForPreTraining", "nsp", {"unpadded": True}, "reads one pair per row"),
    ("BertForPreTraining", "documents", {}, "these rows have none. Use BertForMaskedLM"),
    ("AlbertForPreTraining", "packed sop", {}, "reads one pair per row"),
    ("DebertaV2ForMaskedLM", "packed documents", {}, "it is not tested with packed or unpadded rows"),
    ("BertForMaskedLM", "causal", {}, "Use a model such as GPT2LMHeadModel"),
    ("GPT2LMHeadModel", "documents", {}, "these rows are masked. Make rows with --objective causal"),
    ("GPT2LMHeadModel", "packed documents", {}, "these rows are masked"),
]


@pytest.mark.parametrize(("name", "of", "options", "message"), REFUSED)
def test_rows_for_another_model_are_refused(
    rows: dict[str, Shards], name: str, of: str, options: dict[str, Any], message: str
) -> None:
    model = _model(name, rows[of].vocab_size)
    with pytest.raises(UsageError, match=f"for_model {name}: .*{message}"):
        loader.batches(rows[of], 4, for_model=model, **options)


@pytest.mark.parametrize("name", ["BertModel", "ElectraForPreTraining", "Mine"])
def test_a_class_that_is_not_supported_is_named(rows: dict[str, Shards], name: str) -> None:
    with pytest.raises(UsageError, match=rf"for_model {name}: this class is not supported. Use a …ForMaskedLM"):
        loader.batches(rows["documents"], 4, for_model=name)
    cls = getattr(transformers, name, type(name, (), {}))
    with pytest.raises(UsageError, match=f"for_model {name}: this class is not supported"):
        target_of(cls)


def test_a_roberta_with_one_segment_gets_no_second_one(rows: dict[str, Shards]) -> None:
    """As roberta-base and xlm-roberta-base are: an embedding of the second segment is not there."""
    shards = rows["packed sop"]
    model = _model("RobertaForMaskedLM", shards.vocab_size, type_vocab_size=1)
    batch = next(iter(loader.batches(shards, 4, for_model=model)))
    assert "token_type_ids" not in batch and torch.isfinite(model(**batch).loss)


def test_a_subclass_is_read_as_its_base() -> None:
    mine = type("Mine", (transformers.RobertaForMaskedLM,), {})
    assert target_of(mine).name == "RobertaForMaskedLM"


def test_a_configuration_that_does_not_fit_the_rows_is_refused(rows: dict[str, Shards]) -> None:
    shards = rows["packed documents"]
    size = shards.vocab_size
    cases = [
        (_model("RobertaForMaskedLM", size, pad_token_id=1, max_position_embeddings=LENGTH + 2), "Set pad_token_id=0"),
        (
            _model("RobertaForMaskedLM", size, max_position_embeddings=LENGTH),
            "max_position_embeddings allows rows of 95 tokens, and these have 96",
        ),
        (
            _model("BertForMaskedLM", size, max_position_embeddings=LENGTH - 1),
            "max_position_embeddings allows rows of 95 tokens, and these have 96",
        ),
        (_model("BertForMaskedLM", size - 1), f"its vocab_size is {size - 1}, and the rows have {size} tokens"),
        (_model("BertForMaskedLM", size, "flex_attention"), "attn_implementation 'flex_attention'"),
    ]
    for model, message in cases:
        with pytest.raises(UsageError, match=message):
            loader.batches(shards, 4, for_model=model)
    with pytest.raises(UsageError, match="Pass the model, not its class"):
        loader.batches(shards, 4, for_model="RobertaForMaskedLM")


@pytest.mark.parametrize("of", ["packed documents", "packed causal"])
def test_packed_rows_with_labels_need_a_model_or_custom(rows: dict[str, Shards], of: str) -> None:
    """A model takes such a batch, ignores `document_ids` and returns a loss, so the loader asks who reads it."""
    shards = rows[of]
    with pytest.raises(UsageError, match=r'these rows are packed.*Pass for_model=model .*for_model="custom"'):
        loader.batches(shards, 4)
    batch = next(iter(loader.batches(shards, 4, for_model="custom")))
    assert {"document_ids", "document_starts", "labels"} <= batch.keys()
    model = _model("GPT2LMHeadModel" if of == "packed causal" else "ModernBertForMaskedLM", shards.vocab_size)
    with pytest.raises((ValueError, IndexError)):  # without padding the model itself fails
        model(**next(iter(loader.batches(shards, 4, unpadded=True))))
