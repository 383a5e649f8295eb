"""Spark jobs whose tasks write files, safe against failed and repeated tasks.

The name of a file contains the id of its job and of the attempt that wrote it. So attempts never overwrite files of
each other, and the driver finds all files of a job. Only files that successful attempts report are used. If the job or
one of its attempts failed, the other files are deleted.

Errors in the data are returned as reports, not as failed tasks: they would fail again, and Spark would print traces.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import re
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lakebed.errors import (
    SHARE_THE_WAREHOUSE,
    DataError,
    LakebedError,
    OptionError,
    SchemaError,
    StorageError,
    UnsupportedError,
)
from lakebed.format.schema.table_schema import TableSchema
from lakebed.metadata.data_file_paths import data_file_paths
from lakebed.metadata.store import TableStore
from lakebed.options import TableOptions
from lakebed.spark.session import map_in_arrow
from lakebed.spark.worker_errors import recorded_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Kernel = Callable[[Iterator[pa.RecordBatch]], Any]
Watch = Callable[[int], None]

# Errors that another attempt would raise again.
_LASTING: Final = (DataError, OptionError, SchemaError, UnsupportedError)
_ROW_NUMBER: Final = re.compile(r"\brow \d+\b")
_JOB_PART: Final = len("xxxxxxxx-xxxx-4xxx")
_PATIENCE: Final = 10.0


@dataclass(frozen=True, slots=True)
class JobFiles:
    """The files of one job. Their names contain a UUID: first the id of the job, then that of the attempt."""

    job: str

    @staticmethod
    def new() -> JobFiles:
        return JobFiles(str(uuid.uuid4())[:_JOB_PART])

    def attempt(self, store: TableStore) -> str:
        """Returns a UUID for the files of one attempt of a task; StorageError if its machine does not see the table."""
        store.check_seen()
        return self.job + str(uuid.uuid4())[_JOB_PART:]

    def remove(self, store: TableStore, schema: TableSchema, keep: Collection[str] = ()) -> None:
        """Deletes the files of the job from all bucket folders of the table, except those in ``keep``."""
        kept = set(keep)
        for folder in [*_bucket_folders(store, schema), store.paths.indexes]:
            for info in store.storage.list(folder):
                if f"-{self.job}-" in info.name and info.name not in kept:
                    with contextlib.suppress(LakebedError):
                        store.storage.delete(f"{folder}/{info.name}")


def _bucket_folders(store: TableStore, schema: TableSchema) -> Iterator[str]:
    folders = [store.paths.data_root(TableOptions(schema.options).data_file_directory)]
    for _ in schema.partition_keys:
        folders = [
            f"{folder}/{info.name}" for folder in folders for info in store.storage.list(folder) if "=" in info.name
        ]
    for folder in folders:
        yield from (f"{folder}/{info.name}" for info in store.storage.list(folder) if info.name.startswith("bucket-"))


def check_arrived(store: TableStore, schema: TableSchema, *written: pa.Table) -> None:
    """Raises StorageError if tasks have written files that the driver does not see.

    That happens on local disks only, if executors have a folder of the same name on a disk of their own.
    """
    if store.storage.is_remote:
        return
    paths = (path for entries in written for path in data_file_paths(store, schema, entries))
    missing = next((path for path in paths if not store.storage.exists(path)), None)
    if missing is not None:
        raise StorageError(
            f"cannot write to table {store.name}: a task wrote {missing}, but the driver does not see it. {SHARE_THE_WAREHOUSE}"
        )


@dataclass(frozen=True, slots=True)
class _Report:
    """What a task returns to the driver."""

    result: Any
    error: LakebedError | None
    repeated: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """The results of the tasks of a job; ``repeated`` if there may be files of other attempts."""

    results: list[Any]
    repeated: bool


def run_job(frame: DataFrame, kernel: Kernel, watch: Watch | None = None) -> Outcome:
    """Runs a kernel over the partitions of a frame; returns the results that are not ``None``.

    ``watch`` is called with the number of finished tasks from time to time, in classic sessions.
    """
    spark = frame.sparkSession
    with _tagged(spark) as tag, _watched(spark, tag, watch):
        try:
            reports = [_loads(row.report) for row in map_in_arrow(frame, _in_task(kernel), "report binary").collect()]
            repeated = any(report.repeated for report in reports) or _may_repeat(spark, tag)
        except BaseException as error:
            _end(spark, tag)
            ours = recorded_error(error)
            if ours is not None:
                raise ours from None
            raise
    failed = [report.error for report in reports if report.error is not None]
    if failed:
        raise failed[0]
    return Outcome([report.result for report in reports if report.result is not None], repeated)


def run_here(kernel: Kernel, count: int) -> Outcome:
    """Runs a kernel over the numbers of ``count`` tasks in this process, for work that is cheaper than a job."""
    numbers = pa.RecordBatch.from_pydict({"id": pa.array(range(count), pa.int64())})
    report = _attempt(kernel, iter([numbers]))
    if report.error is not None:
        raise report.error
    return Outcome([] if report.result is None else [report.result], report.repeated)


def spill_folder() -> str | None:
    """Returns the folder to which a task spills rows: the first one that Spark is configured with."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None


def _in_task(kernel: Kernel) -> Any:
    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        report = _attempt(kernel, batches)
        yield pa.RecordBatch.from_pydict({"report": pa.array([pickle.dumps(report)], pa.binary())})

    return run


def _attempt(kernel: Kernel, batches: Iterator[pa.RecordBatch]) -> _Report:
    try:
        return _Report(kernel(batches), None, _is_repeated())
    except _LASTING as error:
        for _ in batches:  # Spark logs an error if rows are not consumed
            pass
        # The number of a row is its position within the task, which means nothing to the user.
        return _Report(None, type(error)(_ROW_NUMBER.sub("a row", str(error))), _is_repeated())


def _is_repeated() -> bool:
    from pyspark import TaskContext  # noqa: PLC0415 - only in a worker

    context = TaskContext.get()
    return context is not None and context.attemptNumber() > 0


def _loads(report: bytes) -> _Report:
    loaded = pickle.loads(bytes(report))  # noqa: S301 - written by our own task; Spark itself moves code this way
    assert isinstance(loaded, _Report)  # noqa: S101 - for the type checker
    return loaded


# ------------------------------------------------------------------------------------------------- watching Spark


@contextlib.contextmanager
def _tagged(spark: SparkSession) -> Iterator[str]:
    """Tags the jobs that this thread starts, to find them again."""
    tag = f"lakebed-{uuid.uuid4()}"
    place = spark.sparkContext if _is_classic(spark) else None
    (spark.addTag if place is None else place.addJobTag)(tag)
    try:
        yield tag
    finally:
        (spark.removeTag if place is None else place.removeJobTag)(tag)


def _is_classic(spark: SparkSession) -> bool:
    return hasattr(spark, "_jsparkSession")


def _end(spark: SparkSession, tag: str) -> None:
    """Cancels the jobs with a tag and waits until their tasks have ended, so that they write no more files."""
    with contextlib.suppress(Exception):
        if not _is_classic(spark):
            spark.interruptTag(tag)
            return
        spark.sparkContext.cancelJobsWithTag(tag)
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until and any(stage.numActiveTasks for stage in _stages(spark, tag)):
            time.sleep(0.05)


def _may_repeat(spark: SparkSession, tag: str) -> bool:
    """Whether tasks may have run more than once although all reports are from first attempts."""
    if spark.conf.get("spark.speculation", "false") == "true":
        return True
    return _is_classic(spark) and any(stage.currentAttemptId for stage in _stages(spark, tag))


def _stages(spark: SparkSession, tag: str) -> list[Any]:
    """Returns information on the stages of the jobs with a tag; classic sessions only."""
    tracker = spark.sparkContext.statusTracker()
    jobs = spark.sparkContext._jsc.sc().statusTracker().getJobIdsForTag(tag)  # noqa: SLF001 - Python has no call for it
    infos = [tracker.getJobInfo(job) for job in jobs]
    stages = [tracker.getStageInfo(stage) for info in infos if info is not None for stage in info.stageIds]
    return [stage for stage in stages if stage is not None]


@contextlib.contextmanager
def _watched(spark: SparkSession, tag: str, watch: Watch | None) -> Iterator[None]:
    if watch is None or not _is_classic(spark):
        yield
        return
    ended = Event()

    def look() -> None:
        while not ended.wait(0.2):
            with contextlib.suppress(Exception):
                watch(sum(stage.numCompletedTasks for stage in _stages(spark, tag)))

    thread = Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
