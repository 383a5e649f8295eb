"""Spark as the engine: the driver plans, tasks run the kernels of ``rows``, the driver makes one commit."""
