"""Tag files: the bytes of Paimon's own writers, and back."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakebed.errors import CorruptError
from lakebed.format.snapshot import CommitKind, Snapshot
from lakebed.format.tag import Tag, tag_from_json, tag_to_json

# As Paimon 2.0 (Java) wrote it: createTag("day", 2, Duration.ofDays(1)).
JAVA = """{
  "version" : 3,
  "uuid" : "19311a96-3ade-4217-9b36-89207f579558",
  "id" : 2,
  "schemaId" : 1,
  "baseManifestList" : "manifest-list-e66e0c83-e4e0-4e64-839d-024d2aa06438-0",
  "baseManifestListSize" : 1110,
  "deltaManifestList" : "manifest-list-e66e0c83-e4e0-4e64-839d-024d2aa06438-1",
  "deltaManifestListSize" : 1109,
  "commitUser" : "b3af72b9-d96c-47c7-9b1a-547a3e804a93",
  "commitIdentifier" : 9223372036854775807,
  "commitKind" : "APPEND",
  "timeMillis" : 1794766987891,
  "totalRecordCount" : 2,
  "deltaRecordCount" : 1,
  "nextRowId" : 0,
  "tagCreateTime" : [ 2026, 11, 15, 18, 23, 7, 917781000 ],
  "tagTimeRetained" : 86400.000000000
}"""
# As pypaimon 2.1.0 wrote it.
PYPAIMON = (
    '{"version": 3, "id": 1, "schemaId": 0, "baseManifestList": "b", "deltaManifestList": "d", "totalRecordCount": 1, '
    '"deltaRecordCount": 1, "commitUser": "u", "commitIdentifier": 9223372036854775807, "commitKind": "APPEND", '
    '"timeMillis": 1794767387305, "tagCreateTime": [2026, 11, 15, 18, 29, 47, 309725000], "tagTimeRetained": 86400.0}'
)
SNAPSHOT = Snapshot(
    id=1,
    schema_id=0,
    base_manifest_list="b",
    delta_manifest_list="d",
    commit_user="u",
    commit_identifier=1,
    commit_kind=CommitKind.APPEND,
    time_millis=5,
    total_record_count=0,
    delta_record_count=0,
)


def read(text: str) -> Tag:
    return tag_from_json("t", text, where="tag-t")


def lines(create_time: dt.datetime, retained: dt.timedelta) -> list[str]:
    return tag_to_json(Tag("t", SNAPSHOT, create_time, retained)).splitlines()[-3:-1]


def test_what_java_wrote_is_written_again_byte_by_byte() -> None:
    tag = read(JAVA)
    assert tag.snapshot.id == 2
    assert tag.create_time == dt.datetime(2026, 11, 15, 18, 23, 7, 917781)
    assert tag.time_retained == dt.timedelta(days=1)
    assert tag_to_json(tag) == JAVA


def test_a_tag_without_retention_is_java_s_snapshot_text() -> None:
    plain = JAVA[: JAVA.index(',\n  "tagCreateTime"')] + "\n}"
    assert read(plain).create_time is None
    assert read(plain).time_retained is None
    assert tag_to_json(read(plain)) == plain


def test_properties_are_laid_out_as_java_does() -> None:
    text = tag_to_json(Tag("t", replace(SNAPSHOT, properties={"a": "1", "ü": "2"})))
    assert '  "properties" : {\n    "a" : "1",\n    "ü" : "2"\n  }' in text


def test_what_pypaimon_wrote_is_read() -> None:
    tag = read(PYPAIMON)
    assert tag.create_time == dt.datetime(2026, 11, 15, 18, 29, 47, 309725)
    assert tag.time_retained == dt.timedelta(days=1)
    assert tag.snapshot.commit_user == "u"


# Each text as Paimon 2.0 (Java) wrote it.
@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (dt.datetime(2026, 1, 2, 3, 0), "[ 2026, 1, 2, 3, 0 ]"),
        (dt.datetime(2026, 1, 2, 0, 0), "[ 2026, 1, 2, 0, 0 ]"),
        (dt.datetime(2026, 1, 2, 3, 4, 5), "[ 2026, 1, 2, 3, 4, 5 ]"),
        (dt.datetime(2026, 1, 2, 3, 4, 0, 5), "[ 2026, 1, 2, 3, 4, 0, 5000 ]"),
    ],
)
def test_moments_without_their_trailing_zeros(moment: dt.datetime, text: str) -> None:
    assert lines(moment, dt.timedelta(1))[0] == f'  "tagCreateTime" : {text},'


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (dt.timedelta(milliseconds=1500), "1.500000000"),
        (dt.timedelta(microseconds=1), "0.000001000"),
        (dt.timedelta(0), "0.0"),
        (dt.timedelta(milliseconds=-1500), "-1.500000000"),
        (dt.timedelta(seconds=-2), "-2.000000000"),
        (dt.timedelta(days=400000), "34560000000.000000000"),
    ],
)
def test_lengths_of_time_have_nine_decimals(length: dt.timedelta, text: str) -> None:
    assert lines(dt.datetime(2026, 1, 2), length)[1] == f'  "tagTimeRetained" : {text}'


@given(st.datetimes(), st.timedeltas(dt.timedelta(0), dt.timedelta(days=10_000)))
def test_what_is_written_is_read_again(create_time: dt.datetime, retained: dt.timedelta) -> None:
    tag = Tag("t", SNAPSHOT, create_time, retained)
    assert read(tag_to_json(tag)) == tag


def test_when_its_time_is_up() -> None:
    made = dt.datetime(2026, 1, 1)
    assert Tag("t", SNAPSHOT, made, dt.timedelta(1)).expires_at == dt.datetime(2026, 1, 2)
    assert Tag("t", SNAPSHOT, made, None).expires_at is None
    assert Tag("t", SNAPSHOT, None, dt.timedelta(1)).expires_at is None
    forever = read(PYPAIMON.replace("86400.0", "9223372036854775807.999999999"))
    assert forever.time_retained == dt.timedelta.max
    assert forever.expires_at is None


@pytest.mark.parametrize(
    "moment", ['"2026"', "5", "[2026, 1]", "[2026, 13, 1, 0, 0]", '[2026, 1, 1, 0, "x"]', "[1,1,1,1,1,1,1,1]"]
)
def test_a_bad_moment_is_damage(moment: str) -> None:
    with pytest.raises(CorruptError, match="tag-t: tagCreateTime must be a list"):
        read(PYPAIMON.replace("[2026, 11, 15, 18, 29, 47, 309725000]", moment))


@pytest.mark.parametrize("length", ['"PT1H"', "true", "NaN", "[1]"])
def test_a_bad_length_is_damage(length: str) -> None:
    with pytest.raises(CorruptError, match="tag-t: tagTimeRetained must be a number of seconds"):
        read(PYPAIMON.replace("86400.0", length))
