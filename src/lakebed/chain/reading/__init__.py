"""Reads of main of a chain table: which partitions, from which branches, at which snapshots, and the merge itself."""
