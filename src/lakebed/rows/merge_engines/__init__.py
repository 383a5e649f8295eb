"""The merge engines: several rows with the same primary key become one. ``merge_rows`` is the entry."""
