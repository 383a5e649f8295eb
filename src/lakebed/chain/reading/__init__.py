"""Reads of chain tables: which partitions are read from which branch, and how their rows are merged."""
