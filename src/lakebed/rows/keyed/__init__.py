"""Kernels for primary-key tables: write, merge, read, compact, and the changelog of a compaction."""
