"""Computes an Arrow expression over rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import acero

from lakebed.errors import DataError


def evaluate(expression: pc.Expression, rows: pa.Table, what: str) -> pa.ChunkedArray:
    """Returns the value of an expression for each row; ``what`` names it in messages.

    Raises:
        DataError: It cannot be computed.

    Example:
        >>> evaluate(pc.field("n") + 1, pa.table({"n": [1, 2]}), "the value").to_pylist()
        [2, 3]
    """
    source = acero.Declaration("table_source", acero.TableSourceNodeOptions(rows))
    project = acero.Declaration("project", acero.ProjectNodeOptions([expression], ["value"]))
    try:
        return acero.Declaration.from_sequence([source, project]).to_table(use_threads=False).column("value")
    except pa.ArrowException as error:
        raise DataError(f"{what} cannot be computed: {str(error).splitlines()[0]}. Nothing was written") from None
