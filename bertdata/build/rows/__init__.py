"""Documents to rows: move them to their buckets, tell Chinese words, mask rows once and for all."""
