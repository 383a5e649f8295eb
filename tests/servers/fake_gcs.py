"""fake-gcs-server, with the part of Google's XML interface that it lacks (``gcs/main.go``)."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence

from tests.servers.installed import installed
from tests.servers.server import HOST, Server, http_status


class FakeGcs(Server):
    """Google Cloud Storage on loopback; buckets are ``gs://<name>``."""

    @property
    def options(self) -> dict[str, str]:
        # The client would ask the network for a token; such an account needs none. "fs.gs.anonymous" only reads.
        account = {"gcs_base_url": self.url, "disable_oauth": True}
        account |= dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
        return {"fs.gs.storage.root.url": self.url, "fs.gs.auth.service.account.json": json.dumps(account)}

    def create_bucket(self, name: str) -> str:
        headers = {"Content-Type": "application/json"}
        body = json.dumps({"name": name}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/storage/v1/b", body, headers)).close()
        return f"gs://{name}"

    def command(self) -> Sequence[str]:
        return [str(installed("gcs") / "gcs"), HOST, str(self.port), str(self.folder / "data")]

    def answers(self) -> bool:
        return http_status(self.port, "/_internal/healthcheck") == 200
