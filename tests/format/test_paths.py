from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from urllib.parse import unquote

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.format.paths import TablePaths, escape, id_of, partition_path, partition_text
from lakebed.format.types.data_types import Atomic, parse_type

STRING = Atomic("STRING")
ESCAPED = "\"#%'*/:=?\\{}[]^" + "\x7f" + "".join(map(chr, range(32)))


def test_the_layout_of_a_table() -> None:
    paths = TablePaths("/w/db.db/t")
    assert paths.schema(0) == "/w/db.db/t/schema/schema-0"
    assert paths.snapshot(7) == "/w/db.db/t/snapshot/snapshot-7"
    assert paths.latest_hint == "/w/db.db/t/snapshot/LATEST"
    assert paths.earliest_hint == "/w/db.db/t/snapshot/EARLIEST"
    assert paths.tag("v1") == "/w/db.db/t/tag/tag-v1"
    assert paths.changelog(3) == "/w/db.db/t/changelog/changelog-3"
    assert paths.manifest("manifest-x-0") == "/w/db.db/t/manifest/manifest-x-0"
    assert paths.index("index-x-0") == "/w/db.db/t/index/index-x-0"
    assert paths.sidecars == "/w/db.db/t/.lakebed"


def test_a_branch_has_its_own_snapshots_and_the_table_s_files() -> None:
    main, branch = TablePaths("/t"), TablePaths("/t").on_branch("b1")
    assert branch.schema(0) == "/t/branch/branch-b1/schema/schema-0"
    assert branch.snapshot(2) == "/t/branch/branch-b1/snapshot/snapshot-2"
    assert branch.latest_hint == "/t/branch/branch-b1/snapshot/LATEST"
    assert branch.tag("x") == "/t/branch/branch-b1/tag/tag-x"
    assert branch.changelog(1) == "/t/branch/branch-b1/changelog/changelog-1"
    for same in ("manifests", "indexes", "sidecars", "branches"):
        assert getattr(branch, same) == getattr(main, same)
    assert branch.bucket("dt=1", 0) == main.bucket("dt=1", 0)
    assert branch.on_branch("main") == main


@pytest.mark.parametrize(
    ("partition", "bucket", "directory", "folder"),
    [
        ("", 0, "", "/t/bucket-0"),
        ("dt=1/h=2", 3, "", "/t/dt=1/h=2/bucket-3"),
        ("dt=1", -2, "", "/t/dt=1/bucket-postpone"),
        ("dt=1", 0, "data", "/t/data/dt=1/bucket-0"),
        ("", 0, "/data/", "/t/data/bucket-0"),
    ],
)
def test_the_folder_of_a_bucket(partition: str, bucket: int, directory: str, folder: str) -> None:
    assert TablePaths("/t").bucket(partition, bucket, directory=directory) == folder


# FORMAT 1.3 and what the Java implementation was seen to do.
LEGACY = [
    ("STRING", "a b/c=d%", "p=a b%2Fc%3Dd%25"),
    ("STRING", None, "p=__DEFAULT_PARTITION__"),
    ("STRING", "", "p=__DEFAULT_PARTITION__"),
    ("STRING", "  ", "p=__DEFAULT_PARTITION__"),
    ("STRING", "\t", "p=__DEFAULT_PARTITION__"),
    ("STRING", "ä,&+$ 漢😀", "p=ä,&+$ 漢😀"),
    ("STRING", "v/1", "p=v%2F1"),
    ("VARCHAR(5)", "True", "p=True"),
    ("INT", 5, "p=5"),
    ("BIGINT", -9223372036854775808, "p=-9223372036854775808"),
    ("BOOLEAN", True, "p=true"),
    ("BOOLEAN", False, "p=false"),
    ("DATE", dt.date(2024, 1, 2), "p=19724"),
    ("DATE", dt.date(1969, 12, 31), "p=-1"),
    ("DATE", None, "p=__DEFAULT_PARTITION__"),
    ("TIMESTAMP(3)", dt.datetime(2024, 1, 2, 3, 4, 5, 678000), "p=2024-01-02T03%3A04%3A05.678"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 5, 678901), "p=2024-01-02T03%3A04%3A05.678901"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4), "p=2024-01-02T03%3A04"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 5), "p=2024-01-02T03%3A04%3A05"),
    ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 0, 500000), "p=2024-01-02T03%3A04%3A00.500"),
    ("TIMESTAMP(6)", dt.datetime(1, 1, 1), "p=0001-01-01T00%3A00"),
    ("DECIMAL(25, 4)", Decimal("1.5000"), "p=1.5000"),
    ("DECIMAL(38, 10)", Decimal("1E-10"), "p=0.0000000001"),
    ("TIME(3)", dt.time(1, 2, 3, 4000), "p=3723004"),
    ("DOUBLE", 1.0, "p=1.0"),
    ("DOUBLE", 0.001, "p=0.001"),
    ("DOUBLE", 1e7, "p=1.0E7"),
    ("DOUBLE", 9999999.5, "p=9999999.5"),
    ("DOUBLE", 1.25e-5, "p=1.25E-5"),
    ("DOUBLE", -0.0, "p=-0.0"),
    ("DOUBLE", math.nan, "p=NaN"),
    ("DOUBLE", -math.inf, "p=-Infinity"),
    ("FLOAT", float(np.float32(0.1)), "p=0.1"),
    ("FLOAT", float(np.float32(16777216)), "p=1.6777216E7"),
    ("FLOAT", float(np.float32(1e10)), "p=1.0E10"),
    ("FLOAT", 2.0, "p=2.0"),
]


@pytest.mark.parametrize(("type_text", "value", "folder"), LEGACY)
def test_partition_folders(type_text: str, value: object, folder: str) -> None:
    assert partition_path(["p"], [parse_type(type_text)], [value]) == folder


@pytest.mark.parametrize(
    ("type_text", "value", "folder"),
    [
        ("DATE", dt.date(2024, 1, 2), "p=2024-01-02"),
        ("TIMESTAMP(6)", dt.datetime(2024, 1, 2, 3, 4, 5, 678901), "p=2024-01-02 03%3A04%3A05.678901"),
        ("TIMESTAMP(3)", dt.datetime(2024, 1, 2, 3, 4, 5, 678000), "p=2024-01-02 03%3A04%3A05.678"),
        ("TIMESTAMP(0)", dt.datetime(2024, 1, 2, 3, 4, 5), "p=2024-01-02 03%3A04%3A05"),
        ("TIME(3)", dt.time(1, 2, 3, 4000), "p=01%3A02%3A03.004"),
        ("BOOLEAN", True, "p=true"),
    ],
)
def test_partition_folders_without_legacy_names(type_text: str, value: object, folder: str) -> None:
    assert partition_path(["p"], [parse_type(type_text)], [value], legacy_names=False) == folder


def test_several_keys_odd_names_and_another_default() -> None:
    types = [STRING, Atomic("INT")]
    assert partition_path(["p=1", "h"], types, ["v/1", 5]) == "p%3D1=v%2F1/h=5"
    assert partition_path(["a", "h"], types, [None, None], default_name="NULL!") == "a=NULL!/h=NULL!"
    assert partition_path([], [], []) == ""


@given(st.text())
def test_escaping_can_be_undone_and_leaves_one_segment(text: str) -> None:
    escaped = escape(text)
    assert unquote(escaped, errors="strict") == text
    assert not set(escaped) & (set(ESCAPED) - {"%"})


@pytest.mark.parametrize("character", ESCAPED)
def test_what_is_escaped(character: str) -> None:
    assert escape(character) == f"%{ord(character):02X}"


@given(st.characters(codec="utf-8", exclude_characters=ESCAPED))
def test_what_is_not_escaped(character: str) -> None:
    assert escape(character) == character


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_a_float_s_text_means_the_same_float(value: float) -> None:
    text = partition_text(value, Atomic("FLOAT"), legacy_names=True)
    assert np.float32(text) == np.float32(value)
    assert "." in text


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("snapshot-1", 1),
        ("snapshot-0", 0),
        ("snapshot-9223372036854775807", 2**63 - 1),
        ("snapshot-", None),
        ("snapshot-01", None),
        ("snapshot--1", None),
        ("snapshot-1.tmp", None),
        ("snapshot-²", None),
        ("snapshot-٣", None),
        ("LATEST", None),
        ("tag-1", None),
        ("1", None),
    ],
)
def test_ids_in_names(name: str, number: int | None) -> None:
    assert id_of(name, "snapshot-") == number
