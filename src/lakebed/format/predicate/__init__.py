"""Predicates: conditions on columns as an immutable tree, tested on rows and on the statistics of files.

A node is a condition in SQL's three-valued logic. There is no node for ``NOT``: the builder of a tree pushes it down to
the leaves, so "unknown" can be treated as "no". Leaves contain values of exactly the Arrow type of their column.
Conditions that cannot be expressed with such leaves are an :class:`Opaque` Arrow expression.

All functions are pure:

* :func:`to_arrow_expression` and :func:`matches_rows` find the rows that satisfy a condition.
* :func:`may_match` and :func:`must_match` find the files that may contain such a row, and those that contain no other,
  from the statistics of all files at once. Bounds need not be values of the file: strings and bytes may be truncated,
  and NaN is in no bound. Unknown statistics never exclude a file and never confirm one.
* :func:`split` and :func:`implied` return the part of a condition that only uses some columns: ``split`` exactly,
  ``implied`` as the strongest consequence.

Floating-point numbers compare as in Spark: NaN equals NaN and is greater than every other number, -0.0 equals 0.0.

>>> import numpy as np
>>> import pyarrow as pa
>>> node = And((Compare("id", ">", pa.scalar(5)), Like("name", "a%")))
>>> to_text(node)
"id > 5 AND name LIKE 'a%'"
>>> files = StatsView(
...     np.array([10, 10]),
...     {"id": ColumnBounds(pa.array([1, 3]), pa.array([5, 9]), pa.array([0, 0]))},
... )
>>> may_match(node, files).tolist()
[False, True]
"""

from __future__ import annotations

from lakebed.format.predicate.match_rows import (
    COMPARE,
    Mask,
    matches_rows,
    to_arrow_expression,
    truth,
)
from lakebed.format.predicate.match_statistics import (
    ColumnBounds,
    StatsView,
    may_match,
    must_match,
)
from lakebed.format.predicate.nodes import (
    FALSE,
    MAX_CANDIDATES,
    TRUE,
    UNKNOWN,
    And,
    Compare,
    In,
    IsNull,
    Leaf,
    Like,
    Literal,
    Node,
    Opaque,
    Or,
    columns,
    conjunction,
    conjuncts,
    disjunction,
    implied,
    key_candidates,
    negate,
    rename,
    split,
)
from lakebed.format.predicate.sql_text import (
    name_text,
    to_text,
    value_text,
)

__all__ = [
    "COMPARE",
    "FALSE",
    "MAX_CANDIDATES",
    "TRUE",
    "UNKNOWN",
    "And",
    "ColumnBounds",
    "Compare",
    "In",
    "IsNull",
    "Leaf",
    "Like",
    "Literal",
    "Mask",
    "Node",
    "Opaque",
    "Or",
    "StatsView",
    "columns",
    "conjunction",
    "conjuncts",
    "disjunction",
    "implied",
    "key_candidates",
    "matches_rows",
    "may_match",
    "must_match",
    "name_text",
    "negate",
    "rename",
    "split",
    "to_arrow_expression",
    "to_text",
    "truth",
    "value_text",
]
