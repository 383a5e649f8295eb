"""The service asked at random, by its own OpenAPI document: it never fails, and answers what the document says.

Schemathesis makes the requests, good and bad ones; the seed is fixed, so a run repeats the one before. Names of the
sample warehouse are put in often enough that requests get past the first look.
"""

from __future__ import annotations

import os
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.service.running import running

from lakebed.service import Settings, create_app

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
KNOWN: dict[str, list[Any]] = {
    "warehouse": ["demo"],
    "database": ["db", "other"],
    "table": ["orders", "events", "odd", "empty"],
    "branch": ["dev", "main"],
    "version": ["3", "v1", "1"],
    "before": ["1", "v1"],
    "after": ["7"],
    "columns": ["id"],
    "where": ["id > 1"],
    "name": ["v1", "dev"],
    "partition": ["dt=2025-01-01"],
    "snapshot_id": [1, 3],
    "snapshot": [1, 3],
    "tag": ["v1"],
}
"""Values that are there; most requests get them where they have a parameter of the name."""

EXAMPLES = int(os.environ.get("LAKEBED_FUZZ_EXAMPLES", "12"))

SETTINGS = hypothesis.settings(
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def fuzzed(warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service that may do everything, over a warehouse that nobody misses."""
    folder = tmp_path_factory.mktemp("fuzz") / "warehouse"
    shutil.copytree(warehouse, folder)
    with running(Settings(warehouses={"demo": str(folder)}, allow_actions=True)) as client:
        yield client


def document() -> dict[str, Any]:
    return create_app(Settings(warehouses={"demo": str(Path(__file__).parent)}, allow_actions=True)).openapi()


schema = schemathesis.openapi.from_dict(document())


@schema.parametrize()
@hypothesis.settings(SETTINGS, max_examples=EXAMPLES)
def test_every_route_keeps_its_word(case: Any, fuzzed: httpx.Client) -> None:
    _ask(case, fuzzed)


def _ask(case: Any, client: httpx.Client) -> None:
    _put_known(case)
    case.call_and_validate(base_url=str(client.base_url).rstrip("/"), checks=CHECKS)


def _put_known(case: Any) -> None:
    """Real names in place of three out of four made-up ones, decided by the request itself."""
    for place in (case.path_parameters, case.query, case.body):
        if isinstance(place, dict):
            for name in list(place):
                choice = hash_of((name, repr(place[name])))
                if name in KNOWN and choice % 4:
                    place[name] = KNOWN[name][choice % len(KNOWN[name])]


def hash_of(value: object) -> int:
    """A number that is the same in every process."""
    return zlib.crc32(repr(value).encode(errors="replace"))


def test_the_document_is_whole() -> None:
    """Every route has a summary, tells its errors, and every model its fields."""
    found = document()
    assert found["openapi"].startswith("3.")
    for path, methods in found["paths"].items():
        assert path.startswith(("/api/v1/", "/healthz", "/metrics")), path
        for method, operation in methods.items():
            assert operation["summary"], path
            assert operation["description"], path
            assert "403" in operation["responses"], path
            assert method in {"get", "post"}
            for parameter in operation.get("parameters", ()):
                assert parameter.get("description"), (path, parameter["name"])
    assert len(found["paths"]) > 25
    for name, model in found["components"]["schemas"].items():
        assert model.get("description") or name.startswith(
            ("HTTPValidation", "ValidationError", "Page_", "Listing_", "HistoryPage_")
        ), name
