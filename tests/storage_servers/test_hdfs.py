"""HDFS when the name node fails: lost answers, a kill, a name node that is not there."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from tests.servers.hdfs import Hdfs
from tests.servers.server import HOST, free_port

from lakebed import connect
from lakebed.errors import StorageError
from lakebed.storage.hdfs import HdfsStorage

FEW_RETRIES = {"dfs.client.failover.max.attempts": "2", "dfs.client.failover.sleep.max.millis": "50"}


@contextlib.contextmanager
def losing_answers(server: Hdfs, call: bytes, *, losses: int) -> Iterator[str]:
    """A proxy that passes on everything, but closes connections instead of returning the answers to some calls."""
    left = [losses]

    class Connection(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            lost = threading.Event()
            with socket.create_connection((HOST, server.port)) as target:
                back = threading.Thread(target=pump, args=(target, self.request, lost))
                back.start()
                while data := self.request.recv(65536):
                    if call in data and left[0] > 0:
                        left[0] -= 1
                        lost.set()
                    target.sendall(data)
                with contextlib.suppress(OSError):
                    target.shutdown(socket.SHUT_WR)
                back.join()

    def pump(source: socket.socket, target: socket.socket, lost: threading.Event) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if lost.is_set():
                    break
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    with socketserver.ThreadingTCPServer((HOST, 0), Connection) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        try:
            yield f"hdfs://{HOST}:{proxy.server_address[1]}"
        finally:
            proxy.shutdown()
    assert left[0] == 0, "nothing was lost"


def test_a_creation_whose_answer_is_lost_is_known_to_have_happened(hdfs: Hdfs) -> None:
    with losing_answers(hdfs, b"rename2", losses=1) as url:
        storage = HdfsStorage()
        assert storage.create_exclusive(f"{url}/lost-answer/x", b"mine")
        assert not storage.create_exclusive(f"{url}/lost-answer/x", b"other")
    assert HdfsStorage().read(f"{hdfs.url}/lost-answer/x") == b"mine"
    assert [info.name for info in HdfsStorage().list(f"{hdfs.url}/lost-answer", hidden=True)] == ["x"]


def test_a_lost_race_whose_answer_is_lost_stays_lost(hdfs: Hdfs) -> None:
    def other() -> bool:
        return HdfsStorage().create_exclusive(f"{hdfs.url}/lost-race/x", b"theirs")

    with losing_answers(hdfs, b"rename2", losses=1) as url:
        assert not HdfsStorage().create_exclusive(f"{url}/lost-race/x", b"mine", other)
    assert HdfsStorage().read(f"{hdfs.url}/lost-race/x") == b"theirs"


def test_a_file_is_whole_as_soon_as_it_is_closed(hdfs: Hdfs) -> None:
    """The name node of the tests closes files before data nodes have reported their last block."""
    storage = HdfsStorage()

    def write_and_read(number: int) -> tuple[bytes, bytes, bytes]:
        path = f"{hdfs.url}/whole/{number}"
        storage.write(path, b"0123456789")
        match number % 3:  # each way to read is sometimes the first
            case 0:
                return storage.read(path), storage.read_range(path, 2, 3), bytes(storage.open_ranges(path).read())
            case 1:
                end = bytes(storage.open_ranges(path).read())
                return storage.read(path), b"234", end
        part = storage.read_range(path, 2, 3)
        return storage.read(path), part, b"0123456789"

    with ThreadPoolExecutor(16) as threads:
        assert set(threads.map(write_and_read, range(300))) == {(b"0123456789", b"234", b"0123456789")}
    storage.write(f"{hdfs.url}/whole/empty", b"")
    assert storage.read(f"{hdfs.url}/whole/empty") == b""


def test_a_name_node_that_is_not_there_is_named() -> None:
    path = f"hdfs://{HOST}:{free_port()}/x"
    with pytest.raises(StorageError, match=r"cannot read hdfs://.*/x: Connection refused.*check that the name node"):
        HdfsStorage(FEW_RETRIES).read(path)


def test_files_outlive_a_kill_and_clients_connect_again(tmp_path: Path) -> None:
    with Hdfs(tmp_path / "hdfs") as server:
        storage = HdfsStorage()
        assert storage.create_exclusive(f"{server.url}/t/x", b"1")
        storage.replace(f"{server.url}/t/hint", b"2")
        server.kill()
        server.restart()
        assert storage.read(f"{server.url}/t/x") == b"1"
        assert storage.read(f"{server.url}/t/hint") == b"2"
        assert not storage.create_exclusive(f"{server.url}/t/x", b"3")
        assert storage.create_exclusive(f"{server.url}/t/y", b"3")


def test_a_table_on_hdfs(hdfs: Hdfs) -> None:
    lake = connect(hdfs.create_bucket("warehouse"))
    lake.create_database("db")
    table = lake.create_table("db.t", "id BIGINT NOT NULL, v STRING", primary_key=["id"])
    for start in (0, 50):
        table.write(pa.table({"id": range(start, start + 100), "v": [f"{start}"] * 100}))
    assert table.scan().to_arrow().num_rows == 150
    table.compact()
    rows = table.scan(where="id >= 50").to_arrow().to_pydict()
    assert (len(rows["id"]), set(rows["v"])) == (100, {"50"})
    lake.drop_table("db.t")
    assert not HdfsStorage().exists(table.path)
