"""Build rows from documents: move documents to partitions, build each partition's rows, and mask them if masks are static."""
