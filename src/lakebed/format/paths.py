"""Where each file of a table lives.

Schemas, snapshots and tags belong to a branch; manifests, index files, statistics and data files of every branch live in
the table's root. A partition's folder is only a place: its value is what ``_PARTITION`` in the manifest says.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lakebed.errors import OptionError
from lakebed.format.types.data_types import STRING_ROOTS, TIMESTAMP_ROOTS, Atomic, DataType

MAIN_BRANCH: Final = "main"
SIDECAR_FOLDER: Final = ".lakebed"
SNAPSHOT_PREFIX: Final = "snapshot-"
SCHEMA_PREFIX: Final = "schema-"
TAG_PREFIX: Final = "tag-"
BRANCH_PREFIX: Final = "branch-"
CHANGELOG_PREFIX: Final = "changelog-"
CONSUMER_PREFIX: Final = "consumer-"
HISTORY_PREFIX: Final = "history-"
DEFAULT_PARTITION: Final = "__DEFAULT_PARTITION__"

_UNFIT: Final = re.compile(r"[/\\\x00-\x1f\x7f]")
_ESCAPED: Final = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{}\[\]^]")


@dataclass(frozen=True, slots=True)
class TablePaths:
    """The layout of one branch of one table."""

    root: str
    branch: str = MAIN_BRANCH

    @property
    def branch_root(self) -> str:
        return self.root if self.branch == MAIN_BRANCH else f"{self.branches}/{BRANCH_PREFIX}{self.branch}"

    def on_branch(self, branch: str) -> TablePaths:
        return TablePaths(self.root, branch)

    @property
    def branches(self) -> str:
        return f"{self.root}/branch"

    @property
    def schemas(self) -> str:
        return f"{self.branch_root}/schema"

    def schema(self, schema_id: int) -> str:
        return f"{self.schemas}/{SCHEMA_PREFIX}{schema_id}"

    @property
    def snapshots(self) -> str:
        return f"{self.branch_root}/snapshot"

    def snapshot(self, snapshot_id: int) -> str:
        return f"{self.snapshots}/{SNAPSHOT_PREFIX}{snapshot_id}"

    @property
    def latest_hint(self) -> str:
        return f"{self.snapshots}/LATEST"

    @property
    def earliest_hint(self) -> str:
        return f"{self.snapshots}/EARLIEST"

    @property
    def tags(self) -> str:
        return f"{self.branch_root}/tag"

    def tag(self, name: str) -> str:
        return f"{self.tags}/{TAG_PREFIX}{name}"

    @property
    def changelogs(self) -> str:
        return f"{self.branch_root}/changelog"

    def changelog(self, snapshot_id: int) -> str:
        return f"{self.changelogs}/{CHANGELOG_PREFIX}{snapshot_id}"

    @property
    def consumers(self) -> str:
        return f"{self.branch_root}/consumer"

    def consumer(self, name: str) -> str:
        return f"{self.consumers}/{CONSUMER_PREFIX}{name}"

    @property
    def manifests(self) -> str:
        return f"{self.root}/manifest"

    def manifest(self, name: str) -> str:
        return f"{self.manifests}/{name}"

    @property
    def indexes(self) -> str:
        return f"{self.root}/index"

    def index(self, name: str) -> str:
        return f"{self.indexes}/{name}"

    @property
    def statistics(self) -> str:
        return f"{self.root}/statistics"

    @property
    def sidecars(self) -> str:
        return f"{self.root}/{SIDECAR_FOLDER}"

    @property
    def history_index(self) -> str:
        """The folder of this branch's history index; it comes, goes and moves with the branch."""
        return f"{self.branch_root}/{SIDECAR_FOLDER}"

    def history_segment(self, number: int) -> str:
        return f"{self.history_index}/{HISTORY_PREFIX}{number}"

    def bucket(self, partition_path: str, bucket: int, *, directory: str = "") -> str:
        """The folder of one bucket; ``partition_path`` is empty for unpartitioned tables."""
        name = "bucket-postpone" if bucket == -2 else f"bucket-{bucket}"
        return "/".join(part for part in (self.root, directory.strip("/"), partition_path, name) if part)


def check_name(name: object, what: str) -> None:
    """Refuse a name of a tag, branch or consumer that would not be one file or folder in its place.

    >>> check_name("a/b", "tag")
    Traceback (most recent call last):
    ...
    lakebed.errors.OptionError: 'a/b' cannot be the name of a tag: it must be a text that is not blank, does not start with a dot and holds no slash, backslash or control character
    """
    good = (
        isinstance(name, str)
        and bool(name.strip())
        and not name.startswith(".")
        and _UNFIT.search(name) is None
        and name == name.encode(errors="replace").decode()
    )
    if not good:
        raise OptionError(
            f"{name!r} cannot be the name of a {what}: it must be a text that is not blank, does not start with a dot "
            "and holds no slash, backslash or control character"
        )


def escape(text: str) -> str:
    """A name or value as a path segment.

    >>> escape("a b/c=d%")
    'a b%2Fc%3Dd%25'
    """
    return _ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", text)


def partition_path(
    names: Sequence[str],
    types: Sequence[DataType],
    values: Sequence[object],
    *,
    default_name: str = DEFAULT_PARTITION,
    legacy_names: bool = True,
) -> str:
    """The folder of a partition below the table's root; empty for unpartitioned tables.

    >>> partition_path(["dt", "h"], [Atomic("STRING"), Atomic("INT")], ["2024-01-01", 5])
    'dt=2024-01-01/h=5'
    """
    segments = []
    for name, data_type, value in zip(names, types, values, strict=True):
        text = "" if value is None else partition_text(value, data_type, legacy_names=legacy_names)
        segments.append(f"{escape(name)}={escape(text) if text.strip() else default_name}")
    return "/".join(segments)


def partition_text(value: object, data_type: DataType, *, legacy_names: bool) -> str:
    """A partition value as the text in its folder's name."""
    root = data_type.root if isinstance(data_type, Atomic) else ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if root in STRING_ROOTS:
        return str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, float):
        return _java_float(value, single=root == "FLOAT")
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if root == "DATE" and isinstance(value, dt.date):
        return str((value - dt.date(1970, 1, 1)).days) if legacy_names else value.isoformat()
    if root == "TIME" and isinstance(value, dt.time):
        millis = ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
        if legacy_names:
            return str(millis)
        fraction = f"{millis % 1000:03d}"[: data_type.params[0]].rstrip("0")  # type: ignore[union-attr]
        return value.strftime("%H:%M:%S") + (f".{fraction}" if fraction else "")
    if root in TIMESTAMP_ROOTS and isinstance(value, dt.datetime):
        return _timestamp_text(value, legacy=legacy_names, precision=data_type.params[0])  # type: ignore[union-attr]
    return str(value)


def _timestamp_text(value: dt.datetime, *, legacy: bool, precision: int) -> str:
    """Java's two texts of a timestamp: ``2024-01-02T03:04`` drops zero parts, the other has ``precision`` digits or more."""
    nanos = int(getattr(value, "nanosecond", 0)) + value.microsecond * 1000
    day, clock = value.date().isoformat(), f"{value.hour:02d}:{value.minute:02d}"
    if not legacy:
        text = f"{nanos:09d}"
        fraction = text[:precision] + text[precision:].rstrip("0")
        return f"{day} {clock}:{value.second:02d}" + (f".{fraction}" if fraction else "")
    if value.second == 0 and nanos == 0:
        return f"{day}T{clock}"
    digits = 0 if nanos == 0 else 3 if nanos % 1_000_000 == 0 else 6 if nanos % 1000 == 0 else 9
    fraction = f"{nanos:09d}"[:digits]
    return f"{day}T{clock}:{value.second:02d}" + (f".{fraction}" if fraction else "")


def _java_float(value: float, *, single: bool) -> str:
    """How Java prints a floating point number: shortest digits, plain between 1e-3 and 1e7, else with an ``E``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    number = decimal.Decimal(str(np.float32(value)) if single else repr(value))
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        text = format(number, "f")
        return text if "." in text else f"{text}.0"
    mantissa, exponent = f"{number:E}".split("E")
    digits = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{digits if '.' in digits else digits + '.0'}E{int(exponent)}"


def id_of(name: str, prefix: str) -> int | None:
    """The number in names like ``snapshot-12``; ``None`` for any other name, ``snapshot-012`` included.

    >>> id_of("snapshot-12", "snapshot-"), id_of("snapshot-012", "snapshot-")
    (12, None)
    """
    digits = name.removeprefix(prefix)
    number = int(digits) if name.startswith(prefix) and digits.isascii() and digits.isdigit() else None
    return number if number is not None and name == f"{prefix}{number}" else None
