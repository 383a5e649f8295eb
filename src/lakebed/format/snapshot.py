"""One snapshot as JSON: the state of a table after a commit, and who committed.

A snapshot stands alone: its base list and its delta list contain the whole table. Unknown keys are ignored when
reading, and absent values are not written, as in Paimon. A snapshot of a newer format version is refused.

Lakebed records a checksum of all values among the properties (:func:`with_checksum`), so that a changed bit is found
(:func:`is_intact`). Snapshots of other writers have none.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from lakebed.errors import ROLL_BACK, CorruptError, UnsupportedError
from lakebed.format.commit_facts import CHECKSUM
from lakebed.format.file_names import check_file_name
from lakebed.format.human_text import count_text
from lakebed.format.printed import Printed
from lakebed.format.time_text import time_text

CURRENT_VERSION: Final = 3
BATCH_IDENTIFIER: Final = 2**63 - 1
FIRST_SNAPSHOT_ID: Final = 1
NO_WATERMARK: Final = -(2**63)
"""Some writers record it as the watermark of a snapshot that has none."""
OWN_VERSIONS: Final = "lakebed-"
"""What the writer version of a snapshot of Lakebed begins with."""
_CHECKSUM_BYTES: Final = 8


class CommitKind(StrEnum):
    """What a commit did to the table."""

    APPEND = "APPEND"
    COMPACT = "COMPACT"
    OVERWRITE = "OVERWRITE"
    ANALYZE = "ANALYZE"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Snapshot(Printed):
    """The state of a table after one commit.

    Attributes:
        id: Its number; every commit to a branch counts one up.
        schema_id: The schema that it was written with.
        commit_user: Who committed.
        commit_identifier: The number that the writer gave the commit.
        commit_kind: APPEND, COMPACT, OVERWRITE or ANALYZE.
        time_millis: When it was committed, in epoch milliseconds.
        total_record_count: The number of rows in all its files, before rows of the same key are merged.
        delta_record_count: The number of rows that the commit added, minus those that it deleted.
        watermark: All rows with an event time up to this one were written.
        properties: What writers recorded about the commit; ``commit_facts`` lists the keys of Lakebed.

    The other attributes name the files that belong to it, under the names that Paimon's specification gives them.
    """

    id: int
    schema_id: int
    base_manifest_list: str
    delta_manifest_list: str
    commit_user: str
    commit_identifier: int
    commit_kind: CommitKind
    time_millis: int
    total_record_count: int
    delta_record_count: int
    base_manifest_list_size: int | None = None
    delta_manifest_list_size: int | None = None
    changelog_manifest_list: str | None = None
    changelog_manifest_list_size: int | None = None
    changelog_record_count: int | None = None
    index_manifest: str | None = None
    watermark: int | None = None
    statistics: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    next_row_id: int | None = None
    operation: str | None = None
    uuid: str | None = None
    writer_version: str | None = None
    version: int = CURRENT_VERSION

    def __str__(self) -> str:
        rows = f"{count_text(self.total_record_count, 'row')} in its files ({self.delta_record_count:+,})"
        return f"snapshot {self.id}, {self.commit_kind} at {time_text(self.time_millis)}, {rows}"


# Paimon's key, our attribute; in the order in which Paimon writes them.
_KEYS: Final[tuple[tuple[str, str], ...]] = (
    ("version", "version"),
    ("uuid", "uuid"),
    ("id", "id"),
    ("schemaId", "schema_id"),
    ("baseManifestList", "base_manifest_list"),
    ("baseManifestListSize", "base_manifest_list_size"),
    ("deltaManifestList", "delta_manifest_list"),
    ("deltaManifestListSize", "delta_manifest_list_size"),
    ("changelogManifestList", "changelog_manifest_list"),
    ("changelogManifestListSize", "changelog_manifest_list_size"),
    ("indexManifest", "index_manifest"),
    ("commitUser", "commit_user"),
    ("writerVersion", "writer_version"),
    ("commitIdentifier", "commit_identifier"),
    ("commitKind", "commit_kind"),
    ("timeMillis", "time_millis"),
    ("totalRecordCount", "total_record_count"),
    ("deltaRecordCount", "delta_record_count"),
    ("changelogRecordCount", "changelog_record_count"),
    ("watermark", "watermark"),
    ("statistics", "statistics"),
    ("properties", "properties"),
    ("nextRowId", "next_row_id"),
    ("operation", "operation"),
)
_REQUIRED: Final = frozenset(
    {
        "id",
        "schemaId",
        "baseManifestList",
        "deltaManifestList",
        "commitUser",
        "commitIdentifier",
        "commitKind",
        "timeMillis",
        "totalRecordCount",
        "deltaRecordCount",
    }
)
_INTEGERS: Final = frozenset(
    {
        "version",
        "id",
        "schemaId",
        "baseManifestListSize",
        "deltaManifestListSize",
        "changelogManifestListSize",
        "commitIdentifier",
        "timeMillis",
        "totalRecordCount",
        "deltaRecordCount",
        "changelogRecordCount",
        "watermark",
        "nextRowId",
    }
)
_FILES: Final = (
    "base_manifest_list",
    "delta_manifest_list",
    "changelog_manifest_list",
    "index_manifest",
    "statistics",
)


def snapshot_from_json(text: str | bytes, *, where: str) -> Snapshot:
    """Returns the snapshot in a file's text; ``where`` names the file in errors."""
    return snapshot_from_dict(load_json_object(text, where=where), where=where)


def load_json_object(text: str | bytes, *, where: str, advice: str = ROLL_BACK) -> dict[str, Any]:
    """Returns a JSON object, or an error that names the file and gives the advice."""
    try:
        raw = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CorruptError(f"{where} is not valid JSON ({error}); {advice}") from None
    if not isinstance(raw, dict):
        raise CorruptError(f"{where} does not hold a JSON object; {advice}")
    return raw


def snapshot_from_dict(raw: Mapping[str, Any], *, where: str) -> Snapshot:
    """Returns the snapshot that a JSON object means."""
    version = raw.get("version", 1)
    if type(version) is int and version > CURRENT_VERSION:
        raise UnsupportedError(
            f"{where} has format version {version}, but this Lakebed knows versions up to {CURRENT_VERSION}; "
            "upgrade Lakebed to read this table"
        )
    missing = sorted(key for key in _REQUIRED if raw.get(key) is None)
    if missing:
        raise CorruptError(f"{where} lacks {', '.join(missing)}; {ROLL_BACK}")
    values: dict[str, Any] = {name: raw[key] for key, name in _KEYS if raw.get(key) is not None}
    values["version"] = version
    for key, name in _KEYS:
        if name in values:
            _check_type(key, values[name], where)
    for name in _FILES:
        if name in values:
            check_file_name(values[name], where)
    try:
        values["commit_kind"] = CommitKind(values["commit_kind"])
    except ValueError:
        kinds = ", ".join(CommitKind)
        raise UnsupportedError(f"{where} has commitKind {raw['commitKind']!r}; Lakebed knows {kinds}") from None
    return Snapshot(**values)


def _check_type(key: str, value: object, where: str) -> None:
    if key in _INTEGERS:
        wanted, fits = "a whole number", type(value) is int
    elif key == "properties":
        wanted = "an object of strings"
        fits = isinstance(value, dict) and all(isinstance(part, str) for part in value.values())
    else:
        wanted, fits = "a string", isinstance(value, str)
    if not fits:
        raise CorruptError(f"{where}: {key} must be {wanted}, not {value!r}; {ROLL_BACK}")


def snapshot_to_dict(snapshot: Snapshot) -> dict[str, Any]:
    """Returns the JSON object of a snapshot, in Paimon's key order, absent values left out."""
    raw = {key: getattr(snapshot, name) for key, name in _KEYS}
    raw["commitKind"] = str(snapshot.commit_kind)
    raw["properties"] = dict(snapshot.properties) or None
    return {key: value for key, value in raw.items() if value is not None}


def snapshot_to_json(snapshot: Snapshot) -> str:
    """Returns the text of a snapshot file."""
    return json.dumps(snapshot_to_dict(snapshot), indent=2, ensure_ascii=False)


def with_checksum(snapshot: Snapshot) -> Snapshot:
    """Returns a snapshot that records the checksum of its other values."""
    return replace(snapshot, properties={**snapshot.properties, CHECKSUM: _checksum(snapshot, CHECKSUM)})


def is_intact(snapshot: Snapshot) -> bool:
    """Returns whether the values of a snapshot fit its checksum; without a checksum it counts as intact.

    Only what Lakebed wrote is compared. Paimon writes snapshots again, for example as tags and changelogs, without keys
    that it does not know and with others instead, and its commits that compact manifests take over the properties of
    the snapshot before. In all of them the version of the writer is not Lakebed's.
    """
    if not (snapshot.writer_version or "").startswith(OWN_VERSIONS):
        return True
    if not snapshot.properties:  # Lakebed always writes some; then the name of the properties is damaged
        return False
    recorded = snapshot.properties.get(CHECKSUM)
    if recorded is not None:
        return recorded == _checksum(snapshot, CHECKSUM)
    # the name of the property itself may be damaged
    candidates = (key for key, value in snapshot.properties.items() if len(value) == 2 * _CHECKSUM_BYTES)
    return all(snapshot.properties[key] != _checksum(snapshot, key) for key in candidates)


def _checksum(snapshot: Snapshot, without: str) -> str:
    """Returns the checksum of all values except one property."""
    raw = snapshot_to_dict(snapshot)
    raw["properties"] = {key: value for key, value in snapshot.properties.items() if key != without}
    text = json.dumps(raw, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=_CHECKSUM_BYTES).hexdigest()
