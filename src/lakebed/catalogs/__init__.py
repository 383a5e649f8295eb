"""Catalogs: which databases and tables a warehouse has, and where each table is.

:class:`lakebed.Lake` asks a catalog for names and stores; it does not know how they are kept. ``file_system`` is the
only catalog today. ``table_name`` parses names such as ``db.t$branch_b$snapshots``.
"""
