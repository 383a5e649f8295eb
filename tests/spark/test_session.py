"""Sessions: what is started, what is missing, who is a frame, and how workers get the package."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from lakebed.errors import LakebedError
from lakebed.spark import session
from lakebed.version import VERSION


def test_a_given_session_is_taken(spark: Any) -> None:
    other = object()
    assert session.get_session(other) is other
    assert session.get_session() is spark


def test_the_settings_of_a_session_of_ours(spark: Any) -> None:
    context = spark.sparkContext.getConf()
    for name, value in session.local_settings().items():
        if name not in {"spark.master", "spark.driver.memory", "spark.sql.shuffle.partitions", "spark.log.level"}:
            assert context.get(name) == value, name
    assert context.get("spark.master") == "local[2, 4]"


def test_memory_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(session.MEMORY_VARIABLE, "3g")
    assert session.local_settings()["spark.driver.memory"] == "3g"
    monkeypatch.delenv(session.MEMORY_VARIABLE)
    assert 1 <= int(session.local_settings()["spark.driver.memory"].removesuffix("g")) <= 8


def test_frames_are_told_without_importing_pyspark(spark: Any) -> None:
    assert session.is_spark_frame(spark.range(1))
    connect = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})
    assert session.is_spark_frame(connect())
    assert not session.is_spark_frame(type("DataFrame", (), {"__module__": "pandas"})())
    assert not session.is_spark_frame([1])
    code = "import sys; from lakebed.spark.choose_engine import engine_for; engine_for([]); print('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# ------------------------------------------------------------------------------------------------------------- missing


def java(folder: Path, version: str) -> Path:
    """A Java that only tells its version."""
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
    path.chmod(0o755)
    return folder


@pytest.mark.parametrize(("version", "told"), [("1.8.0_392", "8"), ("11.0.2", "11"), ("16", "16")])
def test_a_java_that_is_too_old(version: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, version)))
    with pytest.raises(LakebedError, match=f"^Spark needs Java 17 or newer, and .*java is Java {told}; install"):
        session.check_java()


@pytest.mark.parametrize("version", ["17", "21.0.1", "17.0.15"])
def test_a_java_that_will_do(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path, version)))
    session.check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    session.check_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(LakebedError, match=r"JAVA_HOME is .*nowhere, where there is no bin/java; install one"):
        session.check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LakebedError, match="there is none on the PATH"):
        session.check_java()


def test_the_java_is_looked_at_before_spark_is_started(tmp_path: Path) -> None:
    code = "from lakebed.spark.session import get_session; get_session()"
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=environment, check=False
    )
    assert "LakebedError: Spark needs Java 17 or newer, and there is none on the PATH" in ended.stderr
    assert "JAVA_GATEWAY" not in ended.stderr


def test_no_pyspark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(LakebedError, match=r"pip install 'lakebed\[spark\]'"):
        session.get_session()


# ------------------------------------------------------------------------------------------------------------- shipping


def test_the_zip_is_the_package(tmp_path: Path) -> None:
    package = session.package_zip()
    names = zipfile.ZipFile(package).namelist()
    assert {
        "lakebed/spark/write/write_frame.py",
        "lakebed/datasource/source_options.py",
        "pyspark_lakebed/__init__.py",
    } <= {*names}
    assert not [name for name in names if "__pycache__" in name]
    code = f"import sys; sys.path.insert(0, {package!r}); import lakebed.rows.keyed.keyed_write as w; print(w.__file__)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ended.stdout.strip() == f"{package}/lakebed/rows/keyed/keyed_write.py"


class Context:
    def __init__(self) -> None:
        self.added: list[str] = []

    def addPyFile(self, path: str) -> None:  # noqa: N802 - Spark's name
        self.added.append(path)


class Sources:
    def __init__(self) -> None:
        self.registered: list[Any] = []

    def register(self, source: Any) -> None:
        self.registered.append(source)


class Session:
    def __init__(self) -> None:
        self._jsparkSession = None
        self.sparkContext = Context()
        self.dataSource = Sources()


def test_workers_without_the_package_are_sent_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spark = Session()
    answers = [{"ModuleNotFoundError: No module named 'lakebed'", VERSION}, {VERSION}]
    monkeypatch.setattr(session, "worker_versions", lambda _: answers.pop(0))
    for _ in range(2):
        session.prepare_workers(spark)
    assert [Path(path).name for path in spark.sparkContext.added] == [f"lakebed-{VERSION}.zip"]
    assert [source.name() for source in spark.dataSource.registered] == ["lakebed"]


def test_workers_that_cannot_be_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "worker_versions", lambda _: {"ModuleNotFoundError: No module named 'pyarrow'"})
    with pytest.raises(LakebedError, match=r"No module named 'pyarrow'.*install lakebed and what it depends on"):
        session.prepare_workers(Session())


def test_workers_tell_their_version(spark: Any) -> None:
    assert session.worker_versions(spark) == {VERSION}
