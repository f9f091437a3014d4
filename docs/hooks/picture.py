"""Draw docs/report.png, the picture of a report that README shows: `make picture`, after the page has changed.

It builds rows of the sample by README's commands and has Chromium (`apt-get install chromium`) open their report.  The picture
depends on the fonts of the machine, so no test compares it; look at it before it is committed.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import bertdata
from bertdata.sample import sample

PICTURE = Path(__file__).resolve().parents[1] / "report.png"
WIDTH, HEIGHT = 1000, 1040  # of the picture, in pixels: to the end of the first section
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def rows(root: Path) -> Path:
    """Build rows of the sample in a directory; return theirs."""
    corpus = bertdata.build_corpus(wikipedia=sample(), books=sample() / "books", output=root / "corpus", workers=1)
    vocab = bertdata.train_vocab(corpus.path, output=root / "vocab", workers=1)
    (made,) = bertdata.make_pairs(corpus.path, vocab=vocab.path, output=root / "pairs", workers=1)
    return made.path


def draw(page: Path, picture: Path, width: int = WIDTH, height: int = HEIGHT) -> None:
    """Write what a browser shows of a page, from its top."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("needs Chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--user-data-dir={profile}"]
        options += [f"--window-size={width},{height}", f"--screenshot={picture}"]
        subprocess.run([browser, *options, page.as_uri()], check=True, capture_output=True, timeout=120)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as root:
        draw(rows(Path(root)) / "report.html", PICTURE)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size:,} bytes")
