"""Streams over a table: positions in its history, and the files between two positions.

``table_stream`` plans batches, ``positions`` is what a checkpoint stores, ``stream_files`` lists the files of a
snapshot, ``binlog`` pairs the rows of updates for ``$binlog``.
"""
