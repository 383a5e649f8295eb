"""Repair damaged tables: missing data files, hash indexes, and gaps in the history."""
