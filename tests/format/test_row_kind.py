"""Row kinds: the numbers and texts of Paimon, defined in one module."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lakebed
from lakebed.errors import DataError
from lakebed.format.row_kind import (
    DELETE,
    INSERT,
    KIND_TEXTS,
    UPDATE_AFTER,
    UPDATE_BEFORE,
    is_retraction,
    is_row_kind,
    kinds_from_texts,
    kinds_to_texts,
    repeated_kind,
)

SOURCE = Path(lakebed.__file__).parent
ALL = np.array([0, 1, 2, 3], np.int8)


def test_numbers_and_texts_are_those_of_paimon() -> None:
    # org.apache.paimon.types.RowKind: INSERT("+I", 0), UPDATE_BEFORE("-U", 1), UPDATE_AFTER("+U", 2), DELETE("-D", 3)
    assert (INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE) == (0, 1, 2, 3)
    assert KIND_TEXTS == ("+I", "-U", "+U", "-D")


def test_retractions_are_update_before_and_delete() -> None:
    assert is_retraction(ALL).tolist() == [False, True, False, True]
    assert is_retraction(np.array([5, -1, 7], np.int8)).tolist() == [False, False, False]


def test_other_numbers_are_no_row_kinds() -> None:
    assert is_row_kind(ALL).all()
    assert not is_row_kind(np.array([-1, 4, 127, -128], np.int8)).any()


@pytest.mark.parametrize("kinds", [ALL, pa.array(ALL), ALL[:0]])
def test_kinds_to_texts_and_back(kinds: np.ndarray | pa.Array) -> None:
    texts = kinds_to_texts(kinds)
    assert texts.type == pa.string()
    assert kinds_from_texts(texts).tolist() == kinds.tolist()
    assert kinds_from_texts(pa.chunked_array([texts, texts])).tolist() == [*kinds.tolist(), *kinds.tolist()]


@pytest.mark.parametrize("text", ["delete", "", " +I", "+ I", None])
def test_a_text_that_is_no_row_kind_is_refused(text: str | None) -> None:
    with pytest.raises(DataError, match=r"row 1 has the row kind .*; a row kind is one of \+I, -U, \+U, -D"):
        kinds_from_texts(pa.array(["-u", text], pa.string()))


def test_repeated_kind_is_a_column_of_bytes() -> None:
    assert repeated_kind(DELETE, 3).equals(pa.array([3, 3, 3], pa.int8()))


def test_no_other_module_spells_row_kinds() -> None:
    spelled = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and node.value in (*KIND_TEXTS, "_VALUE_KIND", "rowkind")
    }
    assert spelled == {"format/row_kind.py"}
