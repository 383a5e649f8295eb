"""The files that may contain a row that satisfies a condition, and those that contain no other, by their statistics.

Bounds need not be values of the file. Strings and bytes in them may be truncated, and NaN is in none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.format.predicate.match_rows import COMPARE, Mask, filled, successor
from lakebed.format.predicate.nodes import And, Compare, In, IsNull, Leaf, Like, Literal, Node, Opaque, Or, opposite


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """One column of many files: no value is below ``minimum`` or above ``maximum``. Null means unknown.

    A file with two null bounds and as many nulls as rows contains only nulls.
    """

    minimum: pa.Array
    maximum: pa.Array
    null_count: pa.Array


@dataclass(frozen=True, slots=True)
class StatsView:
    """The statistics of many files; an absent column is unknown."""

    row_count: npt.NDArray[np.int64]
    columns: Mapping[str, ColumnBounds]


def may_match(node: Node, view: StatsView) -> Mask:
    """Returns False for a file only if none of its rows can satisfy the condition."""

    def leaf(leaf: Leaf, bounds: ColumnBounds) -> Mask:
        if isinstance(leaf, IsNull):
            return ~_all_null(bounds, view) if leaf.negated else ~_no_nulls(bounds)
        return _may_hold(leaf, bounds) & ~_all_null(bounds, view)

    return _judge(node, view, leaf, unknown=True)


def must_match(node: Node, view: StatsView) -> Mask:
    """Returns True for a file only if all of its rows satisfy the condition."""

    def leaf(leaf: Leaf, bounds: ColumnBounds) -> Mask:
        if isinstance(leaf, IsNull):
            return _no_nulls(bounds) if leaf.negated else _all_null(bounds, view)
        return ~_may_hold(opposite(leaf), bounds) & _no_nulls(bounds)

    return _judge(node, view, leaf, unknown=False)


def _judge(node: Node, view: StatsView, leaf: Callable[[Leaf, ColumnBounds], Mask], *, unknown: bool) -> Mask:
    match node:
        case And(children):
            parts = [_judge(child, view, leaf, unknown=unknown) for child in children]
            return np.asarray(np.logical_and.reduce(parts))
        case Or(children):
            parts = [_judge(child, view, leaf, unknown=unknown) for child in children]
            return np.asarray(np.logical_or.reduce(parts))
        case Literal(value):
            return np.full(len(view.row_count), value is True)
        case Opaque():
            return np.full(len(view.row_count), unknown)
        case _:
            bounds = view.columns.get(node.column)
            return np.full(len(view.row_count), unknown) if bounds is None else leaf(node, bounds)


def _all_null(bounds: ColumnBounds, view: StatsView) -> Mask:
    full = filled(pc.equal(bounds.null_count, pa.array(view.row_count)), if_null=False)
    return full & ~_known(bounds.minimum) & ~_known(bounds.maximum)


def _no_nulls(bounds: ColumnBounds) -> Mask:
    return filled(pc.equal(bounds.null_count, 0), if_null=False)


def _may_hold(node: Compare | In | Like, bounds: ColumnBounds) -> Mask:
    """Returns whether a value within the bounds, or NaN, can satisfy the leaf."""
    everything = np.full(len(bounds.minimum), fill_value=True)
    match node:
        case Like(_, _, negated):
            return everything if negated or not _has_type(bounds, pa.string()) else _prefix_in_bounds(node, bounds)
        case In(_, values, negated):
            if not _has_type(bounds, values.type):
                return everything
            return ~_single_value_in(values, bounds) if negated else _some_in_bounds(values, bounds)
        case Compare(_, op, value):
            if not _has_type(bounds, value.type):
                return everything
            if op in {"=", "<=>"}:
                return _some_in_bounds(pa.repeat(value, 1), bounds)
            if op == "!=":
                return ~_single_value_in(pa.repeat(value, 1), bounds)
            if op in {"<", "<="}:
                return _bound_holds(bounds.minimum, op, value)
            return everything if pa.types.is_floating(value.type) else _bound_holds(bounds.maximum, op, value)


def _has_type(bounds: ColumnBounds, wanted: pa.DataType) -> bool:
    return bool(bounds.minimum.type == wanted and bounds.maximum.type == wanted)


def _bound_holds(bound: pa.Array, op: str, value: pa.Scalar) -> Mask:
    """Returns whether a bound compares so with a value; true if either is NaN or the bound is unknown."""
    if pa.types.is_floating(value.type) and math.isnan(value.as_py()):
        return np.full(len(bound), fill_value=True)
    return filled(COMPARE[op](_without_nan(bound), value), if_null=True)


def _some_in_bounds(values: pa.Array, bounds: ColumnBounds) -> Mask:
    """Returns whether any of the values lies within the bounds of a file; an unknown bound does not limit it."""
    files = len(bounds.minimum)
    if len(values) == 0:
        return np.full(files, fill_value=False)
    if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
        return np.full(files, fill_value=True)
    low, high = _without_nan(bounds.minimum), _without_nan(bounds.maximum)
    if len(values) == 1:
        above = filled(pc.less_equal(low, values[0]), if_null=True)
        return above & filled(pc.greater_equal(high, values[0]), if_null=True)
    # ranks replace values of any type, so that one binary search covers all files
    ranks = pc.rank(pa.concat_arrays([low, high, values]), tiebreaker="dense").to_numpy().astype(np.int64)
    lows = np.where(_known(low), ranks[:files], 0)
    highs = np.where(_known(high), ranks[files : 2 * files], np.iinfo(np.int64).max)
    wanted = np.append(np.sort(ranks[2 * files :]), np.iinfo(np.int64).max)
    first = np.searchsorted(wanted, lows)
    found: Mask = (first < len(values)) & (wanted[first] <= highs)
    return found


def _single_value_in(values: pa.Array, bounds: ColumnBounds) -> Mask:
    """Returns whether a file has only one value and it is among these; false if bounds may be truncated or NaN."""
    if pa.types.is_string(values.type) or pa.types.is_binary(values.type) or pa.types.is_floating(values.type):
        return np.full(len(bounds.minimum), fill_value=False)
    single = filled(pc.equal(bounds.minimum, bounds.maximum), if_null=False)
    return single & filled(pc.is_in(bounds.minimum, value_set=values), if_null=False)


def _prefix_in_bounds(node: Like, bounds: ColumnBounds) -> Mask:
    """Returns whether a string with the pattern's prefix lies within a file's bounds."""
    prefix = node.prefix
    found = filled(pc.greater_equal(bounds.maximum, prefix), if_null=True)
    after = successor(prefix)
    return found if after is None else found & filled(pc.less(bounds.minimum, after), if_null=True)


def _without_nan(bound: pa.Array) -> pa.Array:
    if not pa.types.is_floating(bound.type):
        return bound
    return pc.if_else(pc.is_nan(bound), pa.scalar(None, bound.type), bound)


def _known(bound: pa.Array) -> Mask:
    return filled(pc.is_valid(bound), if_null=False)
