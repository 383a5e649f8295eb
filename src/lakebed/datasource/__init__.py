"""The Spark data source ``lakebed``: batch reads and writes, and streams."""
