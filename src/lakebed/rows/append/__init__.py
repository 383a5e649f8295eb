"""Kernels for append tables: write, delete, compact."""
