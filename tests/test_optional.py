"""Every call that needs a library which is not installed says in one line what to install."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.doc_examples import ROOT

import lakebed
from lakebed.optional import LIBRARIES, check_installed, is_installed

CALLS: dict[str, tuple[str, Callable[[lakebed.Lake], object]]] = {
    "a scan to pandas": ("pandas", lambda lake: lake["db.t"].to_pandas()),
    "a scan to Polars": ("polars", lambda lake: lake["db.t"].scan().to_polars()),
    "a table to DuckDB": ("duckdb", lambda lake: lake["db.t"].to_duckdb()),
    "a system table to pandas": ("pandas", lambda lake: lake.system_table("db.t$snapshots").scan().to_pandas()),
    "a system table to Polars": ("polars", lambda lake: lake.system_table("db.t$snapshots").scan().to_polars()),
    "a scan to Spark": ("pyspark", lambda lake: lake["db.t"].scan().to_spark()),
    "SQL": ("pyspark", lambda lake: lake.sql("SELECT 1")),
    "a Spark session": ("pyspark", lambda lake: lake.spark),
    "attaching": ("pyspark", lambda lake: lake.attach()),
    "HDFS": ("hdfs_native", lambda _: lakebed.connect("hdfs://host/lake")),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_call_says_what_to_install(lake: lakebed.Lake, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    lake.create_table("db.t", "id INT").write([{"id": 1}])
    library, call = CALLS[what]
    monkeypatch.setitem(sys.modules, library, None)
    name, extra = LIBRARIES[library]
    with pytest.raises(lakebed.LakebedError) as caught:
        call(lake)
    assert str(caught.value).endswith(f" needs {name}, which is not installed: pip install 'lakebed[{extra}]'")
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize("library", ["fastapi", "prometheus_client"])
def test_the_service_says_what_to_install(library: str) -> None:
    program = f"import sys; sys.modules[{library!r}] = None\nimport lakebed.service"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    last = ran.stderr.splitlines()[-1]
    assert last.endswith(
        f"lakebed.service needs {LIBRARIES[library][0]}, which is not installed: pip install 'lakebed[service]'"
    )


def test_what_is_installed_is_accepted() -> None:
    assert is_installed("pandas")
    assert is_installed("json")
    assert not is_installed("no_such_library")
    check_installed("this", "pandas", "polars")


def test_an_import_hook_that_refuses_a_library(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refusing:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "no_such_library":
                raise ModuleNotFoundError(name)

    monkeypatch.setattr(sys, "meta_path", [Refusing(), *sys.meta_path])
    assert not is_installed("no_such_library")


def test_every_extra_is_one_of_the_package() -> None:
    project = tomllib.loads((Path(ROOT) / "pyproject.toml").read_text())["project"]
    assert {extra for _, extra in LIBRARIES.values()} == set(project["optional-dependencies"])
