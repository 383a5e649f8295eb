"""The commands of ``lakebed``, one module for each group."""
