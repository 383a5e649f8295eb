"""Writes and compactions on Spark: the exchange of rows, the tasks that write files, and the jobs around them."""
