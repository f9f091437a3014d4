"""Replace e-mail addresses and phone numbers in documents.

    bertdata build-corpus --text letters --map contacts:redact --output corpus

Run this in the directory of this file, or copy the file to yours. The number of edited documents is in manifest.json and on the
data card. The patterns are examples: they miss unusual forms, and some other numbers look like phone numbers. Check their
matches in your text.
"""

import re

from bertdata.records import Document

# Each pattern starts where a run of its characters starts and has bounded repetition, so its time grows linearly with the text.
EMAIL = re.compile(r"(?<![\w.%+-])[\w.%+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
PHONE = re.compile(
    r"""(?<![\w.+-])(?:
        \+\d{1,3}(?:[ -]?\(?\d{2,4}\)?){2,5}     # +44 20 7946 0958, +49 (0171) 3920014
        | (?:\(\d{3}\)[ ]?|\d{3}-)\d{3}-\d{4}    # (212) 555-0123, 212-555-0123
        | 0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4}        # 020 7946 0958, 0171-3920014
    )(?![\w-])""",
    re.VERBOSE,
)


def redact(document: Document) -> Document:
    """Return the document with [EMAIL] and [PHONE] in place of addresses and numbers."""
    sentences = [PHONE.sub("[PHONE]", EMAIL.sub("[EMAIL]", sentence)) for sentence in document.sentences]
    return document._replace(sentences=sentences)
