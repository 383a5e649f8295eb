"""Data files: write them, read them, and map their columns to the current schema."""
