"""``listagg``: the texts of a key, joined in order.

Null and blank texts (only white space) are skipped. With ``distinct``, every text is split at the delimiter, and only
new parts are added; the first text is not changed. A text that comes too late is put in front.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakebed.rows.merge_engines.key_history import NOWHERE, OLD, Bools, History, Ints, Runs, Steps, one_array
from lakebed.rows.merge_engines.order_codes import identity_codes

# Java's Character.isWhitespace: Unicode spaces but not the no-break ones, and the control characters around them.
_BLANK = "^[\\p{Zs}\\p{Zl}\\p{Zp}\t-\r\x1c-\x1f]*$"
_NO_BREAK = "[\u00a0\u2007\u202f]"


def joined(
    history: History, column: pa.ChunkedArray, valid: Bools | None, *, delimiter: str, distinct: bool
) -> pa.Array:
    """The joined text per key; null if there was none."""
    texts, steps = one_array(column), history.steps(valid)
    blank = blank_texts(texts.take(pa.array(steps.rows)))
    full = front_to_back(steps.where(~blank))
    parts = texts.take(pa.array(full.rows))
    owners = full.keys
    if distinct:
        parts, owners = _distinct_parts(parts, owners, delimiter)
    counts = np.bincount(owners, minlength=steps.key_count)
    lists = pa.ListArray.from_arrays(pa.array(np.concatenate([[0], np.cumsum(counts)]), pa.int32()), parts)
    found = full.key_has(np.ones(len(full.rows), np.bool_))
    result = pc.if_else(pa.array(found), pc.binary_join(lists, delimiter), pa.scalar(None, pa.string()))
    if found.all():
        return result
    # Nothing to join: what remains is a blank text that was stored unchanged.
    kept = np.full(steps.key_count, NOWHERE, np.int64)
    whole = history.live & (history.base | (history.ops == OLD))
    kept[history.keys.of_row[whole]] = np.flatnonzero(whole)
    return pc.coalesce(result, texts.take(pa.array(kept, mask=found | (kept < 0))))


def front_to_back(steps: Steps) -> Steps:
    """The steps in the order in which their values stand: late ones first, the latest of them in front."""
    late = steps.ops == OLD
    if not late.any():
        return steps
    order = np.lexsort((np.where(late, -steps.rows, steps.rows), ~late, steps.keys))
    return Steps(steps.rows[order], steps.ops[order], steps.keys[order], steps.key_count)


def blank_texts(texts: pa.Array) -> Bools:
    """Which texts are nothing but white space."""
    spaces = pc.match_substring_regex(texts, _BLANK)
    if not pc.any(spaces).as_py():
        return np.zeros(len(texts), np.bool_)
    return np.asarray(pc.and_not(spaces, pc.match_substring_regex(texts, _NO_BREAK)))


def _distinct_parts(texts: pa.Array, owners: Ints, delimiter: str) -> tuple[pa.Array, Ints]:
    """Return the parts of the texts that remain, in order, and their keys."""
    split = pc.split_pattern(texts, delimiter)
    lengths = np.asarray(pc.list_value_length(split), np.int64)
    parts, keys = split.flatten(), np.repeat(owners, lengths)
    at_front = np.zeros(len(texts), np.bool_)
    at_front[Runs.of(owners).starts] = True
    front = np.repeat(at_front, lengths)
    first_seen = first_of_each(keys, identity_codes(parts))
    stays = front | (first_seen & ~blank_texts(parts))
    return parts.filter(pa.array(stays)), keys[stays]


def first_of_each(keys: Ints, codes: Ints) -> Bools:
    """Which items are the first with their key and code."""
    order = np.lexsort((codes, keys))
    firsts = np.zeros(len(keys), np.bool_)
    if len(keys):
        changes = (np.diff(keys[order]) != 0) | (np.diff(codes[order]) != 0)
        firsts[order[np.concatenate([[True], changes])]] = True
    return firsts
