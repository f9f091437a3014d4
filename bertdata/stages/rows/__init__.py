"""Build rows from documents: move documents to their buckets, build each bucket's rows, and mask them if masks are static."""
