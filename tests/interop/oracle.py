"""The client side of the interop oracles: other implementations of the format, each a subprocess in its own venv.

``Oracle.start("java")`` starts the server, one method per operation. An error of the other library is an
``OracleError`` with its text.
"""

import contextlib
import itertools
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
from tests.interop.protocol import PaimonType, read_ipc, write_ipc

REPOSITORY = Path(__file__).parents[2]
INTEROP = REPOSITORY / ".interop"
VENVS = {"java": "java-venv", "spark": "java-venv", "pypaimon": "pypaimon-venv"}


@dataclass(frozen=True)
class Where:
    """One filter in two forms: as terms joined by AND (column, Java's predicate name, plain values), and as SQL."""

    terms: list[list[Any]]
    sql: str


class OracleError(Exception):
    """The other library refused or failed; the message is its own."""


class Oracle:
    """One running server. Use as a context manager."""

    def __init__(self, name: str, zone: str = "UTC", options: Mapping[str, str] | None = None) -> None:
        """``options`` are for the catalogs that the server opens: how to reach an object store."""
        self.name = name
        self._scratch = tempfile.TemporaryDirectory(prefix=f"lakebed-{name}-")
        self._files = itertools.count()
        self.log = Path(self._scratch.name) / "log"
        with self.log.open("w") as log:
            self._process = subprocess.Popen(
                [str(INTEROP / VENVS[name] / "bin/python"), "-m", f"tests.interop.{name}_server"],
                cwd=REPOSITORY,
                env={
                    **os.environ,
                    "TMPDIR": self._scratch.name,
                    "LAKEBED_INTEROP_ZONE": zone,
                    "TZ": zone,
                    "LAKEBED_INTEROP_OPTIONS": json.dumps(dict(options or {})),
                },
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @staticmethod
    def is_set_up(name: str) -> bool:
        ready = (INTEROP / VENVS[name] / "requirements.stamp").exists()
        return ready and (name == "pypaimon" or (INTEROP / "java-ready").exists())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        self._scratch.cleanup()

    def call(self, op: str, **args: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = ""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"op": op, "args": args}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise OracleError(f"the {self.name} oracle died during {op}:\n{self.log.read_text()[-4000:]}")
        answer = json.loads(line)
        if "error" in answer:
            raise OracleError(f"{op}: {answer['error']}")
        return answer["ok"]

    def _file(self) -> str:
        return str(Path(self._scratch.name) / f"{next(self._files)}.arrow")

    def create_table(
        self,
        warehouse: Path | str,
        table: str,
        fields: list[tuple[str, PaimonType]],
        partition_keys: list[str] | None = None,
        *,
        primary_keys: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> None:
        self.call(
            "create_table",
            warehouse=str(warehouse),
            table=table,
            fields=[{"name": name, "type": kind} for name, kind in fields],
            partition_keys=partition_keys or [],
            primary_keys=primary_keys or [],
            options=options or {},
        )

    def write(
        self,
        warehouse: Path | str,
        table: str,
        data: pa.Table,
        overwrite: dict[str, str] | None = None,
        options: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        """``more`` is what only some oracles take: ``row_kind``, ``hold``."""
        path = self._file()
        write_ipc(data, path)
        given = {key: value for key, value in more.items() if value is not None}
        self.call(
            "write", warehouse=str(warehouse), table=table, data=path, overwrite=overwrite, options=options, **given
        )

    def compact(self, warehouse: Path | str, table: str, *, full: bool, **more: Any) -> None:
        self.call("compact", warehouse=str(warehouse), table=table, full=full, **more)

    def read(
        self,
        warehouse: Path | str,
        table: str,
        where: Where | None = None,
        columns: list[str] | None = None,
        options: dict[str, str] | None = None,
    ) -> pa.Table:
        path = self._file()
        condition = None if where is None else where.sql if self.name == "spark" else where.terms
        self.call(
            "read", warehouse=str(warehouse), table=table, into=path, options=options, where=condition, columns=columns
        )
        return read_ipc(path)

    def stream(self, warehouse: Path | str, table: str, options: dict[str, str]) -> pa.Table:
        """What a streaming reader gets until nothing is new."""
        into = self._file()
        self.call("stream", warehouse=str(warehouse), table=table, into=into, options=options)
        return read_ipc(into)

    def truncate(self, warehouse: Path | str, table: str, partitions: list[dict[str, str]] | None = None) -> None:
        self.call("truncate", warehouse=str(warehouse), table=table, partitions=partitions)

    def alter(self, warehouse: Path | str, table: str, changes: list[list[Any]]) -> None:
        self.call("alter", warehouse=str(warehouse), table=table, changes=changes)
