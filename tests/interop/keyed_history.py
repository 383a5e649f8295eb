"""Primary-key tables that two writers write in the same way."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.interop.bytes_on_disk import LATER_THAN_JAVA_2_0, OWN_NAMES_AND_CLOCKS, parquet_line, read_avro

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
