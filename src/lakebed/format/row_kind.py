"""Row kinds: what a row does to its key. The numbers, the texts, and the columns that hold them.

| number | text | name | meaning |
|---|---|---|---|
| 0 | ``+I`` | INSERT | inserts the row |
| 1 | ``-U`` | UPDATE_BEFORE | deletes the old version of an updated row |
| 2 | ``+U`` | UPDATE_AFTER | inserts the new version of an updated row |
| 3 | ``-D`` | DELETE | deletes the row |

``-U`` and ``-D`` are *retractions*. Data files of primary-key tables store the numbers in the column ``_VALUE_KIND``.
Users read and write the texts: ``$audit_log``, ``$binlog`` and streams with ``read.changelog`` return them in the
column ``rowkind``.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataError

Kinds: TypeAlias = npt.NDArray[np.int8]

INSERT: Final = 0
UPDATE_BEFORE: Final = 1
UPDATE_AFTER: Final = 2
DELETE: Final = 3

KIND_TEXTS: Final = ("+I", "-U", "+U", "-D")
"""The text of each row kind; its position is its number."""

KIND_COLUMN: Final = "_VALUE_KIND"
"""The column of a data file that holds the number of each row's kind."""

KIND_TEXT_COLUMN: Final = "rowkind"
"""The column of a result that holds the text of each row's kind."""


def is_retraction(kinds: Kinds) -> npt.NDArray[np.bool_]:
    """Returns which rows delete a row: those of kind -U or -D.

    >>> is_retraction(np.array([0, 1, 2, 3], np.int8))
    array([False,  True, False,  True])
    """
    found: npt.NDArray[np.bool_] = (kinds == UPDATE_BEFORE) | (kinds == DELETE)
    return found


def is_row_kind(kinds: Kinds) -> npt.NDArray[np.bool_]:
    """Returns which numbers are row kinds.

    >>> is_row_kind(np.array([3, 4, -1], np.int8))
    array([ True, False, False])
    """
    found: npt.NDArray[np.bool_] = (kinds >= INSERT) & (kinds <= DELETE)
    return found


def repeated_kind(kind: int, count: int) -> pa.Array:
    """Returns a column of numbers in which all rows have one kind."""
    return pa.array(np.full(count, kind, np.int8))


def kinds_to_texts(kinds: Kinds | pa.Array) -> pa.Array:
    """Returns the texts of row kinds.

    >>> kinds_to_texts(np.array([0, 3], np.int8)).to_pylist()
    ['+I', '-D']
    """
    return pa.array(KIND_TEXTS, pa.string()).take(pa.array(kinds) if isinstance(kinds, np.ndarray) else kinds)


def kinds_from_texts(texts: pa.Array | pa.ChunkedArray) -> Kinds:
    """Returns the row kinds that texts name, in upper or lower case.

    >>> kinds_from_texts(pa.array(["+I", "-D", "+u"]))
    array([0, 3, 2], dtype=int8)
    >>> kinds_from_texts(pa.array(["+I", "delete"]))
    Traceback (most recent call last):
    ...
    lakebed.errors.DataError: row 1 has the row kind 'delete'; a row kind is one of +I, -U, +U, -D
    """
    kinds = pc.index_in(pc.utf8_upper(texts), value_set=pa.array(KIND_TEXTS, texts.type))
    if kinds.null_count:
        row = pc.index(pc.is_null(kinds), True).as_py()
        raise DataError(
            f"row {row} has the row kind {texts[row].as_py()!r}; a row kind is one of {', '.join(KIND_TEXTS)}"
        )
    return np.asarray(kinds).astype(np.int8)
