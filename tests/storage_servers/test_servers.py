"""The storage servers themselves: they keep their data over a kill, and they end with the process that started them."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from tests.servers.azurite import Azurite
from tests.servers.fake_gcs import FakeGcs
from tests.servers.hdfs import Hdfs
from tests.servers.minio import MinIO
from tests.servers.server import Server

SERVERS: list[type[Server]] = [MinIO, Azurite, FakeGcs, Hdfs]


@pytest.mark.parametrize("kind", SERVERS)
def test_a_killed_server_starts_again_at_the_same_address(kind: type[Server], tmp_path: Path) -> None:
    with kind(tmp_path / "server") as server:
        url, first = server.url, server.pid
        assert server.create_bucket("some-bucket").endswith("some-bucket") or kind is Azurite
        server.kill()
        assert not server.answers() or kind is Hdfs
        server.restart()
        assert (server.url, server.pid != first) == (url, True)
        server.stop()
        server.start()
    assert server.pid is None


@pytest.mark.parametrize("kind", [Azurite, FakeGcs])
def test_buckets_outlive_a_stop(kind: type[Server], tmp_path: Path) -> None:
    with kind(tmp_path / "server") as server:
        server.create_bucket("some-bucket")
        server.stop()
        server.start()
        with pytest.raises(urllib.error.HTTPError, match="409"):
            server.create_bucket("some-bucket")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    code = (
        "import time; from pathlib import Path; from tests.servers.minio import MinIO\n"
        f"server = MinIO(Path({str(tmp_path)!r})); server.start(); print(server.url, flush=True); time.sleep(60)"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=root) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        if not url:
            pytest.fail("the server did not start")
        urllib.request.urlopen(f"{url}/minio/health/live").close()
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            urllib.request.urlopen(f"{url}/minio/health/live").close()
        except OSError:
            return
        time.sleep(0.02)
    pytest.fail("the server still runs")
