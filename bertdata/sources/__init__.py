"""Read what users have: Wikipedia dumps, books and other text become pages, paragraphs and named rejects."""

__all__ = ["SUFFIXES"]

SUFFIXES = {
    "wikipedia": (".xml", ".xml.bz2", ".xml.gz", ".xml.xz", ".xml.zst"),
    "books": (".txt",),
    "text": (".txt", ".jsonl", ".jsonl.gz"),
}  # what each source reads, by the option that names it
