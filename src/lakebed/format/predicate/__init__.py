"""What a filter is once it is bound to columns: an immutable tree, its Arrow expression, and what it says about files.

A node stands for a condition in SQL's three-valued logic. ``NOT`` is no node: whoever builds a tree pushes it down to
the leaves, so every node is monotone in its children and "unknown" may be read as "no". Leaves hold values of exactly
the Arrow type of their column; whatever cannot be said with such leaves is an :class:`Opaque` Arrow expression.

Three questions are answered here, none of them with I/O:

* which rows satisfy it: :func:`to_arrow_expression`, :func:`matches_rows`;
* which files may hold such a row, and which hold nothing else: :func:`may_match` and :func:`must_match`, vectorised
  over the statistics of all files at once. Statistics are bounds, not attained values: strings and bytes may be
  truncated, and NaN is in no bound. What is unknown never prunes a file and never vouches for one;
* which part of it speaks of some columns only: :func:`split` (exactly) and :func:`implied` (at least).

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
    "negate",
    "rename",
    "split",
    "to_arrow_expression",
    "to_text",
    "truth",
    "value_text",
]
