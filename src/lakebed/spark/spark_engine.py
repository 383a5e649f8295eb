"""The engine that runs the kernels of operations in tasks of a Spark session."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from lakebed.engine import Compacted, NewFiles, Report, Rewritten, WritePlan
from lakebed.rows.append.append_compact import AppendCompactor
from lakebed.rows.keyed.keyed_compact import BucketWork, Compactor
from lakebed.spark.write.compact_on_spark import compact_buckets, rewrite_packs
from lakebed.spark.write.sort_on_spark import sort_packs
from lakebed.spark.write.write_frame import write_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class OnSpark:
    """Runs kernels in the tasks of a Spark session."""

    spark: SparkSession

    def write(self, plan: WritePlan, data: DataFrame) -> NewFiles:
        """Writes the rows of a frame as new files."""
        return write_frame(plan, data)

    def compact(self, compactor: Compactor, works: Sequence[BucketWork], report: Report | None) -> Compacted:
        """Compacts buckets in tasks; the driver sends them names of files."""
        return compact_buckets(self.spark, compactor, works, report)

    def rewrite(self, compactor: AppendCompactor, packs: Sequence[pa.Table], report: Report | None) -> Rewritten:
        """Rewrites packs of files of an append table in tasks; the driver sends them names of files."""
        if compactor.order is not None:
            return sort_packs(self.spark, compactor, packs, report)
        return rewrite_packs(self.spark, compactor, packs, report)
