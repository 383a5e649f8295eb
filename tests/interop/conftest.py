"""The oracles as fixtures, one process each for the whole test run."""

from collections.abc import Iterator, Mapping

import pytest
from tests.interop.oracle import Oracle
from tests.interop.ours import Ours
from tests.missing import missing
from tests.servers.minio import MinIO


def started(name: str, options: Mapping[str, str] | None = None) -> Iterator[Oracle]:
    if not Oracle.is_set_up(name):
        if name == "pypaimon":
            pytest.fail("the oracle pypaimon is not set up: run make interop")
        missing(f"what needs the oracle {name}, which is not set up: run make interop (Java and Maven are needed)")
    with Oracle(name, options=options) as oracle:
        yield oracle


@pytest.fixture(scope="session")
def pypaimon() -> Iterator[Oracle]:
    yield from started("pypaimon")


@pytest.fixture(scope="session")
def java() -> Iterator[Oracle]:
    yield from started("java")


@pytest.fixture(scope="session")
def spark() -> Iterator[Oracle]:
    yield from started("spark")


@pytest.fixture(scope="session")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinIO]:
    with MinIO(tmp_path_factory.mktemp("minio")) as server:
        yield server


@pytest.fixture(scope="session")
def java_on_s3(minio: MinIO) -> Iterator[Oracle]:
    yield from started("java", minio.options)


@pytest.fixture(scope="session")
def pypaimon_on_s3(minio: MinIO) -> Iterator[Oracle]:
    yield from started("pypaimon", minio.options)


@pytest.fixture
def ours() -> Ours:
    return Ours()
