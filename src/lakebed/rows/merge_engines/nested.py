"""``collect``, ``merge_map`` and ``nested_update``: columns with many items, merged item by item.

The arrays and maps of all steps are flattened into items. Items of one key with the same identity (the element, the
map key, the nested key) are sorted to find the one that remains. Items are compared by value, including nested and
binary ones.

Order: Paimon uses hash tables for distinct elements, maps and keyed rows, so the order of its results is arbitrary.
Here an item is at the position where its identity was first added. A single value is not changed at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.errors import DataError
from lakebed.rows.merge_engines.key_history import BASE, OLD, TAKE, Bools, History, Ints, Ops, Runs, Steps, one_array
from lakebed.rows.merge_engines.order_codes import identity_codes, row_ranks


@dataclass(frozen=True)
class NestedKey:
    """How rows inside an array are identified, and which of two is newer."""

    fields: tuple[str, ...] = ()
    sequence: tuple[str, ...] = ()
    nulls: str = "merge"


@dataclass(frozen=True)
class _Items:
    """The items of all steps: their position, and the step, action and key they belong to."""

    at: Ints
    step: Ints
    op: Ops
    key: Ints

    @staticmethod
    def of(steps: Steps, values: pa.Array) -> _Items:
        offsets = np.asarray(values.offsets, np.int64)
        starts = offsets[steps.rows]
        lengths = offsets[steps.rows + 1] - starts
        step = np.repeat(np.arange(len(steps.rows)), lengths)
        inside = np.arange(len(step)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return _Items(starts[step] + inside, step, steps.ops[step], steps.keys[step])

    def where(self, mask: Bools | Ints) -> _Items:
        return _Items(self.at[mask], self.step[mask], self.op[mask], self.key[mask])

    @property
    def standing(self) -> Ints:
        """Numbers in the order in which steps stand when late ones go to the front."""
        return np.where(self.op == OLD, -self.step - 1, self.step)

    def front_to_back(self) -> _Items:
        return self.where(np.lexsort((self.standing, self.key))) if (self.op == OLD).any() else self


@dataclass(frozen=True)
class _Groups:
    """Items sorted by key, identity and time, in groups of one key and identity."""

    order: Ints
    runs: Runs

    @staticmethod
    def of(items: _Items, codes: Ints) -> _Groups:
        order = np.lexsort((codes, items.key))
        pairs = items.key[order] * (codes.max(initial=0) + 1) + codes[order]
        return _Groups(order, Runs.of(pairs))

    def after_last(self, mask: Bools) -> Bools:
        """Which items come after the last item of their group where the mask holds."""
        if not len(self.order):
            return np.zeros(0, np.bool_)
        position = np.arange(len(self.order))
        last = np.maximum.reduceat(np.where(mask[self.order], position, -1), self.runs.starts)
        out = np.empty(len(self.order), np.bool_)
        out[self.order] = position > last[self.runs.of_item]
        return out

    def first(self, mask: Bools) -> Ints:
        """The first item of each group where the mask holds; groups without one are left out."""
        hits = np.flatnonzero(mask[self.order])
        _, firsts = np.unique(self.runs.of_item[hits], return_index=True)
        return self.order[hits[firsts]]


def collected(
    history: History, column: pa.ChunkedArray, valid: Bools | None, *, distinct: bool, late_in_front: bool
) -> pa.Array:
    """Concatenate the arrays of a key, or return the set of their elements; a retraction removes an element once."""
    values, steps = one_array(column), history.steps(valid)
    items = _Items.of(steps, values)
    if late_in_front:
        items = items.front_to_back()
    adds = items.op != TAKE
    if distinct:
        groups = _Groups.of(items, identity_codes(values.values.take(pa.array(items.at))))
        kept = np.sort(groups.first(adds & groups.after_last(~adds)))
    elif adds.all():
        kept = np.arange(len(items.at))
    else:
        kept = np.sort(_left_over(items, values))
    return _rebuilt(values, steps, items.where(kept), steps.ops == BASE)


def _left_over(items: _Items, values: pa.Array) -> Ints:
    """Return the elements that remain when every retracted element removes the oldest equal one, if there is one."""
    groups = _Groups.of(items, identity_codes(values.values.take(pa.array(items.at))))
    adds = items.op[groups.order] != TAKE
    balance = np.cumsum(np.where(adds, 1, -1))
    starts, of_item = groups.runs.starts, groups.runs.of_item
    before = np.concatenate([[0], balance])[starts]
    lowest = np.minimum(np.minimum.reduceat(balance, starts) - before, 0)
    left = balance[starts + groups.runs.lengths - 1] - before - lowest
    count = np.cumsum(adds)
    to_come = count[starts + groups.runs.lengths - 1][of_item] - count
    kept: Ints = groups.order[adds & (to_come < left[of_item])]
    return kept


def merged_map(history: History, column: pa.ChunkedArray, valid: Bools | None) -> pa.Array:
    """Merge the maps of a key: newer entries replace, late ones only fill gaps, retractions remove the key."""
    values, steps = one_array(column), history.steps(valid)
    items = _Items.of(steps, values)
    groups = _Groups.of(items, identity_codes(values.keys.take(pa.array(items.at))))
    since = groups.after_last(items.op == TAKE)
    kept = _newest(items, groups, since, np.zeros(len(items.at), np.int64))
    return _rebuilt(values, steps, kept, steps.ops == BASE)


def nested_updated(
    history: History, column: pa.ChunkedArray, valid: Bools | None, *, nested: NestedKey, where: str
) -> pa.Array:
    """Merge rows inside an array, by their nested key if there is one; null rows are skipped."""
    values, steps = one_array(column), history.steps(valid)
    untouched = _untouched(history, steps, valid)
    items = _Items.of(steps, values)
    rows = values.values.take(pa.array(items.at))
    here = np.asarray(rows.is_valid())
    if nested.fields:
        here &= _keyed(rows, here, nested, where)
    if not here.all():
        items, rows = items.where(here), rows.filter(pa.array(here))
    if not nested.fields:
        groups = _Groups.of(items, identity_codes(rows))
        kept = np.flatnonzero((items.op != TAKE) & groups.after_last(items.op == TAKE))
        return _rebuilt(values, steps, items.where(kept).front_to_back(), untouched)
    groups = _Groups.of(items, identity_codes(_fields(rows, nested.fields)))
    since = groups.after_last(items.op == TAKE)
    ranks = row_ranks(_fields(rows, nested.sequence).flatten()) if nested.sequence else np.zeros(len(rows), np.int64)
    return _rebuilt(values, steps, _newest(items, groups, since, ranks), untouched)


def _untouched(history: History, steps: Steps, valid: Bools | None) -> Bools:
    """Return the steps whose value stays unchanged: a base or a late value, if no late null follows."""
    mask: Bools = (steps.ops == BASE) | (steps.ops == OLD)
    if valid is not None and history.has(OLD):
        mask &= steps.rows > history.keys.last_where((history.ops == OLD) & ~valid)[steps.keys]
    return mask


def _keyed(rows: pa.Array, here: Bools, nested: NestedKey, where: str) -> Bools:
    """Return which rows take part, by the null strategy for nulls in their key."""
    if nested.nulls == "merge":
        return here
    complete = here.copy()
    for part in _fields(rows, nested.fields).flatten():
        complete &= np.asarray(part.is_valid())
    if nested.nulls == "error" and not complete[here].all():
        raise DataError(
            f"{where}: a nested row has a null in its key ({', '.join(nested.fields)}); fill it, or set "
            "'nested-key-null-strategy' of the column to merge or ignore"
        )
    return complete


def _fields(rows: pa.Array, names: Sequence[str]) -> pa.Array:
    return pa.StructArray.from_arrays([pc.struct_field(rows, name) for name in names], list(names))


def _newest(items: _Items, groups: _Groups, since: Bools, ranks: Ints) -> _Items:
    """Return the newest item of each identity, at the position of the first.

    The newest has the highest rank, and of these it is the last one that was not late.
    """
    standing = items.standing
    candidates = groups.order[(since & (items.op != TAKE))[groups.order]]
    group = np.empty(len(groups.order), np.int64)
    group[groups.order] = groups.runs.of_item
    order = candidates[np.lexsort((candidates, standing[candidates], ranks[candidates], group[candidates]))]
    runs = Runs.of(group[order])
    winners = order[runs.starts + runs.lengths - 1]
    places = np.minimum.reduceat(order, runs.starts) if len(order) else order
    return items.where(winners[np.argsort(places, kind="stable")])


def _rebuilt(values: pa.Array, steps: Steps, items: _Items, untouched: Bools) -> pa.Array:
    """Build the arrays or maps of these items per key; null for keys that never had any.

    If a key has only one step and it is an untouched one, its value is not changed.
    """
    given = steps.key_has(steps.ops != TAKE)
    single = (steps.counts[steps.keys] == 1) & untouched
    if single.any():
        raw = _Items.of(steps.where(single), values)
        items = items.where(~steps.key_has(single)[items.key])
        at, keys = np.concatenate([items.at, raw.at]), np.concatenate([items.key, raw.key])
        order = np.argsort(keys, kind="stable")
        at, keys = at[order], keys[order]
    else:
        at, keys = items.at, items.key
    lengths = np.bincount(keys, minlength=steps.key_count)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    taken, empty = pa.array(at), pa.array(~given)
    if pa.types.is_map(values.type):
        return pa.MapArray.from_arrays(
            offsets, values.keys.take(taken), values.items.take(taken), type=values.type, mask=empty
        )
    return pa.ListArray.from_arrays(offsets, values.values.take(taken), type=values.type, mask=empty)
