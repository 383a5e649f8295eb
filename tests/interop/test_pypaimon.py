"""Lakebed and pypaimon 2.1.0 on the same tables: each reads what the other writes, and both append in turn."""

from pathlib import Path

import pytest
from tests.interop.cases import CASES, STORIES, Case, Story
from tests.interop.matrix import play, play_steps
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours


@pytest.mark.parametrize("maker", ["ours", "theirs"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_case(case: Case, maker: str, ours: Ours, pypaimon: Oracle, tmp_path: Path) -> None:
    play(case, maker, ours, pypaimon, tmp_path)


@pytest.mark.parametrize("order", ["us", "them", "us them", "them us"])
@pytest.mark.parametrize("story", STORIES, ids=lambda s: s.name)
def test_story(story: Story, order: str, ours: Ours, pypaimon: Oracle, tmp_path: Path) -> None:
    play_steps(story, order, ours, pypaimon, tmp_path)
