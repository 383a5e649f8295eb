"""The forms in which the rows of a read are returned: everything that can be made of Arrow.

:class:`ArrowOutputs` is shared by reads of tables and of system tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pyarrow as pa

from lakebed.optional import check_installed

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class ArrowOutputs:
    """A read that returns its rows as Arrow, and therefore in other forms."""

    def to_arrow(self) -> pa.Table:
        """Returns all rows as an Arrow table."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Returns all rows as a pandas frame.

        Raises:
            UnsupportedError: pandas is not installed.
        """
        check_installed("to_pandas()", "pandas")
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Returns all rows as a Polars frame.

        Raises:
            UnsupportedError: Polars is not installed.
        """
        check_installed("to_polars()", "polars")
        import polars as pl  # noqa: PLC0415 - optional

        return cast("pl.DataFrame", pl.from_arrow(self.to_arrow()))
