"""A data set on disk: its manifest, the run that makes it, and its shards."""
