"""Does the data teach?  The same small BERT on bertdata's pairs and on those of BERT's own algorithm, made of the same text.

    python benchmarks/training.py                              dumps and books of ../shared/data
    python benchmarks/training.py --wikipedia dumps --books books --steps 3000 --work somewhere

Both are trained for the same steps from the same weights, for each seed, and judged on the held-out pairs of both kinds, by
`transformers`.  Then each is trained once more on rows whose words are all one and the same: such a model sees lengths and
nothing else, and knows the label better than the more frequent label does only where lengths tell it.  Exit code 1 where it does
on bertdata's pairs (2 standard errors over one half), or where nothing is learnt.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
import torch
import transformers
from measured import run
from pairs import Rows, control, read, tokenize
from ratios import ratio

from bertdata import Shards
from bertdata.build.rows.commit import describe
from bertdata.config import PairsConfig
from bertdata.config.train import ModelConfig, OptimizerConfig, Phase, TrainConfig
from bertdata.dataset import manifest, shards
from bertdata.io.files import file_entry
from bertdata.report import card
from bertdata.tokens import vocab
from bertdata.training.loader import batches
from bertdata.training.trainer import train

SIZES = {
    "tiny": ["--wikipedia {dump} --books {books} --steps 4 --seeds 1 --batch 4 --workers 1"],
    "full": ["--wikipedia {dump} --books {books}"],
}
DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_LISTS = ("input_ids", "token_type_ids")
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
KINDS = ("bertdata", "google")
LENGTHS_ONLY = "-lengths"


def main() -> int:
    """Make both data sets, train on them, print the table; return the exit code."""
    options = _options()
    torch.set_num_threads(1)  # the same figures on any machine
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory(prefix="bertdata-training-") as scratch:
        work = options.work or Path(scratch)
        entropy = _prepare(work, options)
        runs = {kind: [_train(work, kind, seed, options) for seed in options.seeds] for kind in KINDS}
        _show(runs, entropy)
        blind = {kind: _train(work, kind + LENGTHS_ONLY, options.seeds[0], options) for kind in KINDS}
    return _judge(runs, blind, entropy)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    dumps = ["enwiki*.xml.bz2", "jawiki*.xml.bz2", "zhwiki-sample.xml"]
    add("--wikipedia", nargs="*", default=[str(DATA / "wiki" / name) for name in dumps], help="dumps")
    add("--books", nargs="*", default=[str(DATA / "books")], help="books")
    add("--steps", type=int, default=1600, help="steps of each training  [default: 1600]")
    add("--seeds", type=int, nargs="+", default=[1, 2, 3], help="seeds of the trainings  [default: 1 2 3]")
    add("--batch", type=int, default=32, help="rows in a batch  [default: 32]")
    add("--length", type=int, default=64, help="tokens in a row  [default: 64]")
    add("--rate", type=float, default=1e-3, help="learning rate  [default: 1e-3]")
    add("--workers", type=int, help="worker processes that make the data  [default: one a core]")
    add("--work", type=Path, help="directory for data and checkpoints; what is there is used again  [default: a temporary one]")
    return parser.parse_args()


def _prepare(work: Path, options: argparse.Namespace) -> float:
    """Make the corpus, the vocabulary and all data sets; return the unigram entropy of the held-out words, in nats."""
    if not (work / "bertdata").exists():
        sources = [part for kind in ("wikipedia", "books") for value in getattr(options, kind) for part in (f"--{kind}", value)]
        workers = ["--workers", str(options.workers)] if options.workers else []
        corpus, vocabulary = str(work / "corpus"), str(work / "vocab")
        run(["build-corpus", *sources, "--output", corpus, *workers])
        run(["train-vocab", corpus, "--size", "4000", "--output", vocabulary, *workers])
        split = ["--validation-fraction", "0.1", "--provenance", "--shards", "1"]
        form = ["--max-seq-length", str(options.length), *split, *workers]
        run(["make-pairs", corpus, "--vocab", vocabulary, *form, "--output", str(work / "bertdata")])
    pieces = vocab.read(work / "vocab")
    ours = _split(work / "bertdata")
    theirs = _control(work, pieces, ours["train"])
    for kind, made in (("bertdata", ours), ("google", theirs)):
        for name, blank in ((kind, False), (kind + LENGTHS_ONLY, True)):
            if blank or kind == "google":
                _write(work / name, made, pieces, options.length, blank)
    return _entropy(ours["train"], ours["validation"], pieces)


def _split(path: Path) -> dict[str, Rows]:
    """Read the rows of each split."""
    return {split: read(path, split=split) for split in ("train", "validation")}


def _control(work: Path, vocabulary: vocab.Vocabulary, like: Rows) -> dict[str, Rows]:
    """Make the pairs of BERT's own algorithm of the documents of each split."""
    text = tokenize(work / "corpus", vocabulary)
    made = manifest.read(work / "bertdata", "pairs")
    held_out = set()
    for shard in made["shards"]:
        if "/validation-" in shard["name"]:
            for batch in shards.read_batches(work / "bertdata" / shard["name"], made["config"]["format"]):
                held_out |= set(batch.column("a_document").to_pylist()) | set(batch.column("b_document").to_pylist())
    chosen = {"train": [id not in held_out for id in text.ids], "validation": [id in held_out for id in text.ids]}
    return {name: control(_only(text, np.array(documents)), like, vocabulary) for name, documents in chosen.items()}


def _only(text: Any, chosen: Any) -> Any:
    """Leave the chosen documents of a corpus; their sentences stay where they are, the others' are in no document."""
    sentences = [text.sentences[a : b + 1] for a, b in zip(text.documents[:-1], text.documents[1:], strict=True)]
    parts = [(text.tokens[s[0] : s[-1]], np.diff(s)) for s, keep in zip(sentences, chosen, strict=True) if keep]
    ends = np.append(0, np.cumsum(np.concatenate([sizes for _, sizes in parts])))
    documents = np.append(0, np.cumsum([len(sizes) for _, sizes in parts]))
    return text._replace(
        tokens=np.concatenate([tokens for tokens, _ in parts]),
        sentences=ends,
        documents=documents,
        ids=[id for id, keep in zip(text.ids, chosen, strict=True) if keep],
    )


def _write(path: Path, splits: dict[str, Rows], vocabulary: vocab.Vocabulary, length: int, blank: bool) -> None:
    """Write a directory of pairs as make-pairs does; `blank` puts one word in the place of all."""
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    schema = shards.pair_schema(len(vocabulary.pieces), (*_LISTS, "next_sentence_label"))
    special = np.array([piece in SPECIAL for piece in vocabulary.pieces])
    word = int(np.flatnonzero(~special)[0])
    entries = []
    for split, rows in splits.items():
        ids = np.where(special[rows.ids], rows.ids, word) if blank else rows.ids
        columns = {"input_ids": ids, "token_type_ids": rows.types, "ends": rows.ends, "next_sentence_label": rows.labels}
        batches: list[pa.RecordBatch] = [shards.pair_batch(schema, columns)]
        entries.append(shards.write(path, shards.name(split, 0, 1, "arrow-stream"), schema, batches, "arrow-stream"))
    files = []
    for file in sorted(entry for entry in (path.parent / "vocab").iterdir() if entry.name.startswith(("vocab.", "tokenizer"))):
        shutil.copy(file, path)
        files.append(file_entry(path, file.name))
    config = PairsConfig(max_seq_length=length, validation_fraction=0.1)
    counts = {split: _count(rows) for split, rows in splits.items()}
    made = manifest.make(
        "pairs",
        config=config.identity(),
        inputs=[],
        shards=entries,
        tallies=[],
        statistics=describe(sum(counts.values(), Counter[str]()), config),
        splits={split: {"shards": 1, **describe(own, config)} for split, own in counts.items()},
        files=files,
        vocab_size=len(vocabulary.pieces),
    )
    manifest.write(path, made, card.write(made))


def _count(rows: Rows) -> Counter[str]:
    """Count what a manifest tells of rows, which are their own documents here."""
    count, tokens = len(rows.labels), len(rows.ids)
    return Counter(rows=count, documents=count, tokens=tokens, ones=int(rows.labels.sum()), text_tokens=tokens)


def _entropy(train: Rows, held_out: Rows, vocabulary: vocab.Vocabulary) -> float:
    """Return the cross entropy of the held-out words under the frequencies of the others: what a model that sees nothing gets."""
    counts = np.bincount(train.ids, minlength=len(vocabulary.pieces)) + 1.0
    special = [vocabulary.pieces.index(name) for name in SPECIAL]
    counts[special] = 0
    words = held_out.ids[~np.isin(held_out.ids, special)]
    return float(-np.log(counts[words] / counts.sum()).mean())


def _train(work: Path, name: str, seed: int, options: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Train once; return how well the held-out pairs of each kind are known."""
    blind = name.endswith(LENGTHS_ONLY)
    steps = options.steps // 4 if blind else options.steps  # lengths are soon learnt
    phase = Phase(shards=(str(work / name),), steps=steps, widths=(options.length,))
    config = TrainConfig(
        phases=(phase,),
        model=ModelConfig(
            hidden_size=128,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=512,
            hidden_dropout_prob=0.0,  # hardly an epoch: nothing is learnt by heart
            attention_probs_dropout_prob=0.0,
        ),
        optimizer=OptimizerConfig(learning_rate=options.rate, warmup_steps=steps // 10, bias_correction=True),
        batch_size=options.batch,
        seed=seed,
        workers=0,
        log_every=max(1, steps // 10),
        evaluate_every=steps,
        save_every=steps,
    )
    started = time.monotonic()
    done = train(config, work / f"run-{name}-{seed}", overwrite=True)
    took = time.monotonic() - started
    judged = (name,) if blind else KINDS
    found = {kind: _evaluate(done.checkpoint, work / kind, options) for kind in judged}
    told = "  ".join(f"{kind}: MLM {f['mlm']:.3f} NSP {f['nsp']:.3f}" for kind, f in found.items())
    print(f"{name}, seed {seed}: {took:.0f} s for {steps} steps; held-out pairs of {told}", flush=True)
    return found


@torch.no_grad()
def _evaluate(checkpoint: Path, path: Path, options: argparse.Namespace) -> dict[str, float]:
    """Judge a checkpoint, as `transformers` loads it, on held-out pairs with masks of their own."""
    model = transformers.BertForPreTraining.from_pretrained(checkpoint).eval()
    held_out = Shards(path, split="validation")
    loss = masked = right = not_next = 0.0
    for batch in batches(held_out, 256, widths=[options.length], dense_labels=True, whole=True):
        labels = batch.pop("labels")
        truth = batch.pop("next_sentence_label")
        output = model(**batch)
        chosen = labels != -100
        loss += float(torch.nn.functional.cross_entropy(output.prediction_logits[chosen], labels[chosen], reduction="sum"))
        masked += int(chosen.sum())
        not_next += int(truth.sum())
        right += int((output.seq_relationship_logits.argmax(1) == truth).sum())
    return {"mlm": loss / masked, "nsp": right / len(held_out), "pairs": len(held_out), "not_next": not_next / len(held_out)}


def _show(runs: dict[str, list[dict[str, dict[str, float]]]], entropy: float) -> None:
    print(f"\n{'':28}{'MLM loss':>20}{'NSP accuracy':>20}    mean and deviation of the seeds")
    for trained, found in runs.items():
        for judged in KINDS:
            cells = [_cell([seed[judged][name] for seed in found]) for name in ("mlm", "nsp")]
            print(f"trained on {trained:9} held-out {judged:9}"[:44] + "".join(f"{cell:>18}" for cell in cells))
    for name, unit, less in (("nsp", "NSP accuracy", False), ("mlm", "MLM loss", True)):
        ours, theirs = (mean(seed["bertdata"][name] for seed in runs[kind]) for kind in KINDS)
        ratio("a small BERT, judged on held-out pairs", ours, unit, "trained on pairs of BERT's algorithm", theirs, less=less)
    print(f"one who knows only how frequent words are: {entropy:.3f}")


def _cell(values: Iterable[float]) -> str:
    found = list(values)
    return f"{mean(found):.4f} ± {stdev(found) if len(found) > 1 else 0:.4f}"


def _judge(runs: dict[str, list[dict[str, dict[str, float]]]], blind: dict[str, Any], entropy: float) -> int:
    """Print what is wrong; return the exit code."""
    wrong = list(_complaints(runs, blind, entropy))
    for kind in KINDS:
        told = blind[kind][kind + LENGTHS_ONLY]
        error = 0.5 / math.sqrt(told["pairs"])
        most = max(told["not_next"], 1 - told["not_next"])
        print(
            f"sees only lengths, {kind:9} NSP accuracy {told['nsp']:.4f} ± {error:.4f} of {told['pairs']:.0f} held out; "
            f"always one answer: {most:.4f}"
        )
    for line in wrong:
        print("FAIL", line)
    return 1 if wrong else 0


def _complaints(runs: dict[str, list[dict[str, dict[str, float]]]], blind: dict[str, Any], entropy: float) -> Iterator[str]:
    told = blind["bertdata"]["bertdata" + LENGTHS_ONLY]
    if told["nsp"] > 0.5 + 2 * 0.5 / math.sqrt(told["pairs"]):
        yield "lengths tell the label of bertdata's pairs"
    for kind in KINDS:
        if mean(seed[kind]["mlm"] for seed in runs[kind]) >= entropy:
            yield f"no words were learnt from {kind}"


if __name__ == "__main__":
    sys.exit(main())
