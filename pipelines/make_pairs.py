"""Documents to rows: tokenize each batch once, spread documents over buckets by hash, build each bucket's rows, commit.

Every bucket is a uniform sample of its split, so pairs built inside a bucket have partners from all of it.  The documents
reach their bucket through spill files, one record batch a bucket, of which the engine only moves references; or, with
``shuffle="engine"``, through the engine's own GroupByKey.  Both give the same bytes.  Static masks are made last, with the rows.
"""

from __future__ import annotations

import apache_beam as beam

from bertdata.build.documents import Corpus
from bertdata.build.rows import buckets
from bertdata.build.rows.bucket import BuildBucket, Output
from bertdata.build.rows.commit import PairsCommit
from bertdata.io.files import to_path
from bertdata.tokens.vocab import AnyVocabulary

from .transforms import Gather, Perform, Tasks, Writing

__all__ = ["MakePairs"]


class MakePairs(beam.PTransform):
    """Tasks -> documents by bucket -> a shard of pairs for each bucket and output -> a manifest for each output."""

    def __init__(
        self, source: Corpus, vocabulary: AnyVocabulary, outputs: list[Output], buckets: int, shuffle: str = "files"
    ) -> None:
        super().__init__()
        self._source, self._vocabulary, self._outputs = source, vocabulary, outputs
        self._buckets, self._shuffle = buckets, shuffle

    def expand(self, begin: beam.pvalue.PBegin) -> beam.PCollection:
        root, config = to_path(self._outputs[0].root), self._outputs[0].config
        layout = buckets.Layout(config.seed, self._buckets, config.validation_fraction)
        tokenize = buckets.Tokenize(str(root), self._vocabulary, self._source.reader(), layout, config.chinese_words)
        roots = (to_path(output.root) for output in self._outputs)
        build = BuildBucket(self._vocabulary.for_rows(), self._outputs, layout)
        commit = PairsCommit(self._vocabulary, self._outputs, self._source.reader(), self._source.manifest["rows"])
        tasks = begin | "Tasks" >> Tasks(self._source.tasks)
        if self._shuffle == "engine":
            documents = tasks | "Tokenize" >> beam.FlatMap(tokenize.documents)
        else:
            reports = tasks | "Tokenize" >> beam.ParDo(Perform(root, "tokenize", tokenize, config.packages))
            documents = reports | "By bucket" >> beam.FlatMap(buckets.references)
        return (
            documents
            | "Bucket" >> beam.GroupByKey()
            | "Build pairs" >> beam.Map(Writing(build, *roots))
            | "Commit" >> Gather(commit, layout.total)
        )
