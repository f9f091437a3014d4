"""A dataset on disk: its manifest, the run that writes it, and its shards."""
