"""The merge engines: what becomes of several rows with the same primary key. Used through ``lakebed.rows.merge_engines.merge_rows``."""
