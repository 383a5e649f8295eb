"""Data files: one file after another is written, read, and shown with the columns of the current schema."""
