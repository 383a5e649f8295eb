"""The same rows written to primary-key tables by Java and by us must leave the same metadata: snapshots, entries of
data, changelog and index files, columns and field ids of the Parquet files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.interop.keyed_cases import KEYED, KEYS, OP, Keyed, has_kinds, keyed_table
from tests.interop.keyed_history import History
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours


def differences(ours: History, its: History) -> dict[str, tuple[Any, Any]]:
    mine, other = ours.told(), its.told()
    names = [*mine, *(name for name in other if name not in mine)]
    return {name: (mine.get(name), other.get(name)) for name in names if mine.get(name) != other.get(name)}


def meant(case: Keyed, name: str) -> bool:
    """What we do differently, and why."""
    if case.name in {"key DOUBLE", "key of zeros"} and name.endswith("_STATS"):
        return True  # our lower bound of 0.0 is -0.0, which is the same to most and safe for those who tell them apart
    if case.options.get("deletion-vectors.bitmap64") and name.endswith("index"):
        return True  # we write vectors of 32 bits; readers tell them apart by their first bytes
    # Java moves a file up without rewriting it where only rows below it have to be marked.
    return "deletion-vectors.enabled" in case.options and name.endswith(("_FILE_SOURCE", " file"))


@pytest.mark.parametrize("case", [*KEYS, *KEYED], ids=lambda c: c.name)
def test_same_metadata(case: Keyed, java: Oracle, tmp_path: Path) -> None:
    for side in (Ours(), java):
        folder = tmp_path / side.name
        side.create_table(
            folder, TABLE, case.fields, case.partition_by, primary_keys=case.keys, options=case.table_options
        )
        for step in case.steps[:2]:
            if isinstance(step, list):
                side.write(folder, TABLE, keyed_table(case.fields, step), row_kind=OP if has_kinds(step) else None)
    found = differences(History(tmp_path / "lakebed"), History(tmp_path / "java"))
    assert {name: pair for name, pair in found.items() if not meant(case, name)} == {}
