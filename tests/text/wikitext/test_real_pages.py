"""Real pages against the text that MediaWiki itself rendered of them, with all templates empty."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

LEAST = {  # wordF1, paraF1
    "ALL": (0.9998, 0.988),
    "en22": (0.9997, 0.984),
    "en14": (0.9995, 0.995),
    "ja22": (0.9999, 0.985),
    "it13": (0.9999, 0.998),
    "zhC": (0.9999, 0.992),
}


@pytest.mark.long
def test_score(shared: Path) -> None:
    command = [sys.executable, str(shared / "tools" / "score_extraction.py"), "bertdata.text.wikitext:extract_paragraphs"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row = re.compile(r"^(\w+) .* wordF1 ([0-9.]+) .* paraF1 ([0-9.]+)  residue ([0-9.]+)", re.MULTILINE)
    scores = {source: tuple(map(float, figures)) for source, *figures in row.findall(done.stdout)}
    for source, (words, paragraphs) in LEAST.items():
        assert scores[source][0] >= words and scores[source][1] >= paragraphs, source
    assert scores["ALL"][2] <= 0.2
