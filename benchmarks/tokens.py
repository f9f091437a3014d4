"""Compare the speed and the ids of encoding text with `tokenizers`.

    python benchmarks/tokens.py                 English dumps and books of ../shared/data, or the sample

WordPiece encodes sentences, byte-level BPE encodes documents. Both encoders take turns, batch by batch, and get every text once.
MB/s is UTF-8 text per CPU second of one core. For `tokenizers`, only the call of `encode_batch_fast` is timed; bertdata's time
includes putting the ids into one array and finding the ends of sentences.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ["RAYON_NUM_THREADS"] = "1"  # one core for each library

import numpy as np
import pyarrow.compute as pc
from inputs import corpus, heading

import bertdata
from bertdata.dataset import shards
from bertdata.exports.plain_text import text_of
from bertdata.records import Document
from bertdata.tokens.encode import Encoder, choose
from bertdata.tokens.read import read_any


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=30522, help="tokens of a vocabulary  [default: 30522]")
    parser.add_argument("--work", type=Path, help="directory for inputs, which later runs use again")
    options = parser.parse_args()
    print(heading())
    print("\n| | text, MB | `tokenizers`, MB/s | bertdata, MB/s | ratio | equal ids |\n|---|---:|---:|---:|---:|---|")
    with tempfile.TemporaryDirectory() as scratch:
        work = options.work or Path(scratch)
        for name, config in (("WordPiece", bertdata.VocabConfig()), ("byte-level BPE", bertdata.VocabConfig(model="bpe"))):
            config = dataclasses.replace(config, size=options.size)
            vocab = bertdata.train_vocab(corpus(work), output=work / f"vocab-{config.model}", config=config, workers=1).path
            size, library, ours, equal = measure(corpus(work), vocab)
            row = f"| English, {name} | {size:.1f} | {size / library:.1f} | {size / ours:.1f} | {library / ours:.1f}"
            print(f"{row} | {'yes' if equal else 'NO'} |", flush=True)


def measure(directory: Path, vocab: Path) -> tuple[float, float, float, bool]:
    """Return megabytes of text, CPU seconds of `tokenizers` and of bertdata, and whether all ids are equal."""
    vocabulary = choose(read_any(vocab))
    encoder, library = Encoder(vocabulary), vocabulary.tokenizer()
    library.encode_special_tokens = True
    size, theirs, ours, equal = 0, 0.0, 0.0, True
    batches = [batch for shard in bertdata.open(directory).shards for batch in shards.read_batches(shard)]
    encoder.encode_documents(*(batches[0].column(name).slice(0, 1) for name in ("sentences", "paragraph_starts")))
    for batch in batches:
        english = batch.filter(pc.equal(batch.column("language"), "en"))
        sentences, starts = english.column("sentences"), english.column("paragraph_starts")
        texts = sentences.flatten().to_pylist()
        if not vocabulary.splits_sentences:
            texts = [text_of(Document(**row)) for row in english.to_pylist()]
        size += sum(len(text.encode()) for text in texts)
        begun = time.process_time()
        encodings: list[Any] = library.encode_batch_fast(texts, add_special_tokens=False)
        theirs += time.process_time() - begun
        begun = time.process_time()
        ids, _ = encoder.encode_documents(sentences, starts)
        ours += time.process_time() - begun
        equal &= np.array_equal(ids, [i for encoding in encodings for i in encoding.ids])
    return size / 1e6, theirs, ours, equal


if __name__ == "__main__":
    main()
