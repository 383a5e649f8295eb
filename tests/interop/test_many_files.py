"""Commits of many files, whose manifests are encoded by column: Java and pypaimon read them, whatever the codec."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.interop.cases import ID_V_DT, Rows, comparable, expected, table
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

import lakebed


@pytest.mark.parametrize("codec", ["zstd", "snappy", "deflate", "null"])
def test_everyone_reads_a_commit_of_many_files(
    ours: Ours, java: Oracle, pypaimon: Oracle, tmp_path: Path, codec: str
) -> None:
    ours.create_table(tmp_path, TABLE, ID_V_DT, ["dt"], options={"manifest.compression": codec})
    rows: Rows = [(i, f"v{i}" if i % 3 else None, f"day {i % 90:02}") for i in range(300)]
    for first in range(0, 300, 100):
        ours.write(tmp_path, TABLE, table(ID_V_DT, rows[first : first + 100]))
    ours.truncate(tmp_path, TABLE, [{"dt": "day 07"}])
    left = [row for row in rows if row[2] != "day 07"]
    opened = lakebed.connect(str(tmp_path)).table(TABLE)
    for step in ("as written", "compacted"):
        # Java finds snappy only where the library is on its class path, and the jar at hand has it not.
        for side in (ours, pypaimon) if codec == "snappy" else (ours, java, pypaimon):
            assert comparable(side.read(tmp_path, TABLE), ID_V_DT) == expected(ID_V_DT, left), (side.name, step)
        opened.compact_manifests()
    assert opened.verify(deep=True).problems == ()
