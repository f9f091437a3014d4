"""Chain the steps from documents to rows: tokenize each batch once, spread documents over buckets by hash, build rows, commit.

Every bucket is a uniform sample of its split, but for rare languages, whose documents meet in few buckets.  So pairs built inside
a bucket have partners from all of the split.  The documents
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
from bertdata.build.rows.partners import Partners
from bertdata.io.files import to_path
from bertdata.tokens.vocab import AnyVocabulary

from . import command
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
        buckets_in_all: int,
        shuffle: str = "files",
        spill: Path | None = None,
    ) -> None:
        super().__init__(to_path(outputs[0].root), source.tasks)
        self._source, self._vocabulary, self._outputs = source, self._store("vocabulary", vocabulary._asdict()), outputs
        self._config, self._shuffle, self._spill = outputs[0].config, shuffle, spill or self._root
        layout = buckets.Layout(self._config.seed, buckets_in_all, self._config.validation_fraction)
        partners = Partners.of(self._config).spread(source, self._config, layout.train, layout.validation)
        self._layout = layout._replace(partners=partners)
        self._levels = Levels.of(len(self._tasks), self._layout.total if shuffle == "files" else 1)

    def expand(self, begin: Steps) -> Steps:
        roots = (to_path(output.root) for output in self._outputs)
        build = BuildBucket(self._vocabulary, self._outputs, self._layout, self._levels.are_two, str(self._spill))
        commit = PairsCommit(self._vocabulary, self._outputs, self._source.reader, self._source.manifest.rows, str(self._spill))
        return (
            self._by_bucket(begin | "Tasks" >> Tasks(self._root, self._tasks))
            | "Bucket" >> GroupByKey()
            | "Build pairs" >> Map(Writing(build, *roots, packages=self._config.packages))
            | "Commit" >> Gather(commit, self._layout.total, packages=self._config.packages)
        )

    def _by_bucket(self, tasks: Steps) -> Steps:
        """Tokenize, and give each document, or each reference to a range of a spill file, the number of its bucket as a key."""
        group, spill = self._levels.group if self._levels.are_two else int, str(self._spill)
        reader, chinese = self._source.reader, self._config.chinese_words
        tokenize = buckets.Tokenize(spill, self._vocabulary, reader, self._layout, chinese, group)
        if self._shuffle == "engine":
            return tasks | "Tokenize" >> FlatMap(Writing(tokenize.documents, self._root, packages=self._config.packages))
        perform = Perform(self._spill, "tokenize", tokenize, self._config.packages, buckets.references)
        documents = tasks | "Tokenize" >> FlatMap(perform)
        if not self._levels.are_two:
            return documents
        merge = Merge(spill, self._layout, self._levels)
        documents = documents | "By group" >> Map(merge.key) | "Group" >> GroupByKey()
        return documents | "Merge" >> FlatMap(Writing(merge, self._spill))


if __name__ == "__main__":
    command.run("make-pairs")
