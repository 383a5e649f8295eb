"""Reads on Spark: by Spark's own Parquet reader where possible, by Lakebed's readers in Python tasks otherwise."""
