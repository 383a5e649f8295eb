"""Kernels on rows: Arrow in, Arrow out. They know files and columns, never the state of a whole table."""
