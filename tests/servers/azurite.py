"""Azurite: Microsoft's emulator of Azure Blob Storage."""

from __future__ import annotations

import base64
import hashlib
import hmac
import urllib.request
from collections.abc import Sequence
from email.utils import formatdate

from tests.servers.installed import installed, program
from tests.servers.server import HOST, Server, http_status

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="  # every Azurite has it


class Azurite(Server):
    """Azure Blob Storage on loopback; containers are ``abfs://<name>@devstoreaccount1.dfs.core.windows.net``.

    Azurite writes its list of blobs every few seconds and when it is stopped: ``kill()`` loses what it acknowledged.
    """

    @property
    def options(self) -> dict[str, str]:
        return {
            "fs.azure.account.name": ACCOUNT,
            "fs.azure.account.key": KEY,
            "fs.azure.endpoint": f"{self.url}/{ACCOUNT}",
        }

    def create_bucket(self, name: str) -> str:
        headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
        signed = "".join(f"{key}:{value}\n" for key, value in sorted(headers.items()))
        text = "PUT" + "\n" * 12 + signed + f"/{ACCOUNT}/{ACCOUNT}/{name}\nrestype:container"
        signature = base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
        headers |= {"Authorization": f"SharedKey {ACCOUNT}:{signature}", "Content-Length": "0"}
        target = f"{self.url}/{ACCOUNT}/{name}?restype=container"
        urllib.request.urlopen(urllib.request.Request(target, method="PUT", headers=headers)).close()
        return f"abfs://{name}@{ACCOUNT}.dfs.core.windows.net"

    def command(self) -> Sequence[str]:
        main = installed("azurite") / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
        return [
            *(program("node"), str(main), "--blobHost", HOST, "--blobPort", str(self.port)),
            *("--location", str(self.folder / "data"), "--silent", "--skipApiVersionCheck", "--disableTelemetry"),
        ]

    def answers(self) -> bool:
        return http_status(self.port, "/") is not None
