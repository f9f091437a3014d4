"""Documents to pairs: tokenize each batch once, spread documents over buckets by hash, build each bucket's pairs.

Every bucket is a uniform sample of its split, so pairs built inside a bucket have partners from all of it.  The documents
reach their bucket through spill files, one record batch a bucket, of which the engine only moves references; or, with
``shuffle="engine"``, through the engine's own GroupByKey.  Both give the same bytes.  Static masks are made last, with the rows.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np

from bertdata import keys, manifest, pairs, shards, vocab
from bertdata.config import LABEL_1, PairsConfig
from bertdata.errors import EmptyResultError, VerificationError
from bertdata.fence import Fence, fence
from bertdata.files import file_entry, place
from bertdata.manifest import Tally
from bertdata.output import STATE, perform
from bertdata.records import Report
from bertdata.report import card

from . import corpus
from .pairing import buckets
from .pairing.static_masks import mask_rows, max_predictions
from .transforms import Gather, Perform, Tasks

__all__ = ["MakePairs", "Output"]


class Output(NamedTuple):
    """A directory of pairs, and what they are to be."""

    root: str
    config: PairsConfig


class MakePairs(beam.PTransform):
    """Tasks -> documents by bucket -> a shard of pairs for each bucket and output -> a manifest for each output."""

    def __init__(
        self, source: corpus.Corpus, vocabulary: vocab.Vocabulary, outputs: list[Output], buckets: int, shuffle: str = "files"
    ) -> None:
        super().__init__()
        self._source, self._vocabulary, self._outputs = source, vocabulary, outputs
        self._buckets, self._shuffle = buckets, shuffle

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        root, config = place(self._outputs[0].root), self._outputs[0].config
        layout = buckets.Layout(config.seed, self._buckets, config.validation_fraction)
        tokenize = buckets.Tokenize(str(root), self._vocabulary, self._source.reader(), layout, config.chinese_words)
        roots = (place(output.root) for output in self._outputs)
        build = BuildBucket(self._vocabulary, self._outputs, layout, fence(*(root / STATE for root in roots)))
        commit = Commit(self._vocabulary, self._outputs, self._source.reader(), self._source.manifest["rows"])
        tasks = begin | "Tasks" >> Tasks(self._source.tasks)
        if self._shuffle == "engine":
            documents = tasks | "Tokenize" >> beam.FlatMap(tokenize.documents)
        else:
            reports = tasks | "Tokenize" >> beam.ParDo(Perform(root, "tokenize", tokenize, config.packages))
            documents = reports | "By bucket" >> beam.FlatMap(buckets.references)
        return (
            documents
            | "Bucket" >> beam.GroupByKey()
            | "Build pairs" >> beam.Map(build)
            | "Commit" >> Gather(commit, layout.total)
        )


@dataclass
class BuildBucket:
    """Build a bucket's pairs, once for each output."""

    vocabulary: vocab.Vocabulary
    outputs: list[Output]
    layout: buckets.Layout
    fence: Fence

    def __call__(self, group: tuple[int, Iterable[buckets.Ref | buckets.Tokens]]) -> Report:
        number, members = group
        documents = list(buckets.gather(self.outputs[0].root, members))
        seed = self.outputs[0].config.seed
        documents.sort(key=lambda d: (keys.key(seed, "order", d.id), d.id, d.task, d.row))
        content = hashlib.sha256()
        for document in documents:
            content.update(hashlib.sha256(repr((document.id, len(document.tokens))).encode()).digest())
            content.update(document.tokens + document.ends + document.continues)
        bucket = self._bucket(documents)
        del documents
        bodies = []
        for output in self.outputs:
            task = [number, content.hexdigest()]
            work = _Build(output, self.vocabulary, bucket, *self.layout.place(number))
            with self.fence.closed():
                bodies.append(perform(place(output.root), "pairs", number, task, work))
        return Report(number, json.dumps(bodies))

    def _bucket(self, documents: list[buckets.Tokens]) -> pairs.Bucket:
        dtype = np.uint16 if len(self.vocabulary.pieces) <= 1 << 16 else np.uint32
        tokens = np.frombuffer(b"".join(d.tokens for d in documents), dtype)
        lengths = np.array([len(d.tokens) for d in documents], np.int64) // tokens.itemsize
        starts = np.cumsum(lengths) - lengths
        ends = [np.frombuffer(d.ends, np.int64) + start for d, start in zip(documents, starts.tolist(), strict=True)]
        counts = [len(d.ends) // 8 for d in documents]
        zero = np.zeros(1, np.int64)
        words = b"".join(d.continues for d in documents)
        continues = np.frombuffer(words, bool) if words else self.vocabulary.continues()[tokens]
        sentences, starts = np.concatenate([zero, *ends]), np.concatenate([zero, np.cumsum(counts, dtype=np.int64)])
        return pairs.Bucket(tokens, continues, sentences, starts, [d.id for d in documents])


@dataclass(frozen=True)
class _Build:
    """Build one output's rows of a bucket, and write their shard."""

    output: Output
    vocabulary: vocab.Vocabulary
    bucket: pairs.Bucket
    split: str
    number: int
    count: int

    def __call__(self) -> dict[str, Any]:
        config = self.output.config
        built = self._pairs()
        columns, counts = self._columns(built), self._counts(built)
        if config.masking == "static":
            masked, masks = mask_rows(built, self.vocabulary, config, self.split, self.number)
            columns, counts = {**columns, **masked}, {**counts, **masks}
        schema = shards.pair_schema(len(self.vocabulary.pieces), columns)
        name = shards.name(self.split, self.number, self.count, config.format)
        file = shards.write(place(self.output.root), name, schema, [shards.pair_batch(schema, columns)], config.format)
        tallies = [tally.to_json() for tally in built.tallies]
        return {"split": self.split, "files": [file], "tallies": tallies, "statistics": counts}

    def _pairs(self) -> pairs.Pairs:
        pieces = self.vocabulary.pieces
        special = pairs.Special(pieces.index("[CLS]"), pieces.index("[SEP]"))
        name = f"{self.split} bucket {self.number} of {self.count}"
        try:
            return pairs.build(self.bucket, self.output.config, special, name)
        except EmptyResultError as error:
            more = ", or use fewer --shards" if self.count > 1 else ""
            more += ", or a larger --validation-fraction" if self.split == "validation" else ""
            raise EmptyResultError(f"{error}{more}") from None  # or the command would tell the cause, which says less

    def _columns(self, built: pairs.Pairs) -> dict[str, Any]:
        """Return the columns of the shard, not masked."""
        columns: dict[str, Any] = {
            "ends": built.ends,
            "input_ids": built.input_ids,
            "token_type_ids": built.token_type_ids,
        }
        if built.labels is not None:
            columns["next_sentence_label"] = built.labels
        if built.continues is not None:
            columns["continues_word"] = built.continues
        for side, documents in (("a", built.a_documents), ("b", built.b_documents)):
            if self.output.config.provenance and documents is not None:
                columns[f"{side}_document"] = [self.bucket.ids[d] for d in documents.tolist()]
        return columns

    def _counts(self, built: pairs.Pairs) -> dict[str, int]:
        """Count rows, and of the documents what the rows don't tell."""
        documents, unk = self.bucket.ids, self.vocabulary.pieces.index("[UNK]")
        return {
            **pairs.statistics(built),
            "documents": len(documents),
            "repeated_ids": len(documents) - len(set(documents)),
            "text_tokens": len(self.bucket.tokens),
            "unknown": int(np.count_nonzero(self.bucket.tokens == unk)),
        }


@dataclass(frozen=True)
class Commit:
    """Check that the counts add up, and write each output's vocabulary, data card and, last, manifest."""

    vocabulary: vocab.Vocabulary
    outputs: list[Output]
    source: corpus.Reader
    documents: int

    def roots(self) -> list[Path]:
        """Return the directories of the pairs."""
        return [place(output.root) for output in self.outputs]

    def __call__(self, reports: list[list[dict[str, Any]]]) -> None:
        for number, output in enumerate(self.outputs):
            self._commit(output, [report[number] for report in reports])

    def _commit(self, output: Output, reports: list[dict[str, Any]]) -> None:
        root, config = place(output.root), output.config
        splits = {split: [r for r in reports if r["split"] == split] for split in dict.fromkeys(r["split"] for r in reports)}
        counts = {split: _add_up(own) for split, own in splits.items()}
        entered = sum(count["documents"] for count in counts.values())
        if entered != self.documents:
            raise VerificationError(f"of {self.documents} documents in the corpus {entered} came to their buckets")
        tallies = [tally for split, own in splits.items() for tally in _merge(split, own)]
        for split, count in counts.items():
            if not count["rows"]:
                raise EmptyResultError(_why_empty(split, tallies))
        names = vocab.write(root, self.vocabulary)
        made = manifest.make(
            "pairs",
            config=config.identity(),
            inputs=self.source.inputs(),
            shards=[file for report in reports for file in report["files"]],
            tallies=tallies,
            packages=config.packages,
            files=[file_entry(root, name) for name in names],
            vocab_size=len(self.vocabulary.pieces),
            statistics=_describe(sum(counts.values(), Counter[str]()), config),
            splits={s: {"shards": len(splits[s]), **_describe(count, config)} for s, count in counts.items()},
        )
        manifest.check_rows(made, sum(tally.left for tally in tallies if tally.stage.endswith("chunks")))
        manifest.write(root, made, card.write(made))


def _add_up(reports: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for report in reports:
        counts.update(report["statistics"])
    return counts


def _merge(split: str, reports: list[dict[str, Any]]) -> list[Tally]:
    """Add up the counts of a split; those of ``validation`` say so in their names."""
    merged = [Tally(t["stage"] if split == "train" else f"{split} {t['stage']}") for t in reports[0]["tallies"]]
    for report in reports:
        for tally, more in zip(merged, report["tallies"], strict=True):
            tally.merge(Tally.from_json(more))
    return merged


def _why_empty(split: str, tallies: list[Tally]) -> str:
    if split != "train":
        return f"no document of {split} gave a row: give more documents, or a larger --validation-fraction"
    reasons = ", ".join(f"{reason} {n}" for reason, n in tallies[0].dropped.items() if n)
    return f"no document gave a row (dropped: {reasons}): a pair takes a document of two sentences"


def _describe(counts: Counter[str], config: PairsConfig) -> dict[str, Any]:
    """Return what a manifest says of rows: their number, how many have label 1 under its name, and how full they are."""
    rows, tokens = counts["rows"], counts["tokens"]
    found: dict[str, Any] = {name: counts[name] for name in ("rows", "documents", "repeated_ids", "tokens")}
    if name := LABEL_1.get(config.objective):
        found |= {name: counts["ones"], f"{name}_share": counts["ones"] / rows}
    found |= {"mean_length": tokens / rows, "padding_share": 1 - tokens / (rows * config.max_seq_length)}
    found["unknown_share"] = counts["unknown"] / counts["text_tokens"]  # [UNK] among the documents' tokens
    if config.masking == "static":
        masked = counts["masked"]
        found |= {"masked": masked, "masked_share": masked / counts["maskable"], "max_predictions": max_predictions(config)}
    return found
