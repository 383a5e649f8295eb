"""Facts that a commit records about itself: the ``lakebed.*`` properties of a snapshot, and how they are read.

:data:`FACTS` lists every key with its meaning. Values are text: counts in decimal digits, flags as ``true``, lineages
as JSON. Nothing needs a fact to read a table. Other writers leave facts out, and a value that is damaged or not of its
form counts as left out; reading a fact never raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

FILES_ADDED: Final = "lakebed.files-added"
FILES_DELETED: Final = "lakebed.files-deleted"
BYTES_ADDED: Final = "lakebed.bytes-added"
BYTES_DELETED: Final = "lakebed.bytes-deleted"
LIVE_FILES: Final = "lakebed.live-files"
LIVE_BYTES: Final = "lakebed.live-bytes"
COMMIT_MILLIS: Final = "lakebed.commit-millis"
MANIFESTS_MERGED_AT: Final = "lakebed.manifests-merged-at"
DURABLE: Final = "lakebed.durable"
CHECKSUM: Final = "lakebed.checksum"

COMPACTION: Final = "lakebed.compaction"
STARTED_MILLIS: Final = "lakebed.started-millis"
ROWS_ADDED: Final = "lakebed.rows-added"
ROWS_DELETED: Final = "lakebed.rows-deleted"
PARTITIONS: Final = "lakebed.partitions"
BUCKETS: Final = "lakebed.buckets"
FULLY_COMPACTED: Final = "lakebed.full-compaction"

MERGED_BRANCH: Final = "lakebed.merged-branch"

CHAIN_LINEAGE: Final = "lakebed.chain.lineage"
CHAIN_EXPIRED: Final = "lakebed.chain.expired"
CHAIN_REPLACED: Final = "lakebed.chain.replaced"
CHAIN_SAME_ROWS: Final = "lakebed.chain.same-rows"

FACTS: Final[Mapping[str, str]] = {
    FILES_ADDED: "number of data files that the commit added",
    FILES_DELETED: "number of data files that the commit deleted from the table",
    BYTES_ADDED: "size of the added data files",
    BYTES_DELETED: "size of the deleted data files",
    LIVE_FILES: "number of data files of the table after the commit",
    LIVE_BYTES: "size of the data files of the table after the commit; absent after a commit of another writer",
    COMMIT_MILLIS: "how long the commit took, without writing the data files",
    MANIFESTS_MERGED_AT: "id of the last snapshot whose commit merged manifests",
    DURABLE: "flag: the files that the commit added were on disk before it was acknowledged",
    CHECKSUM: "checksum of all other values of the snapshot",
    COMPACTION: "of a COMPACT commit: FULL, MINOR or MANIFESTS",
    STARTED_MILLIS: "of a COMPACT commit: when the compaction began, in epoch milliseconds",
    ROWS_ADDED: "of a COMPACT commit: number of rows in the added files",
    ROWS_DELETED: "of a COMPACT commit: number of rows in the deleted files",
    PARTITIONS: "of a COMPACT commit: number of partitions with added or deleted files",
    BUCKETS: "of a COMPACT commit: number of buckets with added or deleted files, over all partitions",
    FULLY_COMPACTED: "flag: the compaction was a full one of every bucket of a primary-key table",
    MERGED_BRANCH: "name of the branch whose files the commit added to this one",
    CHAIN_LINEAGE: "in the full branch of a chain table: what the partitions of the commit were built from",
    CHAIN_EXPIRED: "flag, in a chain table: the commit dropped partitions by their age, so nothing became stale",
    CHAIN_REPLACED: "flag, in the delta branch of a chain table: the commit replaced changes. Full partitions that were "
    "built from them are stale, also where no rows took their place. A drop without this flag is clean-up",
    CHAIN_SAME_ROWS: "flag, in a chain table: the commit rewrote files without changing rows, so nothing became stale",
}

_TRUE: Final = "true"
_MOST_DIGITS: Final = 18  # fits into 64 bits


def encode_facts(facts: Mapping[str, int | str | bool]) -> dict[str, str]:
    """Returns facts as properties of a snapshot; a flag that is False is left out.

    >>> encode_facts({FILES_ADDED: 3, FULLY_COMPACTED: True, CHAIN_EXPIRED: False})
    {'lakebed.files-added': '3', 'lakebed.full-compaction': 'true'}
    """
    return {key: _TRUE if value is True else str(value) for key, value in facts.items() if value is not False}


def read_count(properties: Mapping[str, str], key: str) -> int | None:
    """Returns a count, or ``None`` if it is absent or not a count.

    >>> read_count({FILES_ADDED: "3", LIVE_BYTES: "-7"}, FILES_ADDED), read_count({LIVE_BYTES: "-7"}, LIVE_BYTES)
    (3, None)
    """
    text = properties.get(key)
    is_count = isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    return int(text) if is_count else None  # type: ignore[arg-type]


def read_flag(properties: Mapping[str, str], key: str) -> bool:
    """Returns whether a flag is set."""
    return properties.get(key) == _TRUE


# ------------------------------------------------------------------------------------------ lineages of chain tables


@dataclass(frozen=True, slots=True)
class Lineage:
    """What a full partition of a chain table was built from.

    ``anchor`` is the full partition that the build started with, and ``anchor_build`` its build, if it was built
    itself. ``deltas`` are the partitions of changes after it. ``full_snapshot`` and ``delta_snapshot`` are the
    snapshots of the two branches at which they were read. Partitions are encoded rows.
    """

    build: str
    partition: bytes
    anchor: bytes | None
    anchor_build: str | None
    deltas: tuple[bytes, ...]
    full_snapshot: int
    delta_snapshot: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "build": self.build,
            "partition": self.partition.hex(),
            "anchor": None if self.anchor is None else self.anchor.hex(),
            "anchor_build": self.anchor_build,
            "deltas": [delta.hex() for delta in self.deltas],
            "full_snapshot": self.full_snapshot,
            "delta_snapshot": self.delta_snapshot,
        }

    @staticmethod
    def from_dict(raw: Mapping[str, Any]) -> Lineage:
        anchor = raw["anchor"]
        return Lineage(
            str(raw["build"]),
            bytes.fromhex(raw["partition"]),
            None if anchor is None else bytes.fromhex(anchor),
            raw["anchor_build"],
            tuple(bytes.fromhex(delta) for delta in raw["deltas"]),
            int(raw["full_snapshot"]),
            int(raw["delta_snapshot"]),
        )


def encode_lineages(lineages: Iterable[Lineage]) -> dict[str, str]:
    """Returns the property that records what the partitions of a commit were built from."""
    return {CHAIN_LINEAGE: json.dumps([lineage.to_dict() for lineage in lineages])}


def read_lineages(properties: Mapping[str, str]) -> list[Lineage]:
    """Returns the lineages that a commit recorded; none if they are absent or damaged."""
    try:
        return [Lineage.from_dict(raw) for raw in json.loads(properties.get(CHAIN_LINEAGE, "[]"))]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
