"""Reads on Spark: which files Spark reads itself, and which go through the merge kernels."""
