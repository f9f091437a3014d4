"""A dataset on disk: its manifest, the run that makes it, and its shards."""
