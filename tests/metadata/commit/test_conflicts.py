from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.metadata.entries import adds, entries, entry

from lakebed.errors import CommitConflictError
from lakebed.format.binary_row import encode_row
from lakebed.format.manifest.manifest import as_deletes
from lakebed.format.types.data_types import parse_type
from lakebed.metadata.commit import conflicts

KEY_TYPES = [parse_type("STRING NOT NULL"), parse_type("INT NOT NULL")]
keys = st.tuples(st.sampled_from(["", "a", "b", "longer than seven bytes"]), st.integers(-2, 2))
files = st.fixed_dictionaries(
    {
        "partition": st.sampled_from([b"p", b"q"]),
        "bucket": st.sampled_from([0, 1]),
        "level": st.sampled_from([0, 1, 5]),
        "range": st.tuples(keys, keys).map(sorted),
    }
)


def file_of(number: int, spec: dict[str, Any]) -> dict[str, Any]:
    low, high = (encode_row(list(key), KEY_TYPES) for key in spec["range"])
    place = {name: spec[name] for name in ("partition", "bucket", "level")}
    return entry(f"f{number}", **place, min_key=low, max_key=high)


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(files, max_size=6), st.data())
def test_overlaps_are_found_where_brute_force_finds_them(specs: list[dict[str, Any]], data: st.DataObject) -> None:
    listed = [file_of(number, spec) for number, spec in enumerate(specs)]
    cut = data.draw(st.integers(0, len(listed)))
    gone = data.draw(st.sets(st.integers(0, cut - 1))) if cut else set()
    left = [spec for number, spec in enumerate(specs) if number not in gone and spec["level"] > 0]
    places = {(spec["partition"], spec["bucket"], spec["level"]) for spec in left}
    ranges = [
        sorted(s["range"] for s in left if (s["partition"], s["bucket"], s["level"]) == place) for place in places
    ]
    overlap = any(before[1] >= after[0] for part in ranges for before, after in pairwise(part))
    live = entries(*listed[:cut])
    delta = pa.concat_tables([as_deletes(entries(*(listed[number] for number in gone))), entries(*listed[cut:])])
    if overlap:
        with pytest.raises(CommitConflictError, match=r"files f\d and f\d of one level would have overlapping keys"):
            conflicts.check_levels(live, delta, KEY_TYPES)
    else:
        conflicts.check_levels(live, delta, KEY_TYPES)


def test_append_tables_have_no_keys_to_overlap() -> None:
    conflicts.check_levels(adds("a", level=1), adds("b", level=1), [])


def test_a_file_that_is_live_cannot_be_added_again() -> None:
    with pytest.raises(CommitConflictError, match="this commit: file a is added twice; nothing was committed"):
        conflicts.check_deletes(adds("a"), adds("a"))


def test_a_level_upgrade_is_no_contradiction() -> None:
    conflicts.check_delta(pa.concat_tables([as_deletes(adds("a")), adds("a", level=5)]))
    conflicts.check_delta(entries())


def test_bucket_numbers_are_compared_within_partitions() -> None:
    live = entries(entry("a", partition=b"p", total_buckets=2), entry("b", partition=b"q", total_buckets=4))
    conflicts.check_total_buckets(live, entries(entry("c", partition=b"q", total_buckets=4)))
    conflicts.check_total_buckets(live, as_deletes(entries(entry("c", partition=b"p", total_buckets=4))))
    with pytest.raises(CommitConflictError, match="files with 2 and with 4 buckets"):
        conflicts.check_total_buckets(live, entries(entry("c", partition=b"p", total_buckets=4)))
