"""The files of an index manifest: deletion vectors, and hashes of the keys of dynamic buckets."""
