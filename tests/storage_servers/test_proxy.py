"""The proxy before a storage server: it passes requests on unchanged, counts, delays and breaks them."""

from __future__ import annotations

import concurrent.futures
import datetime as dt
import os
import time
from collections.abc import Iterator
from typing import Any

import obstore
import pytest
from obstore.store import S3Store
from tests.servers.minio import ACCESS_KEY, REGION, SECRET_KEY, MinIO
from tests.servers.proxy import (
    Answer,
    CutAnswer,
    LostAnswer,
    Proxy,
    Request,
    Reset,
    Slow,
    by_method,
    longest_chain,
)


@pytest.fixture
def proxy(minio: MinIO) -> Iterator[Proxy]:
    with Proxy(minio) as started:
        yield started


@pytest.fixture
def store(proxy: Proxy, minio: MinIO, request: pytest.FixtureRequest) -> S3Store:
    bucket = request.node.name.replace("_", "-").lower()[-40:].strip("-")
    minio.create_bucket(bucket)
    return _store(proxy, bucket)


def _store(proxy: Proxy, bucket: str, retries: int = 0, timeout: float = 10.0) -> S3Store:
    client: Any = {"allow_http": True, "timeout": dt.timedelta(seconds=timeout)}
    return S3Store(
        bucket,
        endpoint=proxy.url,
        access_key_id=ACCESS_KEY,
        secret_access_key=SECRET_KEY,
        region=REGION,
        client_options=client,
        retry_config={"max_retries": retries},
    )


def test_bodies_of_all_sizes_pass_unchanged(store: S3Store, proxy: Proxy) -> None:
    for size in (0, 1, 5000, 3 << 20, 20 << 20):  # the largest is a multipart upload
        data = os.urandom(size)
        with proxy.recording() as requests:
            obstore.put(store, f"a folder/ä%{size}", data)
            assert bytes(obstore.get(store, f"a folder/ä%{size}").bytes()) == data
        assert {request.status for request in requests} <= {200, 206}, requests
        assert by_method(requests)["GET"] == 1
    assert {each["path"] for each in obstore.list(store, "a folder").collect()} >= {"a folder/ä%0", "a folder/ä%1"}
    obstore.delete(store, "a folder/ä%0")


def test_the_options_of_the_server_name_the_proxy(proxy: Proxy, minio: MinIO) -> None:
    assert proxy.options == minio.options | {"s3.endpoint": proxy.url}


def test_latency_is_paid_once_by_requests_at_the_same_time(store: S3Store, proxy: Proxy) -> None:
    obstore.put(store, "x", b"x")
    proxy.latency = 0.2
    start = time.monotonic()
    with proxy.recording() as requests, concurrent.futures.ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda _: obstore.head(store, "x"), range(32)))
    assert 0.2 <= time.monotonic() - start < 0.8
    assert (len(requests), longest_chain(requests)) == (32, 1)
    with proxy.recording() as requests:
        for _ in range(3):
            obstore.head(store, "x")
    assert longest_chain(requests) == 3
    assert requests == proxy.between(requests[0].started, time.monotonic())


def test_the_longest_chain_of_intervals() -> None:
    def chain(*intervals: tuple[float, float | None]) -> int:
        return longest_chain(Request("GET", "/", start, end) for start, end in intervals)

    assert chain() == 0
    assert chain((0, 1), (1, 2), (2, 3)) == 3
    assert chain((0, 3), (0, 1), (0.5, 2.5), (1, 2)) == 2
    assert chain((0, 1), (0.5, None)) == 1


def test_throttled_requests_do_not_reach_the_server(store: S3Store, proxy: Proxy, minio: MinIO) -> None:
    rule = proxy.inject(Answer(503), method="PUT", target="/x", times=2)
    for _ in range(2):
        with pytest.raises(obstore.exceptions.BaseError, match=r"503|SlowDown"):
            obstore.put(store, "x", b"x")
    with pytest.raises(FileNotFoundError):
        obstore.head(store, "x")
    obstore.put(store, "x", b"x")
    assert rule.applied == 2
    patient = _store(proxy, str(store.config["bucket"]), retries=5)
    proxy.inject(Answer(429, (("Retry-After", "0"),)), times=2)
    with proxy.recording() as requests:
        assert bytes(obstore.get(patient, "x").bytes()) == b"x"
    assert [request.status for request in requests] == [429, 429, 200]


def test_a_reset_before_the_server_and_a_lost_answer_differ(store: S3Store, proxy: Proxy) -> None:
    proxy.inject(Reset())
    with pytest.raises(obstore.exceptions.BaseError):
        obstore.put(store, "before", b"x")
    proxy.inject(LostAnswer())
    with pytest.raises(obstore.exceptions.BaseError):
        obstore.put(store, "lost", b"x")
    with pytest.raises(FileNotFoundError):
        obstore.head(store, "before")
    assert obstore.head(store, "lost")["size"] == 1


def test_an_answer_that_ends_in_the_middle(store: S3Store, proxy: Proxy) -> None:
    obstore.put(store, "x", bytes(1 << 20))
    proxy.inject(CutAnswer(after=1000))
    with pytest.raises(obstore.exceptions.BaseError):
        obstore.get(store, "x").bytes()


def test_a_request_reaches_the_server_after_the_client_gave_up(store: S3Store, proxy: Proxy) -> None:
    hasty = _store(proxy, str(store.config["bucket"]), timeout=0.2)
    proxy.inject(Slow(before=0.6))
    with pytest.raises(obstore.exceptions.BaseError):
        obstore.put(hasty, "late", b"x")
    with pytest.raises(FileNotFoundError):
        obstore.head(store, "late")
    time.sleep(0.8)
    assert obstore.head(store, "late")["size"] == 1


def test_slow_answers_skipped_requests_and_healing(store: S3Store, proxy: Proxy) -> None:
    obstore.put(store, "x", b"x")
    proxy.inject(Slow(after=0.3), skip=1, times=None)
    times = []
    for _ in range(3):
        start = time.monotonic()
        obstore.head(store, "x")
        times.append(time.monotonic() - start)
    proxy.heal()
    start = time.monotonic()
    obstore.head(store, "x")
    assert times[0] < 0.3 <= min(times[1:])
    assert time.monotonic() - start < 0.3


def test_a_server_that_was_restarted_is_found_again(store: S3Store, proxy: Proxy, minio: MinIO) -> None:
    obstore.put(store, "x", b"x")
    minio.kill()
    with pytest.raises(obstore.exceptions.BaseError):
        obstore.head(store, "x")
    minio.restart()
    assert obstore.head(store, "x")["size"] == 1
