"""Repair damaged tables: torn commits, missing data files, hash indexes, and gaps in the history."""
