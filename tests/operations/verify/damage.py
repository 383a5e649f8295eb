"""Tables to break, and the tools to break exactly one thing of them.

A :class:`Surgeon` changes a table on disk as a faulty writer would have: what it does not mean to break keeps fitting,
so that sizes of rewritten manifests are right in the lists, and sizes of lists in the snapshots.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from tests.places import stored_path

import lakebed
from lakebed.format.commit_facts import CHECKSUM
from lakebed.format.manifest.avro import decode_records
from lakebed.format.manifest.index_manifest import IndexEntry, decode_index_manifest, encode_index_manifest
from lakebed.format.manifest.manifest import (
    ManifestMeta,
    decode_manifest,
    decode_manifest_list,
    encode_manifest,
    encode_manifest_list,
    entries_from_rows,
)
from lakebed.operations.verify import Problem, Report
from lakebed.operations.verify.verify import verify

Row = dict[str, Any]


def rows(*ids: int, **more: Any) -> pa.Table:
    """Rows of a table with the columns ``id`` and ``v``, and more columns with one value."""
    columns = {"id": pa.array(ids, pa.int64()), "v": pa.array([f"v{i}" for i in ids])}
    return pa.table({**columns, **{name: pa.array([value] * len(ids)) for name, value in more.items()}})


def appended(lake: lakebed.Lake, name: str = "db.a", commits: int = 4, **more: Any) -> lakebed.Table:
    """A plain append table with some commits."""
    table = lake.create_table(name, "id BIGINT, v STRING", **more)
    for i in range(commits):
        table.write(rows(2 * i, 2 * i + 1))
    return table


def partitioned(lake: lakebed.Lake, name: str = "db.p") -> lakebed.Table:
    table = lake.create_table(name, "id BIGINT, v STRING, dt STRING", partition_by=["dt"])
    for i in range(3):
        table.write(pa.concat_tables([rows(i, dt="x"), rows(i + 10, dt="y")]))
    return table


def keyed(lake: lakebed.Lake, name: str = "db.k", **options: str) -> lakebed.Table:
    """A keyed table of one bucket that is compacted only when asked, with two files."""
    given = {"bucket": "1", "write-only": "true", **{key.replace("_", "-"): value for key, value in options.items()}}
    table = lake.create_table(name, "id BIGINT, v STRING", primary_key=["id"], options=given)
    table.write(rows(1, 2, 3))
    table.write(rows(10, 20, 30))
    return table


def with_vectors(lake: lakebed.Lake, name: str = "db.d") -> lakebed.Table:
    """A keyed table with deletion vectors: three large rows, one of them marked as deleted."""
    options = {"bucket": "1", "deletion-vectors.enabled": "true", "compaction.size-ratio": "0"}
    table = lake.create_table(name, "id BIGINT, v STRING", primary_key=["id"], options=options)
    table.write(rows(*range(2000)))
    table.write(rows(7))
    assert Surgeon(table).index_entries(), "the table was to have a deletion vector"
    return table


def found(table: lakebed.Table, *, deep: bool = False) -> list[tuple[str, str, str]]:
    """Severity, code and place (below the table's folder) of all problems."""
    return [told(problem, table) for problem in verify(table._store, deep=deep).problems]


def told(problem: Problem, table: lakebed.Table) -> tuple[str, str, str]:
    return problem.severity, problem.code, problem.where.removeprefix(table.path + "/")


def only_problem(table: lakebed.Table, *, deep: bool = False) -> Problem:
    report: Report = verify(table._store, deep=deep)
    assert len(report.problems) == 1, str(report)
    return report.problems[0]


class Surgeon:
    """Changes the files of a table in place."""

    def __init__(self, table: lakebed.Table) -> None:
        self.table = table
        self.root = stored_path(table.path)

    # ------------------------------------------------------------------------------------------------- looking

    def snapshot(self, number: int) -> Row:
        found: Row = json.loads((self.root / f"snapshot/snapshot-{number}").read_text())
        return found

    def latest(self) -> int:
        latest = self.table.latest_snapshot()
        assert latest is not None
        return latest.id

    def metas(self, number: int, which: str = "delta") -> list[ManifestMeta]:
        return self._list(self.snapshot(number)[f"{which}ManifestList"])

    def entries(self, number: int) -> list[Row]:
        (meta,) = self.metas(number)
        path = self.root / "manifest" / meta.file_name
        listed: list[Row] = decode_manifest(path.read_bytes(), where=str(path)).to_pylist()
        return listed

    def data_files(self) -> list[Path]:
        return sorted(self.root.glob("**/bucket-*/*.parquet"))

    def file_of(self, number: int, at: int = 0) -> Path:
        """The data file that a snapshot added."""
        name = self.entries(number)[at]["file_name"]
        (path,) = self.root.glob(f"**/{name}")
        return path

    def manifest_of(self, number: int) -> Path:
        return self.root / "manifest" / self.metas(number)[0].file_name

    def index_entries(self, number: int | None = None) -> list[IndexEntry]:
        name = self.snapshot(number or self.latest()).get("indexManifest")
        return [] if name is None else decode_index_manifest((self.root / "manifest" / name).read_bytes(), where=name)

    def _list(self, name: str) -> list[ManifestMeta]:
        return decode_manifest_list((self.root / "manifest" / name).read_bytes(), where=name)

    # ------------------------------------------------------------------------------------------------ changing

    def change_snapshot(self, number: int, **changes: Any) -> None:
        self._write_json(f"snapshot/snapshot-{number}", {**self.snapshot(number), **changes})

    def change_json(self, path: str, **changes: Any) -> None:
        self._write_json(path, {**json.loads((self.root / path).read_text()), **changes})

    def _write_json(self, path: str, content: Row) -> None:
        """Write a file as a faulty writer would: without a checksum, which would tell of every change."""
        if CHECKSUM in (properties := content.get("properties") or {}):
            content = {**content, "properties": {key: properties[key] for key in properties if key != CHECKSUM}}
        (self.root / path).write_text(json.dumps({key: value for key, value in content.items() if value is not None}))

    def change_entries(self, number: int, change: Callable[[Row], Row | None]) -> None:
        """Change the entries that a snapshot added; those that become ``None`` go."""
        changed = [entry for entry in map(change, self.entries(number)) if entry is not None]
        self.manifest_of(number).write_bytes(encode_manifest(entries_from_rows(changed)))
        self.fit()

    def change_metas(self, change: Callable[[ManifestMeta], ManifestMeta]) -> None:
        """Change what lists say about manifests, in all lists."""
        for name in {name for number in self._numbers() for name in self._lists(number)}:
            self._write_list(name, [change(meta) for meta in self._list(name)])
        self._fit_lists()

    def change_list(
        self, number: int, which: str, change: Callable[[list[ManifestMeta]], Sequence[ManifestMeta]]
    ) -> None:
        name = self.snapshot(number)[f"{which}ManifestList"]
        self._write_list(name, change(self._list(name)))
        self._fit_lists()

    def change_index(self, change: Callable[[IndexEntry], IndexEntry | None], number: int | None = None) -> None:
        """Change the entries of a snapshot's index manifest."""
        name = self.snapshot(number or self.latest())["indexManifest"]
        changed = [entry for entry in map(change, self.index_entries(number)) if entry is not None]
        (self.root / "manifest" / name).write_bytes(encode_index_manifest(changed))

    def fit(self) -> None:
        """Let sizes and counts in all lists be those of the manifests."""

        def fitted(meta: ManifestMeta) -> ManifestMeta:
            path = self.root / "manifest" / meta.file_name
            # Records, because a manifest with a name that leads out of the table cannot be decoded.
            kinds = [record["_KIND"] for record in decode_records(path.read_bytes(), where=str(path))]
            return replace(
                meta,
                file_size=path.stat().st_size,
                num_added_files=kinds.count(0),
                num_deleted_files=kinds.count(1),
            )

        self.change_metas(fitted)

    def _numbers(self) -> list[int]:
        return sorted(int(path.name.removeprefix("snapshot-")) for path in self.root.glob("snapshot/snapshot-*"))

    def _lists(self, number: int) -> list[str]:
        keys = ("baseManifestList", "deltaManifestList", "changelogManifestList")
        return [self.snapshot(number)[key] for key in keys if key in self.snapshot(number)]

    def _write_list(self, name: str, metas: Sequence[ManifestMeta]) -> None:
        (self.root / "manifest" / name).write_bytes(encode_manifest_list(metas))

    def _fit_lists(self) -> None:
        for number in self._numbers():
            snapshot = self.snapshot(number)
            for key in ("baseManifestList", "deltaManifestList", "changelogManifestList"):
                if key in snapshot:
                    snapshot[f"{key}Size"] = (self.root / "manifest" / snapshot[key]).stat().st_size
            self._write_json(f"snapshot/snapshot-{number}", snapshot)
