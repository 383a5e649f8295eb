"""Compares files on disk: which lines may differ from Java's, and how files are shown as text."""

import re
from pathlib import Path
from typing import Any

import fastavro

# What may differ, and why.
OWN_NAMES_AND_CLOCKS = {"_FILE_NAME", "_FILE_SIZE", "_CREATION_TIME"}


LATER_THAN_JAVA_2_0 = {"_WRITE_COLS_SEQUENCES", "_TOTAL_BUCKETS", "_EXTRA_FILES"}


def read_avro(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        rows = list(reader)
        schema = reader.writer_schema
    assert isinstance(schema, dict)
    return schema, rows


def parquet_line(line: str) -> str:
    """One line of a Parquet schema without what has no meaning: how the annotation came to be, a legacy annotation."""
    line = re.sub(r", is_from_converted_type=\w+, force_set_converted_type=\w+", "", line)
    return line.replace("key_value (Map)", "key_value")
