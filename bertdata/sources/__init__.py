"""Read what users have: Wikipedia dumps, books and other text become pages, paragraphs and named rejects."""

__all__ = ["ARCHIVES", "PLAIN", "SUFFIXES", "TABLES"]

_PACKED = (".bz2", ".gz", ".xz", ".zst")
TABLES = (".jsonl", *(f".jsonl{packer}" for packer in _PACKED), ".parquet", ".arrow")  # a text a row
ARCHIVES = (".tar", *(f".tar{packer}" for packer in _PACKED))  # a book a member
PLAIN = (".txt", ".train", ".dev", ".test")  # plain text; the last three are of the splits of a data set, as BabyLM names them
SUFFIXES = {
    "wikipedia": (".xml", *(f".xml{packer}" for packer in _PACKED)),
    "books": (".txt", ".epub", *ARCHIVES, *TABLES),
    "text": (*PLAIN, *TABLES),
}  # what each source reads, by the option that names it
