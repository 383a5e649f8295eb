"""Repairs of damaged tables: missing data files, hash indexes, and holes in the history."""
