"""The same rows written to primary-key tables by Java and by us must leave the same metadata: snapshots, entries of data,
changelog and index files, columns and field ids of the Parquet files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.interop.keyed_cases import KEYED, KEYS, OP, Keyed, has_kinds, keyed_table
from tests.interop.matrix import TABLE
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours
from tests.interop.test_java_bytes import LATER_THAN_JAVA_2_0, OWN_NAMES_AND_CLOCKS, parquet_line, read_avro

COUNTS = ("commitKind", "schemaId", "totalRecordCount", "deltaRecordCount", "changelogRecordCount")
DROPPED = OWN_NAMES_AND_CLOCKS | LATER_THAN_JAVA_2_0


class History:
    """What one writer left of a table, snapshot by snapshot."""

    def __init__(self, warehouse: Path) -> None:
        self.root = warehouse / "db.db/t"
        self.names: dict[str, str] = {}  # data files by the order in which they appear: the names themselves are random
        paths = sorted((self.root / "snapshot").glob("snapshot-*"), key=lambda path: int(path.name.split("-")[1]))
        self.snapshots = [json.loads(path.read_text()) for path in paths]

    def told(self) -> dict[str, Any]:
        """Everything that must be the same, by a name that says where it stands."""
        found: dict[str, Any] = {"snapshots": [{k: s.get(k) for k in COUNTS} for s in self.snapshots]}
        for snapshot in self.snapshots:
            for kind in ("delta", "changelog"):
                for i, entry in enumerate(self.entries(snapshot.get(f"{kind}ManifestList"))):
                    where = f"snapshot {snapshot['id']} {kind} entry {i}"
                    found |= {f"{where} {key}": value for key, value in entry.items()}
            found[f"snapshot {snapshot['id']} index"] = list(self.index(snapshot.get("indexManifest")))
        return found

    def entries(self, name: str | None) -> list[dict[str, Any]]:
        if name is None:
            return []
        metas = read_avro(self.root / "manifest" / name)[1]
        entries = [entry for meta in metas for entry in read_avro(self.root / "manifest" / meta["_FILE_NAME"])[1]]
        entries.sort(key=lambda e: (e["_KIND"], e["_PARTITION"], e["_BUCKET"], e["_FILE"]["_MIN_SEQUENCE_NUMBER"]))
        return [self.flat(entry) for entry in entries]

    def flat(self, entry: dict[str, Any]) -> dict[str, Any]:
        file = entry["_FILE"]
        name = self.names.setdefault(file["_FILE_NAME"], f"file {len(self.names)}")
        kept = {key: value for key, value in file.items() if key not in DROPPED}
        plain = {key: value for key, value in entry.items() if key != "_FILE"}
        return {
            **plain,
            **kept,
            "file": name,
            "prefix": file["_FILE_NAME"].split("-")[0],
            "parquet": self.parquet(file),
        }

    def parquet(self, file: dict[str, Any]) -> list[str]:
        path = next(self.root.glob(f"**/bucket-*/{file['_FILE_NAME']}"))
        return [parquet_line(line) for line in str(pq.ParquetFile(path).schema).splitlines()[2:]]

    def index(self, name: str | None) -> Iterator[dict[str, Any]]:
        """Index entries: everything but names and sizes, and for each data file how many rows are marked."""
        if name is None:
            return
        entries = read_avro(self.root / "manifest" / name)[1]
        for entry in sorted(entries, key=lambda e: (e["_PARTITION"], e["_BUCKET"])):
            ranges = entry.pop("_DELETIONS_VECTORS_RANGES") or []
            marked = sorted((self.names[r["f0"]], r["f2"], r["_CARDINALITY"]) for r in ranges)
            yield {k: v for k, v in entry.items() if k != "_FILE_NAME"} | {"marked": marked}


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
