"""Decide which documents may exchange text, and bring the documents of rare languages together in few partitions.

Documents exchange text within their group: those of one language and script, and with ``pair_within`` source also of one source.
A group is spread over as many partitions as leave each of them 16 of its documents or more. Most groups have enough for all.
The partitions of the others lie in a ring, one group after the other, so that all partitions get about equally many of them:

    partition      0     1     2     3     4     5     6
    en        160   160   160   160   160   160   160      1,120 documents: all partitions
    de         20    20    20                              60 documents: three partitions
    zh Hans                      16    16                  33 documents: two
    zh Hant                                  11            11 documents: one

The manifest of a corpus counts its languages. Of one that has several scripts, such as Chinese, a sample shows their shares.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import pyarrow as pa

from ...config import PairsConfig
from ...dataset.manifest_types import CorpusManifest
from ...records import FileRange, Task
from ...storage.files import to_path
from ...text.language import writing
from ..corpus_reader import Corpus

MIN_DOCUMENTS_PER_PARTITION = 16  # documents of a group per partition, on average, so that they find partners
_SAMPLED_BATCHES = 16  # record batches of 2 MB sampled to count scripts
_OTHER_SCRIPTS = "?"  # scripts of a language that are not in the sample
Group = tuple[str, ...]  # what its documents share: source, language and script, or some of them
Window = tuple[int, int]  # first partition and number of partitions of a group


class DocumentOrigin(NamedTuple):
    """The source, language and script of a document. The script is empty if it was not detected."""

    source: str
    language: str
    script: str = ""


class Partners(NamedTuple):
    """The groups of documents that may exchange text, and the partitions of groups too small to fill all of them.

    Attributes:
        scripts: whether scripts are detected; without pairs nothing needs them.
        across: whether languages and scripts are ignored.
        by_source: whether a group has one source only.
        windows: the partitions of each group in the split ``train``, by group, and those in ``validation``.
    """

    scripts: bool = False
    across: bool = True
    by_source: bool = False
    windows: tuple[dict[Group, Window], dict[Group, Window]] = ({}, {})

    @classmethod
    def of(cls, config: PairsConfig) -> Partners:
        """Return the groups for a configuration, each spread over all partitions."""
        if config.objective != "nsp":
            return cls()
        return cls(True, config.pair_across_languages, config.pair_within == "source")

    def spread(self, corpus: Corpus, config: PairsConfig, train: int, validation: int) -> Partners:
        """Choose the partitions of small groups of a corpus. `train` and `validation` are the partition counts of the splits."""
        if max(train, validation) == 1 or not self.scripts or (self.across and not self.by_source):
            return self
        groups = self._count(corpus)
        shares = ((train, 1 - config.validation_fraction), (validation, config.validation_fraction))
        train_windows, validation_windows = (_windows(groups, partitions, share) for partitions, share in shares)
        return self._replace(windows=(train_windows, validation_windows))

    def group(self, origin: DocumentOrigin) -> Group:
        """Return the group of documents.

        >>> Partners(True, False).group(DocumentOrigin("wikipedia", "zh-tw", "Hant"))
        ('zh', 'Hant')
        """
        source = (origin.source,) if self.by_source else ()
        return source if self.across else (*source, writing.plain(origin.language), origin.script)

    def window(self, origin: DocumentOrigin, held_out: bool) -> Window | None:
        """Return the partitions of a document's group in its split, or None for all partitions."""
        windows, group = self.windows[held_out], self.group(origin)
        return windows.get(group) or windows.get((*group[:-1], _OTHER_SCRIPTS))

    def _count(self, corpus: Corpus) -> dict[Group, float]:
        """Estimate the number of documents of each group."""
        counts: dict[Group, float] = {}
        languages = dict(_languages(corpus.manifest))
        several = set() if self.across else {code for _, code in languages if not writing.has_one_script(code)}
        sampled = _sample(corpus, several) if several else Counter[DocumentOrigin]()
        for (source, language), documents in languages.items():
            found = {writing.script(language, ""): 1}
            if language in several:
                found = {origin.script: n for origin, n in sampled.items() if origin[:2] == (source, language)}
                # A script missing from the sample likely has no more than one document in that many.
                found[_OTHER_SCRIPTS] = 1
            for script, n in found.items():
                group = self.group(DocumentOrigin(source, language, script))
                counts[group] = counts.get(group, 0) + documents * n / sum(found.values())
        return counts


def origins(sources: pa.Array, languages: pa.Array, documents: pa.ListArray, scripts: bool) -> list[DocumentOrigin]:
    """Return the origin of each document [D]. The text is read only for languages with several scripts."""
    found: list[DocumentOrigin] = []
    known: dict[tuple[str, str], DocumentOrigin] = {}
    for row, pair in enumerate(zip(sources.to_pylist(), languages.to_pylist(), strict=True)):
        if (origin := known.get(pair)) is None:
            source, language = pair
            has_one = not scripts or writing.has_one_script(language)
            text = "" if has_one else "".join(documents[row].as_py())
            origin = DocumentOrigin(source, language, writing.script(language, text) if scripts else "")
            if has_one:
                known[pair] = origin
        found.append(origin)
    return found


def origins_of(manifest: CorpusManifest) -> list[tuple[str, str]]:
    """Return the sources and languages of a corpus, sorted. The origin number of a row is an index of this list."""
    return sorted(origin for origin, _ in _languages(manifest))


def fill(manifest: CorpusManifest, config: PairsConfig) -> int:
    """Return the maximum number of partitions in which the documents of a corpus still find partners.

    Either the largest group fills all of them, or several groups share each partition.
    """
    partners, groups = Partners.of(config), Counter[Group]()
    for (source, language), documents in _languages(manifest):
        groups[partners.group(DocumentOrigin(source, language))] += documents
    filled = [max(1, documents // MIN_DOCUMENTS_PER_PARTITION) for documents in groups.values()]
    return max(1, max(filled, default=0), sum(filled) // 2)


def _languages(manifest: CorpusManifest) -> Iterator[tuple[tuple[str, str], int]]:
    """Yield ((source, language), number of documents)."""
    for source, entry in manifest.sources.items():
        for language, counts in entry.languages.items():
            yield (source, language), counts.documents


def _windows(groups: Mapping[Group, float], partitions: int, share: float) -> dict[Group, Window]:
    """Place groups that are too small for all partitions into a ring of partitions, the largest group first."""
    # The largest group comes first, and each group begins where the one before ended. So small
    # groups are spread over the ring instead of all beginning at partition 0.
    windows: dict[Group, Window] = {}
    start = 0
    for group, documents in sorted(groups.items(), key=lambda item: (-item[1], item[0])):
        count = max(1, int(documents * share) // MIN_DOCUMENTS_PER_PARTITION)
        if count >= partitions:
            windows[group] = (0, partitions)
        else:
            windows[group] = (start, count)
            start = (start + count) % partitions
    return windows


def _sample(corpus: Corpus, languages: Iterable[str]) -> Counter[DocumentOrigin]:
    """Count the origins of documents in these languages, in a few record batches spread evenly over the corpus."""
    wanted, counts = set(languages), Counter[DocumentOrigin]()
    batches = [(shard.name, number) for shard in corpus.manifest.shards for number in range(shard.batches)]
    count = min(_SAMPLED_BATCHES, len(batches))
    # The middles of `count` equal sections: of 100 batches and 4 samples, batches 12, 37, 62 and
    # 87.
    for name, number in (batches[len(batches) * (2 * index + 1) // (2 * count)] for index in range(count)):
        path = str(to_path(corpus.reader.directory) / name)
        task = Task(0, "documents", (FileRange(name, path, number, number + 1),))
        for sources, spoken, documents in corpus.reader.columns(task, "source", "language", "sentences", whole=False):
            chosen = pa.array([language in wanted for language in spoken.to_pylist()], pa.bool_())
            counts.update(origins(sources.filter(chosen), spoken.filter(chosen), documents.filter(chosen), True))
    return counts
