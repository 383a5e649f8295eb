"""Chain tables: full partitions in one branch, changes in another, and every day's whole view out of both."""
