"""HDFS: a name node and two data nodes of Hadoop in one JVM (its ``MiniDFSCluster``).

With one data node, closing a file takes half a second: the client asks whether the file is complete before the data
node has reported it, and then waits. With two, the second one reports earlier, as in a real cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.servers.installed import installed, program
from tests.servers.server import HOST, Server


class Hdfs(Server):
    """HDFS on loopback; a "bucket" is a folder ``hdfs://127.0.0.1:<port>/<name>``."""

    @property
    def url(self) -> str:
        return f"hdfs://{HOST}:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        return {}

    def create_bucket(self, name: str) -> str:
        return f"{self.url}/{name}"  # the first file creates the folder

    def command(self) -> Sequence[str]:
        self._started.unlink(missing_ok=True)
        data = self.folder / "data"
        settings = {
            "hdfs.minidfs.basedir": str(data),
            "dfs.namenode.safemode.extension": "0",
            "dfs.namenode.file.close.num-committed-allowed": "1",
            "dfs.namenode.fs-limits.min-block-size": "1024",
        }
        return [
            *(program("java"), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            *("-cp", f"{installed('hadoop')}/*", "org.apache.hadoop.test.MiniDFSClusterManager"),
            *("-nnport", str(self.port), "-httpport", "0", "-datanodes", "2", "-writeDetails", str(self._started)),
            *([] if data.exists() else ["-format"]),
            *(part for name, value in settings.items() for part in ("-D", f"{name}={value}")),
        ]

    def answers(self) -> bool:
        return self._started.exists()  # written once the data node has registered

    @property
    def _started(self) -> Path:
        return self.folder / "started.json"
