"""The same work on Spark: the driver plans, tasks run the kernels of ``rows``, one commit makes it visible."""
