"""Documents to pairs: tokenize each batch once, spread documents over buckets by hash, build each bucket's pairs.

Every bucket is a uniform sample of the corpus, so pairs built inside a bucket have partners from all of it.  The documents
reach their bucket through spill files, one record batch a bucket, of which the engine only moves references; or, with
``shuffle="engine"``, through the engine's own GroupByKey.  Both give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import apache_beam as beam
import numpy as np

from bertdata import keys, manifest, pairs, shards, vocab
from bertdata.config import PairsConfig
from bertdata.errors import EmptyResultError, VerificationError
from bertdata.files import file_entry, write_json, write_text
from bertdata.manifest import Tally
from bertdata.output import perform
from bertdata.records import Report
from bertdata.report import card

from . import buckets, corpus
from .transforms import Gather, Perform, Tasks

__all__ = ["MakePairs", "Output", "shard_count"]


class Output(NamedTuple):
    """A directory of pairs, and what they are to be."""

    root: str
    config: PairsConfig


def shard_count(config: PairsConfig, text_bytes: int, documents: int) -> int:
    """Return the number of buckets, one shard each: by size, but so few that each gets enough documents to exchange text."""
    return config.shards or max(1, min(99999, math.ceil(text_bytes / config.bucket_bytes), documents // 16))


class MakePairs(beam.PTransform):
    """Tasks -> documents by bucket -> a shard of pairs for each bucket and output -> a manifest for each output."""

    def __init__(
        self, source: corpus.Corpus, vocabulary: vocab.Vocabulary, outputs: list[Output], buckets: int, shuffle: str = "files"
    ) -> None:
        super().__init__()
        self._source, self._vocabulary, self._outputs = source, vocabulary, outputs
        self._buckets, self._shuffle = buckets, shuffle

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        root, seed = Path(self._outputs[0].root), self._outputs[0].config.seed
        tokenize = buckets.Tokenize(str(root), self._vocabulary, self._source.reader(), seed, self._buckets)
        build = BuildBucket(self._vocabulary, self._outputs, self._buckets)
        commit = Commit(self._vocabulary, self._outputs, self._source.inputs(), self._source.manifest["rows"])
        tasks = begin | "Tasks" >> Tasks(self._source.tasks)
        if self._shuffle == "engine":
            documents = tasks | "Tokenize" >> beam.FlatMap(tokenize.documents)
        else:
            reports = tasks | "Tokenize" >> beam.ParDo(Perform(root, "tokenize", tokenize))
            documents = reports | "By bucket" >> beam.FlatMap(buckets.Spills(str(root)))
        return documents | "Bucket" >> beam.GroupByKey() | "Build pairs" >> beam.Map(build) | "Commit" >> Gather(commit)


@dataclass
class BuildBucket:
    """Build a bucket's pairs, once for each output."""

    vocabulary: vocab.Vocabulary
    outputs: list[Output]
    count: int

    def __call__(self, group: tuple[int, Iterable[buckets.Spill | buckets.Tokens]]) -> Report:
        number, members = group
        documents = list(buckets.gather(members))
        seed = self.outputs[0].config.seed
        documents.sort(key=lambda d: (keys.key(seed, "order", d.id), d.id, d.task, d.row))
        content = hashlib.sha256()
        for document in documents:
            content.update(hashlib.sha256(repr((document.id, len(document.tokens))).encode()).digest())
            content.update(document.tokens + document.ends)
        bucket = self._bucket(documents)
        del documents
        bodies = []
        for output in self.outputs:
            task = [number, content.hexdigest()]
            work = _Build(output, self.vocabulary, bucket, number, self.count)
            bodies.append(perform(Path(output.root), "pairs", number, task, work))
        return Report(number, json.dumps(bodies))

    def _bucket(self, documents: list[buckets.Tokens]) -> pairs.Bucket:
        dtype = np.uint16 if len(self.vocabulary.pieces) <= 1 << 16 else np.uint32
        tokens = np.frombuffer(b"".join(d.tokens for d in documents), dtype)
        lengths = np.array([len(d.tokens) for d in documents], np.int64) // tokens.itemsize
        starts = np.cumsum(lengths) - lengths
        ends = [np.frombuffer(d.ends, np.int64) + start for d, start in zip(documents, starts.tolist(), strict=True)]
        counts = [len(d.ends) // 8 for d in documents]
        zero = np.zeros(1, np.int64)
        sentences, starts = np.concatenate([zero, *ends]), np.concatenate([zero, np.cumsum(counts, dtype=np.int64)])
        return pairs.Bucket(tokens, sentences, starts, [d.id for d in documents])


@dataclass(frozen=True)
class _Build:
    """Build one output's pairs of a bucket, and write their shard."""

    output: Output
    vocabulary: vocab.Vocabulary
    bucket: pairs.Bucket
    number: int
    count: int

    def __call__(self) -> dict[str, Any]:
        config, pieces = self.output.config, self.vocabulary.pieces
        built = pairs.build(
            self.bucket,
            max_seq_length=config.max_seq_length,
            short_seq_prob=config.short_seq_prob,
            seed=config.seed,
            cls_id=pieces.index("[CLS]"),
            sep_id=pieces.index("[SEP]"),
            continues=self.vocabulary.continues(),
            name=f"bucket {self.number} of {self.count}",
        )
        schema = shards.pair_schema(len(pieces), config.provenance)
        columns: dict[str, Any] = {
            "ends": built.ends,
            "input_ids": built.input_ids,
            "token_type_ids": built.token_type_ids,
            "next_sentence_label": built.labels,
        }
        if config.provenance:
            columns["a_document"] = [self.bucket.ids[d] for d in built.a_documents]
            columns["b_document"] = [self.bucket.ids[d] for d in built.b_documents]
        name = shards.name("train", self.number, self.count, config.format)
        file = shards.write(Path(self.output.root), name, schema, [shards.pair_batch(schema, columns)], config.format)
        tallies = [tally.to_json() for tally in built.tallies]
        repeated = len(self.bucket.ids) - len(set(self.bucket.ids))
        return {"files": [file], "tallies": tallies, "statistics": {**pairs.statistics(built), "repeated_ids": repeated}}


@dataclass(frozen=True)
class Commit:
    """Check that the counts add up, and write each output's vocabulary, data card and, last, manifest."""

    vocabulary: vocab.Vocabulary
    outputs: list[Output]
    inputs: list[dict[str, Any]]
    documents: int

    def roots(self) -> list[Path]:
        """Return the directories of the pairs."""
        return [Path(output.root) for output in self.outputs]

    def __call__(self, reports: list[list[dict[str, Any]]]) -> None:
        for place, output in enumerate(self.outputs):
            self._commit(output, [report[place] for report in reports])

    def _commit(self, output: Output, reports: list[dict[str, Any]]) -> None:
        root, config = Path(output.root), output.config
        statistics: Counter[str] = Counter()
        tallies = [Tally("documents"), Tally("chunks"), Tally("tokens")]
        for report in reports:
            statistics.update(report["statistics"])
            for tally, more in zip(tallies, report["tallies"], strict=True):
                tally.merge(Tally.from_json(more))
        if tallies[0].entered != self.documents:
            raise VerificationError(f"of {self.documents} documents in the corpus {tallies[0].entered} came to their buckets")
        if not statistics["pairs"]:
            reasons = ", ".join(f"{reason} {n}" for reason, n in tallies[0].dropped.items())
            raise EmptyResultError(f"no document gave a pair (dropped: {reasons}): a pair takes a document of two sentences")
        names = vocab.write(root, self.vocabulary)
        made = manifest.make(
            "pairs",
            config=config.identity(),
            inputs=self.inputs,
            shards=[file for report in reports for file in report["files"]],
            tallies=tallies,
            files=[file_entry(root, name) for name in names],
            vocab_size=len(self.vocabulary.pieces),
            statistics={
                **statistics,
                "not_next_share": statistics["not_next"] / statistics["pairs"],
                "mean_length": statistics["tokens"] / statistics["pairs"],
                "padding_share": 1 - statistics["tokens"] / (statistics["pairs"] * config.max_seq_length),
            },
        )
        manifest.check_rows(made, tallies[1].left)
        write_text(root / "README.md", card.write(made))
        write_json(root / manifest.NAME, made)
