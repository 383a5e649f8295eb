"""ORC and Avro data files: Lakebed and other writers on the same tables, each reads what the other wrote."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.interop.cases import CASES, LONG_AGO, LTZ, STORIES, US, Case, Story, type_case
from tests.interop.keyed_cases import KEYED, KEYS, Keyed
from tests.interop.keyed_matrix import IN_TURN, play_keyed
from tests.interop.matrix import play, play_steps
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours

FORMATS = ("orc", "avro")


def has_no_avro(case: Case | Story | Keyed) -> bool:
    """Whether Java cannot write the table as Avro: timestamps in nanoseconds, names that Avro does not allow."""
    names = [name for name, _ in case.fields]
    return "(9)" in str(case.fields) or not all(name.isidentifier() and name.isascii() for name in names)


def of_format(case: Case, form: str) -> Case:
    """The case with data files of a format, and what oracles cannot do there even with their own files."""
    cannot = dict(case.cannot)
    if form == "orc" and "CHAR(5)" in case.name:
        cannot["java filters"] = "Java compares a text with one that ORC has padded"
    if form == "orc" and case.name == "odd column names":
        cannot["java"] = "Java reads null from columns of its own ORC files that have odd names"
    if form == "orc" and "TIME(3)" in case.name:
        cannot["pypaimon filters"] = "pypaimon compares the numbers of ORC with times"
    if form == "avro" and ("'ARRAY'" in str(case.fields) or "'MAP'" in str(case.fields)):
        cannot["pypaimon creates"] = "pypaimon cannot write nulls in arrays, and no maps"
    if form == "avro" and "'MAP'" in str(case.fields):
        cannot["pypaimon"] = "pypaimon cannot write maps"
    return replace(case, options={**case.options, "file.format": form}, cannot=cannot)


RECENT = [
    type_case(f"TIMESTAMP({precision}){zone}", [US * 10**more + more, US * 10**more // 2], [1, 0], {})
    for precision, more in ((6, 0), (9, 3))
    for zone in ("", f" {LTZ}")
]
LAYOUTS = [
    pytest.param(of_format(case, form), id=f"{form} {case.name}")
    for form in FORMATS
    for case in CASES
    if not (form == "avro" and has_no_avro(case)) and not (form == "orc" and str(LONG_AGO)[:11] in str(case.first))
]
LAYOUTS += [pytest.param(of_format(case, "orc"), id=f"orc recent {case.name}") for case in RECENT]
HISTORIES = [
    pytest.param(replace(story, options={**story.options, "file.format": form}), id=f"{form} {story.name}")
    for form in FORMATS
    for story in STORIES
    if not (form == "avro" and has_no_avro(story))
]
# Several formats in one table, and changelog files of another format than data files.
MIXED = {
    "file.format": "orc",
    "file.format.per.level": "0:avro",
    "file.compression.per.level": "0:zstd,5:snappy",
    "changelog-file.format": "parquet",
}
# Keys that ORC cannot hold for all readers: fractions of seconds before 1970 are refused, and Java reads 0.0 and -0.0
# of its own ORC files as one of them.
NOT_IN_ORC = ("key TIMESTAMP", "key of zeros")
KEY_TABLES = [
    pytest.param(replace(case, options={**case.options, **options}), id=f"{name} {case.name}")
    for name, options, cases in (
        ("orc", {"file.format": "orc"}, KEYS),
        ("avro", {"file.format": "avro"}, KEYS),
        ("mixed", MIXED, KEYED),
    )
    for case in cases
    if not (name != "orc" and has_no_avro(case)) and not (name != "avro" and case.name.startswith(NOT_IN_ORC))
]


@pytest.mark.parametrize("case", KEY_TABLES)
def test_keys_with_java(case: Keyed, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    play_keyed(case, IN_TURN, {"us": ours, "java": java}, [ours, java], tmp_path)


@pytest.mark.parametrize("maker", ["ours", "theirs"])
@pytest.mark.parametrize("case", LAYOUTS)
def test_with_java(case: Case, maker: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    play(case, maker, ours, java, tmp_path)


@pytest.mark.parametrize("order", ["us them"])
@pytest.mark.parametrize("story", HISTORIES)
def test_story_with_java(story: Story, order: str, ours: Ours, java: Oracle, tmp_path: Path) -> None:
    play_steps(story, order, ours, java, tmp_path)


@pytest.mark.parametrize("maker", ["ours", "theirs"])
@pytest.mark.parametrize("case", [layout for layout in LAYOUTS if " type " in str(layout.id)])
def test_with_pypaimon(case: Case, maker: str, ours: Ours, pypaimon: Oracle, tmp_path: Path) -> None:
    play(case, maker, ours, pypaimon, tmp_path)
