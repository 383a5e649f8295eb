"""Columns whose merged value is one of the given values: last, first, largest and smallest.

Each function returns a row per key, -1 for null. ``valid`` says which values are not null (None: all).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from lakebed.rows.merge_engines.key_history import ADD, NOWHERE, OLD, TAKE, Bools, History, Ints, Runs, one_array
from lakebed.rows.merge_engines.order_codes import order_keys

Pick: TypeAlias = Callable[[History, Bools | None], Ints]


def last_value(history: History) -> Ints:
    """The newest value, null included; null after it was retracted."""
    if history.plain:
        rows = history.keys.last
    else:
        rows = history.keys.last_where(history.base | (history.ops == ADD) | (history.ops == TAKE))
        rows = _unless(rows, history.ops == TAKE)
    return rows


def last_non_null_value(history: History, valid: Bools | None) -> Ints:
    """The newest value that is not null; null after any value was retracted."""
    if history.plain:
        return history.keys.last if valid is None else history.keys.last_where(valid)
    present = np.ones(history.keys.rows, np.bool_) if valid is None else valid
    acts = (history.ops == ADD) | (history.ops == TAKE)
    decided = history.keys.last_where(history.base | (acts & present))
    rows = _unless(decided, (history.ops == TAKE) | ~present)
    if not history.has(OLD):
        return rows
    # Only the first late value that finds a gap fills it.
    late = (history.ops == OLD) & present & (np.arange(history.keys.rows) > decided[history.keys.of_row])
    return np.where(rows < 0, history.keys.first_where(late), rows)


def first_value(history: History) -> Ints:
    """The oldest value, null included. A late value is older than all before it, so it replaces them."""
    if history.plain:
        return history.keys.starts
    acts = (history.ops == ADD) | (history.ops == OLD)
    opening = history.keys.first_where(acts)
    at = np.arange(history.keys.rows)
    opens = at == opening[history.keys.of_row]
    replaces = history.base | ((history.ops == OLD) & ~opens) | ((history.ops == ADD) & opens)
    return history.keys.last_where(replaces)


def first_non_null_value(history: History, valid: Bools | None) -> Ints:
    """The oldest value that is not null."""
    present = np.ones(history.keys.rows, np.bool_) if valid is None else valid
    if history.has(OLD):
        return _first_non_null_in_passes(history, present)
    opening = history.keys.first_where((history.ops == ADD) & present)
    rows = history.keys.last_where(history.base | (np.arange(history.keys.rows) == opening[history.keys.of_row]))
    return _unless(rows, ~present)


def _first_non_null_in_passes(history: History, present: Bools) -> Ints:
    """Find the first values one row after the other: a late null replaces the current value, as in Paimon."""
    keys = history.keys
    rows = np.full(len(keys), NOWHERE, np.int64)
    settled = np.zeros(len(keys), np.bool_)
    runs = Runs(keys.starts, keys.lengths, np.arange(len(keys)))
    for key, row in runs.passes():
        value = np.where(present[row], row, NOWHERE)
        held = np.where(history.base[row], value, rows[key])
        was_settled = settled[key]
        added = (history.ops[row] == ADD) & ~was_settled & (value >= 0)
        late = history.ops[row] == OLD
        keeps = late & ~was_settled & (held >= 0)
        rows[key] = np.where(added | (late & ~keeps), value, held)
        settled[key] = was_settled | added | keeps
    return rows


def _unless(rows: Ints, nulls: Bools) -> Ints:
    """Return the rows, or -1 where there is none or the mask is true."""
    return np.where((rows < 0) | nulls[rows], NOWHERE, rows)


def extreme(history: History, column: pa.ChunkedArray, valid: Bools | None, *, largest: bool) -> Ints:
    """The row of the largest or smallest value that is not null; false is smaller than true."""
    steps = history.steps(valid)
    values = order_keys(one_array(column))[steps.rows]
    runs = steps.runs
    out = np.full(steps.key_count, NOWHERE, np.int64)
    if len(runs.starts):
        best = (np.maximum if largest else np.minimum).reduceat(values, runs.starts)
        hits = np.flatnonzero(values == best[runs.of_item])
        out[steps.keys[hits]] = steps.rows[hits]
    return out


PICKS: Final[dict[str, Pick]] = {
    "last_value": lambda history, _valid: last_value(history),
    "last_non_null_value": last_non_null_value,
    "first_value": lambda history, _valid: first_value(history),
    "first_non_null_value": first_non_null_value,
    "first_not_null_value": first_non_null_value,
    "primary-key": lambda history, _valid: history.keys.last,
}
