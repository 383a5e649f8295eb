"""Checks what manifests say about data files: they exist, in the folder of their partition, with plausible numbers.

All files of a branch are checked at once, as columns. Problems are grouped by folder: many files that were lost with
one folder are one problem. No file is opened here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.binary_row import decode_rows
from lakebed.format.human_text import count_text
from lakebed.format.schema.table_schema import TableSchema
from lakebed.format.statistics.file_stats import decode_stats
from lakebed.format.types.data_types import Field, nullable
from lakebed.metadata.data_file_paths import path_array
from lakebed.metadata.external_paths import HOW_TO_DECLARE, is_undeclared, local_paths, undeclared_text
from lakebed.operations.verify.check_branches import Branch
from lakebed.operations.verify.key_ranges import KeyRanges, culprits
from lakebed.operations.verify.replay_history import Needs
from lakebed.operations.verify.report import Findings, some
from lakebed.operations.verify.table_listing import Listing

I64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

_RESTORE: Final = "restore it from a backup; else roll back to a snapshot that does not need it"
_WRONG_ENTRY: Final = "the manifest was damaged or written by a faulty writer; roll back, or rewrite the rows"


@dataclass
class FileTable:
    """The files of all manifests, one row each, and the results of checks.

    ``paths`` are their expected paths. ``sound`` becomes false with the first error, so that a file is reported once
    and the deep check skips it.
    """

    files: pa.Table
    paths: npt.NDArray[Any]
    sound: Bools

    @staticmethod
    def of(files: pa.Table) -> FileTable:
        return FileTable(files, np.full(len(files), None, object), np.ones(len(files), np.bool_))


@dataclass
class FileCheck:
    """Checks the files of one branch that no earlier branch has."""

    branch: Branch
    table: FileTable
    keys: KeyRanges
    needs: Needs
    found: Findings

    def run(self, rows: I64, listing: Listing) -> Listing:
        """Check these files; returns the listing, with the folders of external files."""
        schema = self.branch.schema
        if schema is None or not len(rows):
            return listing
        rows = self._with_partition(rows, schema)
        listing = self._check_places(rows, schema, listing)
        self._check_numbers(rows, schema)
        for schema_id in np.unique(self._column("schema_id", rows)).tolist():
            own = self.branch.schemas.get(schema_id)
            if own is not None:
                part = rows[self._column("schema_id", rows) == schema_id]
                self._check_stats(part, own)
        self._check_keys(rows)
        return listing

    def check_schemas(self, rows: I64) -> None:
        """Check that the schema of every file exists in its branch."""
        ids = self._column("schema_id", rows)
        for schema_id in sorted(set(np.unique(ids).tolist()) - set(self.branch.schemas)):
            if self.branch.store.storage.exists(self.branch.store.paths.schema(schema_id)):
                continue  # it exists and cannot be read, which was reported
            users = rows[ids == schema_id]
            path = self.branch.store.paths.schema(schema_id)
            if any(problem.where == path for problem in self.found.problems):
                continue
            self.found.error(
                "missing-schema",
                f"schema {schema_id}{self.branch.suffix} does not exist; {count_text(len(users), 'file')} used it "
                f"({some(self._names(users))})",
                path,
                "restore the schema file from a backup",
            )

    # --------------------------------------------------------------------------------------------- names and groups

    def _column(self, name: str, rows: I64) -> npt.NDArray[np.int64]:
        column = self.table.files[name].take(rows)
        return np.asarray(column.fill_null(0).to_numpy(), np.int64)

    def _names(self, rows: I64) -> list[str]:
        names: list[str] = self.table.files["file_name"].take(rows).to_pylist()
        return names

    def complain(self, code: str, rows: I64, what: Callable[[int], str], advice: str = _WRONG_ENTRY) -> None:
        """Add one problem per folder; ``what`` returns what is wrong with one file."""
        rows = rows[self.table.sound[rows]]
        self.table.sound[rows] = False
        groups: dict[str, list[int]] = {}
        for row in rows.tolist():
            path = self.table.paths[row] or f"/{self._names(np.array([row]))[0]}"
            groups.setdefault(path.rsplit("/", 1)[0], []).append(row)
        for folder, members in groups.items():
            first = members[0]
            text = f"{what(first)}; needed by {self.needs.who(first)}"
            names = self._names(np.array(members))
            where = self.table.paths[first] or names[0]
            if len(members) > 1:
                text += f". The same holds for {len(members)} files in this folder: {some(names)}"
                where = folder
            self.found.error(code, text, where, advice)

    # ------------------------------------------------------------------------------------------- partitions, places

    def _with_partition(self, rows: I64, schema: TableSchema) -> I64:
        """Returns the files whose partition can be decoded."""
        encoded = self.table.files["partition"].take(rows).combine_chunks().dictionary_encode()
        types = [field.type for field in schema.partition_fields]
        bad = culprits(
            len(encoded.dictionary), lambda part: decode_rows(encoded.dictionary.take(pa.array(part)), types)
        )
        if not len(bad):
            return rows
        wrong = np.isin(encoded.indices.to_numpy(zero_copy_only=False), bad)
        self.complain(
            "wrong-partition", rows[wrong], lambda row: f"the partition of {self._name(row)} cannot be decoded"
        )
        return rows[~wrong]

    def _name(self, row: int) -> str:
        return str(self.table.files["file_name"][row].as_py())

    def _check_places(self, rows: I64, schema: TableSchema, listing: Listing) -> Listing:
        """Check that every file is in the folder of its partition and bucket, with the size of the manifest."""
        table = self.table
        rows = self._without_undeclared(rows, schema)
        files = table.files.take(rows)
        paths = path_array(self.branch.store, schema, files)
        table.paths[rows] = paths.to_pylist()
        outside = paths.filter(files["external_path"].combine_chunks().is_valid())
        if len(outside):
            folders = {path.rsplit("/", 1)[0] for path in outside.to_pylist()}
            listing = listing.with_folders(self.branch.store.storage, sorted(folders))
        at = listing.find(paths)
        self._check_missing(rows[at < 0], listing)
        there, at = rows[at >= 0], at[at >= 0]
        sizes = self._column("file_size", there)
        wrong = sizes != listing.sizes[at]
        actual = dict(zip(there[wrong].tolist(), listing.sizes[at][wrong].tolist(), strict=True))
        told = dict(zip(there[wrong].tolist(), sizes[wrong].tolist(), strict=True))
        self.complain(
            "wrong-size",
            there[wrong],
            lambda row: f"{self._name(row)} has {actual[row]} bytes, its manifest says {told[row]}",
            _RESTORE,
        )
        self._check_extra_files(there, listing)
        return listing

    def _without_undeclared(self, rows: I64, schema: TableSchema) -> I64:
        """Returns the files that are below the table, or below a root that the table declares."""
        paths = local_paths(self.table.files["external_path"].take(rows).combine_chunks())
        if paths.null_count == len(paths):
            return rows
        wrong = np.asarray(is_undeclared(self.branch.store, schema, paths), np.bool_)
        placed = dict(zip(rows.tolist(), paths.to_pylist(), strict=True))
        self.complain(
            "file-outside-table",
            rows[wrong],
            lambda row: undeclared_text(self._name(row), placed[row]),
            HOW_TO_DECLARE,
        )
        declared: I64 = rows[~wrong]
        return declared

    def _check_missing(self, rows: I64, listing: Listing) -> None:
        if not len(rows):
            return
        base = pc.replace_substring_regex(listing.paths, r"^.*/", "")
        elsewhere = np.asarray(
            pc.index_in(self.table.files["file_name"].take(rows).combine_chunks(), value_set=base).fill_null(-1),
            np.int64,
        )
        moved = dict(zip(rows.tolist(), elsewhere.tolist(), strict=True))
        self.complain(
            "wrong-folder",
            rows[elsewhere >= 0],
            lambda row: (
                f"{self._name(row)} lies at {listing.paths[moved[row]]}, where its partition and bucket do not belong"
            ),
            "move the file to the place named here; if that is wrong too, the manifest is damaged: roll back",
        )
        self.complain(
            "missing-data-file", rows[elsewhere < 0], lambda row: f"data file {self._name(row)} is not there", _RESTORE
        )

    def _check_extra_files(self, rows: I64, listing: Listing) -> None:
        extra = self.table.files["extra_files"].take(rows).combine_chunks()
        owners = rows[pc.list_parent_indices(extra).to_numpy()]
        if not len(owners):
            return
        names = extra.flatten().to_pylist()
        folders = [str(self.table.paths[row]).rsplit("/", 1)[0] for row in owners.tolist()]
        paths = [f"{folder}/{name}" for folder, name in zip(folders, names, strict=True)]
        at = listing.find(pa.array(paths, pa.string()))
        for i in np.flatnonzero(at < 0).tolist():
            self.found.error(
                "missing-extra-file",
                f"{names[i]}, which belongs to {self._name(int(owners[i]))}, is not there",
                paths[i],
                _RESTORE,
            )

    # ------------------------------------------------------------------------------------------------------ numbers

    def _check_numbers(self, rows: I64, schema: TableSchema) -> None:
        """Check counts, sequence numbers, buckets and levels for impossible values."""
        records, deletes = self._column("row_count", rows), self._column("delete_row_count", rows)
        low, high = self._column("min_sequence_number", rows), self._column("max_sequence_number", rows)
        bucket, total = self._column("bucket", rows), self._column("total_buckets", rows)
        level = self._column("level", rows)
        kinds = self.table.files["file_source"].take(rows).fill_null(0)
        self.complain(
            "wrong-row-count",
            rows[(records < 0) | (deletes < 0) | (deletes > records)],
            lambda row: (
                f"{self._name(row)} is said to have {self._value('row_count', row)} rows, "
                f"{self._value('delete_row_count', row)} of them deletes"
            ),
        )
        self.complain(
            "wrong-sequence-numbers",
            rows[low > high],
            lambda row: (
                f"the sequence numbers of {self._name(row)} go from {self._value('min_sequence_number', row)} "
                f"to {self._value('max_sequence_number', row)}"
            ),
        )
        self.complain(
            "wrong-bucket",
            rows[((total > 0) & (bucket >= total)) | (bucket < -2)],
            lambda row: (
                f"{self._name(row)} is in bucket {self._value('bucket', row)} of {self._value('total_buckets', row)}"
            ),
        )
        wrong_level = (level < 0) | ((level > 0) & (not schema.primary_keys))
        wrong_level |= ~np.isin(kinds.to_numpy(), (0, 1))
        self.complain(
            "wrong-level",
            rows[wrong_level],
            lambda row: f"{self._name(row)} is at level {self._value('level', row)}, which this table cannot have",
        )

    def _value(self, column: str, row: int) -> object:
        return self.table.files[column][row].as_py()

    # ------------------------------------------------------------------------------------------- statistics, keys

    def _check_stats(self, rows: I64, schema: TableSchema) -> None:
        """Check that statistics fit their columns, and that no minimum is above its maximum."""
        files = self.table.files.take(rows)
        texts = pc.binary_join(files["value_stats_cols"], "\x00")
        written = pc.binary_join(files["write_cols"], "\x00")
        keys = pc.binary_join_element_wise(texts.fill_null("\x01"), written.fill_null("\x01"), "\x02").combine_chunks()
        encoded = keys.dictionary_encode()
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        for code in range(len(encoded.dictionary)):
            part = rows[codes == code]
            one = self.table.files.slice(int(part[0]), 1)
            names = one["value_stats_cols"][0].as_py()
            names = one["write_cols"][0].as_py() if names is None else names
            unknown = [] if names is None else [name for name in names if name not in schema.field_names]
            system = [name for name in unknown if name.startswith("_")]
            if unknown and not system:
                self.complain(
                    "wrong-statistics",
                    part,
                    lambda row, unknown=unknown: (
                        f"{self._name(row)} has statistics of {some(unknown)}, "  # type: ignore[misc]
                        f"which schema {schema.id} does not have"
                    ),
                )
            elif not unknown:
                self._check_bounds(part, schema.fields if names is None else schema.select(names))

    def _check_bounds(self, rows: I64, fields: Sequence[Field]) -> None:
        def decode(part: I64) -> list[Bools]:
            files = self.table.files.take(rows[part])
            types = [nullable(field.type) for field in fields]
            for side in ("value_min", "value_max"):
                decode_rows(files[side], types, overflow_as_null=True)
            stats = decode_stats(files["value_min"], files["value_max"], files["value_null_counts"], types)
            counts = files["row_count"].to_numpy()
            wrong = []
            for low, high, nulls in zip(stats.mins, stats.maxs, stats.null_counts, strict=True):
                known = nulls.fill_null(0).to_numpy(zero_copy_only=False)
                inverted = np.zeros(len(part), np.bool_)
                if not pa.types.is_nested(low.type):
                    inverted = np.asarray(pc.greater(low, high).fill_null(False), np.bool_)
                wrong.append(inverted | (known < 0) | (known > counts))
            return wrong

        bad = culprits(len(rows), decode)
        self.complain(
            "wrong-statistics",
            rows[bad],
            lambda row: f"the statistics of {self._name(row)} cannot be decoded with the columns they are for",
        )
        good = np.setdiff1d(np.arange(len(rows)), bad)
        for field, wrong in zip(fields, decode(good), strict=True):
            self.complain(
                "wrong-statistics",
                rows[good[wrong]],
                lambda row, field=field: (
                    f"the statistics of column {field.name} of {self._name(row)} contradict themselves"
                ),  # type: ignore[misc]
            )

    def _check_keys(self, rows: I64) -> None:
        keys = self.keys
        self.complain(
            "wrong-key-range",
            rows[keys.is_bad[rows]],
            lambda row: f"the key range of {self._name(row)} cannot be decoded",
        )
        self.complain(
            "wrong-key-range",
            rows[keys.low[rows] > keys.high[rows]],
            lambda row: f"the smallest key of {self._name(row)} is above its largest",
        )
