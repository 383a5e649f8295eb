"""The management service: start it on a free port of this machine, ask a few questions over REST, stop it.

Run it with ``python examples/service.py``; it needs ``pip install 'lakebed[service]'``. It works in a temporary folder
and leaves nothing behind. To keep a service running and open its dashboard: ``lakebed serve <warehouse>``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import lakebed


def make_warehouse(folder: str) -> None:
    lake = lakebed.connect(folder)
    lake.create_database("shop")
    orders = lake.create_table("shop.orders", "id BIGINT, state STRING", primary_key=["id"], options={"bucket": 1})
    for state in ("new", "paid", "sent"):
        orders.write([{"id": number, "state": state} for number in range(3)])


@contextmanager
def running_service(folder: str) -> Iterator[str]:
    """The address of a service that runs until the end of the block."""
    # Port 0 takes a free port. The service listens on loopback and is read-only, because nothing else is asked for.
    command = [sys.executable, "-m", "lakebed", "serve", f"demo={folder}", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            # The first line says where it listens: "lakebed serves demo at http://127.0.0.1:40123 (read-only)".
            line = process.stderr.readline() if process.stderr else ""
            address = re.search(r"http://\S+", line)
            if address is None:
                raise SystemExit(f"the service did not start: {line}")
            print(line.strip())
            yield address[0]
        finally:
            process.terminate()


def ask(address: str, path: str, **parameters: Any) -> Any:
    with urlopen(f"{address}/api/v1{path}?{urlencode(parameters)}", timeout=30) as response:
        return json.load(response)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_warehouse(folder)
        with running_service(folder) as address:
            tables = ask(address, "/warehouses/demo/tables")["items"]
            print("tables:", [f"{table['database']}.{table['name']}" for table in tables])

            table = "/warehouses/demo/databases/shop/tables/orders"
            for snapshot in ask(address, f"{table}/snapshots", limit=2)["items"]:
                print(f"snapshot {snapshot['id']}: {snapshot['commit_kind']}, {snapshot['total_record_count']} records")
            print("rows:", ask(address, f"{table}/rows", where="id < 2")["rows"])
            health = ask(address, f"{table}/health")
            print(f"health: {health['verdict']}")
            for item in health["items"]:
                print(f"  {item['title']}: {item['verdict']}. {item['reason']}")


if __name__ == "__main__":
    main()
