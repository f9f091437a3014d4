"""Chain the steps from documents to rows: tokenize each batch once, spread documents over buckets by hash, build rows, commit.

Every bucket is a uniform sample of its split, so pairs built inside a bucket have partners from all of it.  The documents
reach their bucket through spill files, one record batch a bucket, of which the engine only moves references; or, with
``shuffle="engine"``, through the engine's own GroupByKey.  Both give the same bytes.  `spill` is where spill files lie if not in
the output.  Static masks are made last, with the rows.
"""

from __future__ import annotations

from pathlib import Path

from bertdata.build.documents import Corpus
from bertdata.build.levels import Levels
from bertdata.build.rows import buckets
from bertdata.build.rows.bucket import BuildBucket, Output
from bertdata.build.rows.commit import PairsCommit
from bertdata.build.rows.merge import Merge
from bertdata.io.files import to_path
from bertdata.tokens.vocab import AnyVocabulary

from .steps import FlatMap, GroupByKey, Map, Steps
from .transforms import Chain, Gather, Perform, Tasks, Writing

__all__ = ["MakePairs"]


class MakePairs(Chain):
    """Tasks -> documents by bucket -> a shard of pairs for each bucket and output -> a manifest for each output."""

    def __init__(
        self,
        source: Corpus,
        vocabulary: AnyVocabulary,
        outputs: list[Output],
        buckets: int,
        shuffle: str = "files",
        spill: Path | None = None,
    ) -> None:
        super().__init__(to_path(outputs[0].root), source.tasks)
        self._source, self._vocabulary, self._outputs = source, self._hand("vocabulary", vocabulary._asdict()), outputs
        self._buckets, self._shuffle, self._spill = buckets, shuffle, spill or self._root

    def expand(self, begin: Steps) -> Steps:
        root, config = self._root, self._outputs[0].config
        layout = buckets.Layout(config.seed, self._buckets, config.validation_fraction)
        levels = Levels.of(len(self._tasks), layout.total if self._shuffle == "files" else 1)
        reader, group = self._source.reader(), levels.group if levels.are_two else int
        tokenize = buckets.Tokenize(str(self._spill), self._vocabulary, reader, layout, config.chinese_words, group)
        roots = (to_path(output.root) for output in self._outputs)
        build = BuildBucket(self._vocabulary, self._outputs, layout, levels.are_two, str(self._spill))
        commit = PairsCommit(self._vocabulary, self._outputs, self._source.reader(), self._source.manifest["rows"])
        tasks = begin | "Tasks" >> Tasks(root, self._tasks)
        if self._shuffle == "engine":
            documents = tasks | "Tokenize" >> FlatMap(tokenize.documents)
        else:
            perform = Perform(self._spill, "tokenize", tokenize, config.packages, buckets.references)
            documents = tasks | "Tokenize" >> FlatMap(perform)
            if levels.are_two:
                merge = Merge(str(self._spill), layout, levels)
                documents = documents | "By group" >> Map(merge.key) | "Group" >> GroupByKey()
                documents = documents | "Merge" >> FlatMap(Writing(merge, self._spill))
        return (
            documents
            | "Bucket" >> GroupByKey()
            | "Build pairs" >> Map(Writing(build, *roots))
            | "Commit" >> Gather(commit, layout.total)
        )
