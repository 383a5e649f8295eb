"""Sections, runs and what universal compaction picks."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from lakebed.metadata.plan.levels import (
    CompactionOptions,
    LevelFile,
    Rewrite,
    Upgrade,
    drops_deletes,
    oldest_first,
    pick_full,
    pick_level0,
    pick_universal,
    plan_unit,
    runs_of,
    sections,
)

MB = 1024 * 1024
OPTIONS = CompactionOptions()


def file(
    row: int, level: int, low: int, high: int, *, size: int = MB, sequence: int = 0, deletes: bool = False
) -> LevelFile:
    return LevelFile(row, level, low, high, size, sequence, sequence, deletes)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 8)), max_size=12))
def test_keys_of_two_sections_never_meet(ranges: list[tuple[int, int]]) -> None:
    files = [file(i, 0, low, low + width) for i, (low, width) in enumerate(ranges)]
    found = sections(files)
    assert sorted(f.row for section in found for f in section) == list(range(len(files)))
    for i, section in enumerate(found):
        for other in found[i + 1 :]:
            assert max(f.high for f in section) < min(f.low for f in other)
        reached = section[0].high
        for f in section[1:]:  # inside a section ranges chain: no finer cut is possible
            assert f.low <= reached
            reached = max(reached, f.high)


def test_higher_levels_are_older_and_sequences_tell_within_a_level() -> None:
    files = [
        file(0, 0, 0, 9, sequence=9),
        file(1, 5, 0, 9, sequence=2),
        file(2, 0, 0, 9, sequence=5),
        file(3, 1, 0, 9, sequence=4),
    ]
    assert [f.row for f in oldest_first(files)] == [1, 3, 2, 0]


def test_every_level0_file_is_a_run_and_every_level_above_is_one() -> None:
    files = [file(0, 0, 0, 9, sequence=1), file(1, 0, 0, 9, sequence=2), file(2, 3, 0, 4), file(3, 3, 5, 9)]
    assert [[f.row for f in run.files] for run in runs_of(files)] == [[1], [0], [2, 3]]


def test_nothing_is_picked_below_the_trigger() -> None:
    assert pick_universal([file(i, 0, 0, 9, sequence=i) for i in range(4)], OPTIONS) is None


def test_five_level0_files_of_equal_size_go_to_the_highest_level() -> None:
    unit = pick_universal([file(i, 0, 0, 9, sequence=i) for i in range(5)], OPTIONS)
    assert unit is not None
    assert (unit.output_level, len(unit.files)) == (5, 5)


def test_small_new_files_do_not_rewrite_a_large_old_one() -> None:
    files = [file(i, 0, 0, 9, sequence=i + 1) for i in range(5)] + [file(9, 5, 0, 9, size=1000 * MB)]
    unit = pick_universal(files, OPTIONS)
    assert unit is not None
    assert unit.output_level == 4
    assert {f.row for f in unit.files} == {0, 1, 2, 3, 4}
    assert not drops_deletes(unit, files)


def test_a_result_never_goes_to_level_0() -> None:
    files = [
        file(0, 0, 0, 9, sequence=9),
        file(1, 0, 0, 9, sequence=8, size=100 * MB),
        *(file(i, i - 1, 0, 9, size=500 * MB * i) for i in range(2, 6)),
    ]
    unit = pick_universal(files, OPTIONS)
    assert unit is None or unit.output_level > 0


def test_full_compaction_is_done_when_all_is_in_the_highest_level() -> None:
    assert pick_full([file(0, 5, 0, 9)], OPTIONS) is None
    assert pick_full([file(0, 5, 0, 9, deletes=True)], OPTIONS) is not None
    assert pick_full([file(0, 4, 0, 9)], OPTIONS) is not None


def test_level0_alone_is_lifted_above_what_is_there() -> None:
    unit = pick_level0([file(0, 0, 0, 9, sequence=2), file(1, 5, 0, 9, size=10 * MB)], OPTIONS)
    assert unit is not None
    assert (unit.output_level, [f.row for f in unit.files]) == (4, [0])
    assert pick_level0([file(1, 5, 0, 9)], OPTIONS) is None


def test_large_files_move_and_small_neighbours_are_joined() -> None:
    files = [file(0, 0, 0, 1), file(1, 0, 2, 3), file(2, 0, 4, 5, size=120 * MB), file(3, 0, 6, 7)]
    unit = pick_full(files, OPTIONS)
    assert unit is not None
    steps = plan_unit(unit, OPTIONS)
    assert [[f.row for f in step.files] if isinstance(step, Rewrite) else step.file.row for step in steps] == [
        [0, 1],
        2,
        3,
    ]


def test_a_file_with_deletes_is_rewritten_on_its_way_to_the_highest_level() -> None:
    unit = pick_full([file(0, 0, 0, 9, size=120 * MB, deletes=True)], OPTIONS)
    assert unit is not None
    assert isinstance(plan_unit(unit, OPTIONS)[0], Rewrite)


def test_a_file_that_is_there_already_stays() -> None:
    unit = pick_full([file(0, 5, 0, 9, size=120 * MB), file(1, 0, 20, 30, size=120 * MB)], OPTIONS)
    assert unit is not None
    assert [step.file.row for step in plan_unit(unit, OPTIONS) if isinstance(step, Upgrade)] == [1]
