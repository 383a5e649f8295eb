"""The Spark session that Lakebed uses: the given one, the active one, or a new local one.

Nothing here imports pyspark before it is needed. If Spark cannot start (no pyspark, no Java, or a Java that is too
old), one sentence says what to install. Workers need lakebed: :func:`prepare_workers` sends the package, once per
session, to workers that lack it or have another version. Lakebed calls it before its first task; programs that only use
``format("lakebed")`` call it themselves. Dependencies (pyarrow, numpy, ...) must be installed for the workers.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
import weakref
import zipfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from lakebed.errors import LakebedError
from lakebed.optional import check_installed
from lakebed.spark.session_settings import set_for_now
from lakebed.spark.worker_errors import recorded_errors
from lakebed.version import VERSION

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JAVA_NEEDED: Final = 17
MEMORY_VARIABLE: Final = "LAKEBED_DRIVER_MEMORY"
_FRAMES: Final = ("pyspark.sql.dataframe", "pyspark.sql.classic.dataframe", "pyspark.sql.connect.dataframe")
_GIB: Final = 1024**3
_PACKAGES: Final = ("lakebed", "pyspark_lakebed")
_BATCH_BYTES: Final = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_ROWS: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_NO_LIMIT: Final = str(2**31 - 1)
_FIXED_SIZE_TYPES: Final = frozenset(
    {
        *("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal"),
        *("date", "timestamp", "timestamp_ntz", "void"),
    }
)
_TEXT_TYPES: Final = frozenset({"string", "char", "varchar"})
_PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
_TOLD: Final = re.compile(r"(?:[\w.]*(?:Error|Exception)\b|Cannot run program)[^(]*: ")  # in a trace of Python or Java
_served: weakref.WeakSet[Any] = weakref.WeakSet()


# ------------------------------------------------------------------------------------------------ getting a session


def get_session(spark: SparkSession | None = None, options: Mapping[str, str] | None = None) -> SparkSession:
    """The given session, else the active one, else a new local one; ``options`` are Spark settings for a new one.

    The memory of a new session's driver is ``spark.driver.memory`` in ``options``, else what the environment variable
    ``LAKEBED_DRIVER_MEMORY`` says, else a quarter of the machine's.
    """
    if spark is not None:
        check_running(spark)
        return spark
    check_installed("this", "pyspark")
    from pyspark.sql import SparkSession  # noqa: PLC0415 - Spark is optional

    with contextlib.suppress(Exception):  # a stopped session may still be the active one
        active = SparkSession.getActiveSession()
        if active is not None and active.version:
            return active
    if {"SPARK_REMOTE", "PYSPARK_GATEWAY_PORT"} & os.environ.keys():  # Spark Connect, or spark-submit: all is decided
        return SparkSession.builder.config(map=dict(options or {})).getOrCreate()
    check_java()
    settings = {**local_settings(), **(options or {})}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    with _quiet_start():
        return SparkSession.builder.config(map=settings).getOrCreate()


def is_stopped(spark: SparkSession) -> bool:
    """Whether a session, or the application that it belongs to, was stopped."""
    if not hasattr(spark, "_jsparkSession"):
        return bool(getattr(spark, "is_stopped", False))
    context = spark.sparkContext._jsc  # noqa: SLF001 - no public way
    return context is None or bool(context.sc().isStopped())


def check_running(spark: SparkSession) -> None:
    """Raises LakebedError if a session was stopped."""
    if is_stopped(spark):
        raise LakebedError(
            "this Spark session was stopped; open the lake with a running one, lakebed.connect(..., spark=session), or "
            "without one, and open its tables again"
        )


def local_settings() -> dict[str, str]:
    """The Spark settings of a session that Lakebed starts."""
    cores = os.cpu_count() or 1
    return {
        "spark.master": f"local[{cores}]",
        "spark.app.name": "lakebed",
        "spark.driver.memory": os.environ.get(MEMORY_VARIABLE) or _default_memory(),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        # A third of the cost of a Python task goes away with this.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
        # Adaptive execution joins small partitions, so a few too many cost nothing.
        "spark.sql.shuffle.partitions": str(max(16, 4 * cores)),
    }


def _default_memory() -> str:
    try:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):  # not on every system
        return "2g"
    return f"{min(8, max(1, memory // 4 // _GIB))}g"


@contextlib.contextmanager
def _quiet_start() -> Iterator[None]:
    """Keep the start-up notes of the JVM, which no setting reaches, off the terminal; if it fails they are shown."""
    with tempfile.TemporaryFile() as notes:
        sys.stderr.flush()
        kept = os.dup(2)
        os.dup2(notes.fileno(), 2)
        try:
            yield
        except BaseException:
            notes.seek(0)
            os.write(kept, notes.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


# ----------------------------------------------------------------------------------------------------- what it needs


def check_java() -> None:
    """Refuse to start Spark without a Java that it runs on."""
    how = (
        f"install one (Debian, Ubuntu: apt install openjdk-{JAVA_NEEDED}-jre-headless; macOS: brew install "
        f"openjdk@{JAVA_NEEDED}) or set JAVA_HOME to one that is there"
    )
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if java is None or not Path(java).exists():
        place = f"JAVA_HOME is {home}, where there is no bin/java" if home else "there is none on the PATH"
        raise LakebedError(f"Spark needs Java {JAVA_NEEDED} or newer, and {place}; {how}")
    version = _java_version(java)
    if version is not None and version < JAVA_NEEDED:
        raise LakebedError(f"Spark needs Java {JAVA_NEEDED} or newer, and {java} is Java {version}; {how}")


def _java_version(java: str) -> int | None:
    """The major version of a Java: 17 of ``17.0.15``, 8 of ``1.8.0_392``; ``None`` if it does not tell."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - the user's own Java
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(found[1]) if found else None


# ------------------------------------------------------------------------------------------------------- frames


def is_spark_frame(data: object) -> bool:
    """Whether this is a DataFrame of Spark, classic or Connect; does not import pyspark."""
    kinds = type(data).__mro__
    return any(kind.__module__ in _FRAMES and kind.__name__ == "DataFrame" for kind in kinds)


def map_in_arrow(frame: DataFrame, kernel: Any, schema: Any) -> DataFrame:
    """``frame.mapInArrow``, in a session whose workers have lakebed; columns may have any names."""
    prepare_workers(frame.sparkSession)
    names = frame.columns
    if any(mark in name for name in names for mark in ".`"):  # which Spark would take for something else than a name
        frame = frame.toDF(*(f"c{place}" for place in range(len(names))))
        kernel = partial(_with_names, kernel, names)
    with without_pandas_note():
        return frame.mapInArrow(partial(_with_records, kernel), schema)


@contextlib.contextmanager
def unmeasured_batches(frame: DataFrame, rows: int) -> Iterator[None]:
    """Makes Spark pass the rows of this frame to Python in batches of ``rows`` rows, without measuring each row.

    Spark 4.1 and later add up the bytes of all columns after each row to end a batch at a size limit. That takes as
    long as all the rest. A thousand rows of a few kilobytes need no limit. The limit stays if the user has set it, and
    for frames with other columns than numbers, times and texts.

    A batch of very large texts then fails, and the caller has to repeat the work with the limit, see
    :func:`~lakebed.spark.worker_errors.java_causes`. Spark Connect does not tell the cause of a failure, so there
    frames with texts keep the limit.
    """
    spark = frame.sparkSession
    tells_causes = hasattr(spark, "_jsparkSession")
    kinds = {kind.partition("(")[0] for _, kind in frame.dtypes}
    if not kinds <= (_FIXED_SIZE_TYPES | _TEXT_TYPES if tells_causes else _FIXED_SIZE_TYPES):
        yield
        return
    with set_for_now(spark, {_BATCH_BYTES: _NO_LIMIT, _BATCH_ROWS: str(rows)}):
        yield


def _with_records(kernel: Any, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Runs in a task: the kernel, whose errors the driver can decode."""
    with recorded_errors():
        yield from kernel(batches)


def _with_names(kernel: Any, names: list[str], batches: Iterator[pa.RecordBatch]) -> Any:
    """Runs in a task: the kernel over columns that have their names back."""
    return kernel(batch.rename_columns(names) for batch in batches)


@contextlib.contextmanager
def without_pandas_note() -> Iterator[None]:
    """Spark warns about pandas 3 wherever it looks at pandas; what we run never touches pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


# ------------------------------------------------------------------------------------------------------- shipping


def prepare_workers(spark: SparkSession) -> None:
    """Sends the package to workers that do not have this version of it, once per session.

    Call it before a Python function that uses Lakebed is given to Spark: Spark records at that moment which packages
    the workers need. Reads and writes through Lakebed call it themselves.

    Args:
        spark: The Spark session.

    Raises:
        LakebedError: The workers cannot import the package or its dependencies.

    Example:
        >>> lakebed.prepare_workers(spark)  # doctest: +SKIP
    """
    if spark in _served:
        return
    _served.add(spark)
    try:
        _serve(spark)
    except BaseException:
        _served.discard(spark)
        raise


def _serve(spark: SparkSession) -> None:
    if worker_versions(spark) == {VERSION}:
        return
    package = package_zip()
    if hasattr(spark, "_jsparkSession"):
        spark.sparkContext.addPyFile(package)
    else:
        spark.addArtifacts(package, pyfile=True)
    _register_source(spark)
    missing = worker_versions(spark) - {VERSION}
    if missing:
        raise LakebedError(
            f"Spark's workers cannot import lakebed {VERSION} ({', '.join(sorted(missing))}); install lakebed and what it "
            "depends on (pyarrow, numpy, ...) in the Python environment of the workers (PYSPARK_PYTHON)"
        )


def worker_versions(spark: SparkSession) -> set[str]:
    """The versions of lakebed that workers import; an error's text where they cannot."""
    tasks = _workers(spark)
    try:
        with without_pandas_note():
            found = spark.range(0, tasks, 1, tasks).mapInArrow(_probe(), "version string").collect()
    except Exception as error:  # the message of Spark is the trace of a worker
        raise LakebedError(
            f"Spark's workers cannot run the Python functions of this process, which is Python {_PYTHON} ({_reason(error)}); "
            f"set PYSPARK_PYTHON to a Python {_PYTHON} with pyspark, pyarrow and numpy, such as {sys.executable}, before "
            "the Spark session starts"
        ) from error
    return {row.version for row in found}


def _reason(error: Exception) -> str:
    """Returns the line of a worker's trace that names the error."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    told = [line for line in lines if _TOLD.match(line)]
    return (told or lines or [type(error).__name__])[-1 if told else 0]


def _workers(spark: SparkSession) -> int:
    """Enough tasks to meet more than one worker."""
    return min(8, int(spark.sparkContext.defaultParallelism)) if hasattr(spark, "_jsparkSession") else 4


def _probe() -> Any:
    """A function that travels by value: a worker without lakebed must be able to run it."""

    def probe(batches: Any) -> Any:
        for _ in batches:
            pass
        try:
            from lakebed.version import VERSION as found  # noqa: N811, PLC0415 - looked for where the task runs

            version = found
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            version = f"{type(error).__name__}: {error}"
        yield pa.RecordBatch.from_pydict({"version": pa.array([version], pa.string())})

    probe.__module__ = "__main__"
    return probe


def package_zip() -> str:
    """The package and its data source as a zip file that Python imports from."""
    above = Path(__file__).resolve().parent.parent.parent
    folder = tempfile.mkdtemp(prefix="lakebed-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)  # workers fetch it whenever they start
    target = Path(folder) / f"lakebed-{VERSION}.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(path for name in _PACKAGES for path in (above / name).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                archive.write(path, path.relative_to(above))
    return str(target)


def _register_source(spark: SparkSession) -> None:
    """Registers ``format("lakebed")``. Spark does not search the package that was sent for data sources."""
    from pyspark_lakebed import DefaultSource  # noqa: PLC0415 - Spark is optional

    spark.dataSource.register(DefaultSource)
