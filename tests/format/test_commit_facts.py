"""The facts that commits record in snapshot properties: one list of keys, one way to read them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import lakebed
from lakebed.format import commit_facts as facts
from lakebed.format.commit_facts import Lineage, encode_facts, encode_lineages, read_count, read_flag, read_lineages

SOURCE = Path(lakebed.__file__).parent
LINEAGE = Lineage("b1", b"\x00\x01", b"\x02", "b0", (b"\x03", b"\x04"), 7, 9)
FIRST = Lineage("b0", b"\x02", None, None, (), 0, 3)


def test_every_key_has_a_meaning() -> None:
    keys = {
        value for name, value in vars(facts).items() if name.isupper() and isinstance(value, str) and name != "_TRUE"
    }
    assert keys == set(facts.FACTS)
    assert all(key.startswith("lakebed.") and meaning for key, meaning in facts.FACTS.items())


def test_no_other_module_spells_a_key() -> None:
    spelled = {
        (path.relative_to(SOURCE).as_posix(), node.value)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in facts.FACTS
    }
    assert {path for path, _ in spelled} == {"format/commit_facts.py"}


@pytest.mark.parametrize(("text", "count"), [("0", 0), ("12", 12), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_counts(text: str, count: int) -> None:
    assert read_count({facts.LIVE_BYTES: text}, facts.LIVE_BYTES) == count


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.5", " 1", "1 ", "²", "٣", "abc", "9" * 19, "1e3", None, 5])
def test_damaged_counts_are_absent(text: str) -> None:
    assert read_count({facts.LIVE_BYTES: text}, facts.LIVE_BYTES) is None
    assert read_count({}, facts.LIVE_BYTES) is None


@pytest.mark.parametrize(
    ("text", "is_set"), [("true", True), ("false", False), ("TRUE", False), ("1", False), ("", False)]
)
def test_flags(text: str, is_set: bool) -> None:
    assert read_flag({facts.CHAIN_EXPIRED: text}, facts.CHAIN_EXPIRED) is is_set
    assert not read_flag({}, facts.CHAIN_EXPIRED)


def test_facts_come_back_as_they_were() -> None:
    recorded = encode_facts({facts.FILES_ADDED: 3, facts.COMPACTION: "FULL", facts.FULLY_COMPACTED: True})
    assert recorded == {
        "lakebed.files-added": "3",
        "lakebed.compaction": "FULL",
        "lakebed.full-compaction": "true",
    }
    assert read_count(recorded, facts.FILES_ADDED) == 3
    assert read_flag(recorded, facts.FULLY_COMPACTED)


def test_lineages_come_back_as_they_were() -> None:
    properties = encode_lineages([LINEAGE, FIRST])
    assert read_lineages(properties) == [LINEAGE, FIRST]
    assert properties == {
        "lakebed.chain.lineage": '[{"build": "b1", "partition": "0001", "anchor": "02", "anchor_build": "b0", '
        '"deltas": ["03", "04"], "full_snapshot": 7, "delta_snapshot": 9}, '
        '{"build": "b0", "partition": "02", "anchor": null, "anchor_build": null, "deltas": [], '
        '"full_snapshot": 0, "delta_snapshot": 3}]'
    }


@pytest.mark.parametrize("text", ["", "{}x", "5", "null", '["a"]', "[{}]", '{"a": 1}', '[{"build": 1}]', "[" * 100_000])
def test_damaged_lineages_are_absent(text: str) -> None:
    assert read_lineages({facts.CHAIN_LINEAGE: text}) == []


def test_keys_are_words_with_dashes() -> None:
    assert all(re.fullmatch(r"lakebed(\.[a-z]+(-[a-z]+)*)+", key) for key in facts.FACTS)
