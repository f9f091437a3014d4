"""Packed batches: no document sees another, padded or not; masks by step, and none over two documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import Build
from tiny import write_pairs

from bertdata.config import OBJECTIVES
from bertdata.config.train import Phase, TrainConfig
from bertdata.dataset.rows import Shards
from bertdata.errors import VerificationError
from bertdata.pieces import IGNORED, Special
from bertdata.rows import masking

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from bertdata.training import attention, loader  # noqa: E402
from bertdata.training.models import target_of  # noqa: E402
from bertdata.training.recipe import prepare  # noqa: E402
from bertdata.training.trainer.learner import MaskedModel  # noqa: E402

LENGTH, SAME = 96, 1e-5
Batch = dict[str, Any]


@pytest.fixture(scope="module")
def packed(build: Build, sample_corpus: Path, sample_vocab: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shards]:
    """Packed rows of the sample for each objective."""
    root, common = tmp_path_factory.mktemp("packed"), ("--vocab", sample_vocab, "--pack", "--max-seq-length", LENGTH)
    short = {"nsp": ("--short-seq-prob", 0.9), "sop": ("--short-seq-prob", 0.9)}
    return {
        name: Shards(build("make-pairs", root / name, sample_corpus, *common, "--objective", name, *short.get(name, ())))
        for name in OBJECTIVES
    }


def _documents(shards: Shards, rows: Any) -> list[list[int]]:
    """The parts of rows, as they are stored."""
    stored = shards.gather(rows, LENGTH)
    found = []
    for ids, starts, seen in zip(stored["input_ids"], stored["document_starts"], stored["attention_mask"], strict=True):
        begins = [0, *(start for start in starts[1:].tolist() if start)]
        found += [ids[s:e].tolist() for s, e in zip(begins, [*begins[1:], int(seen.sum())], strict=True)]
    return found


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_padded_and_unpadded_batches_say_the_same(packed: dict[str, Shards], objective: str) -> None:
    shards = packed[objective]
    padded, flat = loader.batches(shards, 8, for_model="custom"), loader.batches(shards, 8, unpadded=True)
    for step, (one, other) in enumerate(zip(padded, flat, strict=True)):
        documents = _documents(shards, padded.dataset.plan[step].rows)
        assert len(documents) >= 8 and shards.most_parts >= 2 and one["input_ids"].shape == (8, LENGTH)
        seen = one["attention_mask"] == 1
        for name in ("input_ids", "labels", "position_ids"):
            assert torch.equal(one[name][seen], other[name])
        restored = torch.where(other["labels"] == IGNORED, other["input_ids"], other["labels"])
        assert restored.tolist() == [token for document in documents for token in document]
        assert other["cu_seqlens"].dtype == torch.int32 and other["max_seqlen"] == max(map(len, documents))
        assert other["cu_seqlens"].tolist() == np.cumsum([0, *map(len, documents)]).tolist()
        assert other["position_ids"].tolist() == [position for document in documents for position in range(len(document))]
        assert (one["document_ids"] > 0).equal(seen)
        changed = one["document_ids"][:, 1:] != one["document_ids"][:, :-1]
        assert (one["position_ids"][:, 1:][seen[:, 1:] & changed] == 0).all()
        if objective in ("nsp", "sop"):
            own = one["next_sentence_label"]
            assert own[own != IGNORED].tolist() == other["next_sentence_label"].tolist()
            assert len(other["next_sentence_label"]) == len(documents)
        if objective == "causal":
            starts = other["cu_seqlens"][:-1].long()
            assert (other["labels"][starts] == IGNORED).all() and (other["labels"] == IGNORED).sum() == len(starts)


@pytest.mark.parametrize("unpadded", [False, True])
def test_any_world_start_and_number_of_workers(packed: dict[str, Shards], unpadded: bool) -> None:
    shards, options = (
        packed["documents"],
        {"unpadded": unpadded, "dense_labels": False, "masks": loader.MaskConfig(0.3, unit="word")},
    )
    through = list(loader.batches(shards, 8, steps=12, **options))
    rest = list(loader.batches(shards, 8, start_step=5, steps=7, workers=1, **options))
    for one, other in zip(through[5:], rest, strict=True):
        assert all(torch.equal(torch.as_tensor(one[name]), torch.as_tensor(other[name])) for name in one)
    ranks = [list(loader.batches(shards, 8, steps=12, rank=rank, world_size=2, **options)) for rank in range(2)]
    for whole, *parts in zip(through, *ranks, strict=True):
        for name in ("input_ids", "position_ids"):
            assert torch.equal(whole[name], torch.cat([part[name] for part in parts]))


@pytest.mark.parametrize("unpadded", [False, True])
def test_a_rank_without_rows_of_the_last_batch(packed: dict[str, Shards], unpadded: bool) -> None:
    world = len(packed["nsp"]) + 1  # one row more would fill the only batch
    batches = loader.batches(packed["nsp"], world, whole=True, for_model="custom", unpadded=unpadded, world_size=world)
    assert [len(batch["input_ids"]) for batch in batches] == [0]


@pytest.mark.parametrize(("shares", "mask", "other"), [("100/0/0", 1.0, 0.0), ("0/100/0", 0.0, 1.0), ("50/20/30", 0.5, 0.2)])
def test_shares(packed: dict[str, Shards], shares: str, mask: float, other: float) -> None:
    counts, mask_id = np.zeros(3), packed["documents"].pieces.index("[MASK]")
    for batch in loader.batches(packed["documents"], 8, dense_labels=False, masks=loader.MaskConfig(mask_shares=shares)):
        used = batch["masked_lm_labels"] != IGNORED
        shown = batch["input_ids"].gather(1, batch["masked_lm_positions"])[used]
        wanted = batch["masked_lm_labels"][used]
        counts += [len(shown), int((shown == mask_id).sum()), int(((shown != mask_id) & (shown != wanted)).sum())]
    assert abs(counts[1] / counts[0] - mask) < 0.02 and abs(counts[2] / counts[0] - other) < 0.02


def test_a_phase_has_its_own_share(tmp_path: Path) -> None:
    data = write_pairs(tmp_path / "pairs", {"train": [[20] * 40]})
    phases = Phase(shards=(str(data),), steps=30, masked_lm_prob=0.3), Phase(shards=(str(data),), steps=10)
    made = prepare(TrainConfig(phases=phases, batch_size=4, unit="word"))
    assert [part.masks for part in made.parts] == [loader.MaskConfig(0.3, unit="word"), loader.MaskConfig(unit="word")]


def test_words_end_with_their_document() -> None:
    """A part that begins with the rest of a word does not go on with the word that ends the part before."""
    special = Special(pad=0, unk=1, cls=2, sep=3, mask=4, others=(), mark="##")
    vocabulary = masking.mask_vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"], special)
    ids = np.repeat([[2, 5, 3, 2, 6, 3]], 200, 0)
    options: dict[str, Any] = {"seed": 1, "epoch": 0, "rows": np.arange(200), "max_predictions": 3, "masked_lm_prob": 0.5}
    for unit in ("word",):
        _, positions, labels = masking.mask(ids, vocabulary, unit=unit, **options)
        chosen = [tuple(position[told != IGNORED].tolist()) for position, told in zip(positions, labels, strict=True)]
        assert set(chosen) == {(1,), (4,)}


def _model(shards: Shards) -> MaskedModel:
    sizes: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 48}
    torch.manual_seed(1)
    config = transformers.BertConfig(vocab_size=shards.vocab_size, **sizes, max_position_embeddings=LENGTH, initializer_range=0.1)
    return MaskedModel(transformers.BertForPreTraining(config)).eval()


@pytest.mark.parametrize("objective", ["nsp", "documents"])
@torch.no_grad()
def test_the_trainer_separates_documents(packed: dict[str, Shards], objective: str) -> None:
    """The logits of masked words and of the pair of each segment are those of the segment alone."""
    shards, model = packed[objective], _model(packed[objective])
    batches = zip(loader.batches(shards, 4, dense_labels=False), loader.batches(shards, 4, unpadded=True), strict=True)
    batch, flat = next((one, flat) for one, flat in batches if len(flat["cu_seqlens"]) > 6)
    target = target_of(model.inner)
    words, relations = model(batch["masked_lm_positions"], batch["document_starts"], **attention.inputs(batch, target))
    used, starts = batch["masked_lm_labels"] != IGNORED, batch["document_starts"]
    first = (starts > 0) | (torch.arange(starts.shape[1]) == 0)
    bounds = flat["cu_seqlens"].tolist()
    alone = [
        _alone(model, flat["input_ids"][None, s:e], flat["token_type_ids"][None, s:e])
        for s, e in zip(bounds[:-1], bounds[1:], strict=True)
    ]
    wanted = torch.cat([words[0] for words, _ in alone])[flat["labels"] != IGNORED]
    assert (words[used] - wanted).abs().max() < SAME
    assert (relations[first] - torch.cat([pair for _, pair in alone])).abs().max() < SAME


def _alone(model: MaskedModel, ids: Any, types: Any) -> tuple[Any, Any]:
    return model(torch.arange(ids.shape[1])[None], input_ids=ids, token_type_ids=types)


def test_a_batch_without_padding_is_the_same_batch(packed: dict[str, Shards]) -> None:
    """As the trainer makes it for flash attention: tokens, positions and masked positions of each row, end to end."""
    shards = packed["documents"]
    batch = next(iter(loader.batches(shards, 8, dense_labels=False)))
    flat, generic = attention.unpadded(batch), next(iter(loader.batches(shards, 8, unpadded=True)))
    for name in ("input_ids", "position_ids", "cu_seqlens"):
        assert torch.equal(flat[name], generic[name]), name
    assert flat["max_seqlen"] == generic["max_seqlen"]
    used = (batch["masked_lm_labels"] != IGNORED).flatten()
    positions = flat["masked_lm_positions"][0][used]
    assert torch.equal(generic["labels"][positions], batch["masked_lm_labels"].flatten()[used])


def test_a_damaged_start_is_named(packed: dict[str, Shards], monkeypatch: pytest.MonkeyPatch) -> None:
    shards = Shards(packed["documents"].paths)
    first, *others = shards._views["document_starts"]
    views = [first._replace(values=np.full_like(first.values, LENGTH)), *others]
    monkeypatch.setitem(shards._views, "document_starts", views)
    with pytest.raises(VerificationError, match="a part begins after its row"):
        shards.gather(np.arange(4), LENGTH)


def test_a_model_that_sees_other_documents_is_found_out(packed: dict[str, Shards]) -> None:
    """The test above would fail where a single document's number is wrong."""
    batch = next(iter(loader.batches(packed["documents"], 32, for_model="custom")))
    ids = batch["document_ids"]
    allowed = attention.block_mask(ids)
    assert allowed.shape == (32, 1, LENGTH, LENGTH) and allowed.diagonal(dim1=2, dim2=3).all()
    assert torch.equal(allowed[:, 0], ids[:, :, None] == ids[:, None, :]) and not allowed.all()
    near = attention.block_mask(ids, max_distance=3)
    assert int(near.sum()) < int(allowed.sum()) and not near[0, 0, 0, 4]
    causal = attention.block_mask(ids, causal=True)
    assert torch.equal(causal, allowed.tril())
