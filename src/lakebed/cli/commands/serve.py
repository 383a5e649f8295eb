"""``serve``: start the service, with its REST interface and dashboard."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import lakebed
from lakebed.cli.arguments import Warehouse
from lakebed.cli.open_warehouse import chosen_text, has_databases, warnings_as_lines
from lakebed.cli.warehouse_settings import given_settings
from lakebed.errors import LakebedError, NotFoundError, OptionError
from lakebed.optional import check_installed
from lakebed.options.environment import WAREHOUSE_VARIABLE

if TYPE_CHECKING:
    from lakebed.catalogs.named_warehouses import NamedWarehouse
    from lakebed.service import Settings

TOKEN_VARIABLE = "LAKEBED_TOKEN"  # noqa: S105 - the name of a variable
_NAMED = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)=(.+)")


def serve(
    warehouses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WAREHOUSE]...",
            help="Folders, URLs or names in lakebed.toml, or NAME=FOLDER. (default: --warehouse, else all in lakebed.toml)",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", "-p", min=0, max=65535, help="The port to listen on; 0 picks a free one.")
    ] = 8451,
    allow_actions: Annotated[
        bool, typer.Option("--allow-actions", help="Allow actions: compact, expire, tag, branch and roll back.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing, not even the index of the history.")
    ] = False,
    autopilot: Annotated[
        bool, typer.Option("--autopilot", help="Also look after the tables, as lakebed autopilot run does.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TOKEN", envvar=TOKEN_VARIABLE, help="The token that every request must send."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="A file with the token in its first line.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Another host name that requests may use; may be repeated."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="A certificate, for HTTPS.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option("--tls-key", metavar="FILE", help="The key of the certificate.")
    ] = None,
    rate_limit: Annotated[
        float,
        typer.Option("--rate-limit", metavar="N", min=0, help="Requests a second for each client; 0 for no limit."),
    ] = 100,
    warehouse: Warehouse = None,
) -> None:
    """Serve warehouses over HTTP: a dashboard and a REST interface. Read-only unless --allow-actions is given.

    Listens on this machine only by default. Any other address needs a token. Prefer --token-file: other users of the
    machine can see the arguments of a command.
    """
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("give --tls-cert and --tls-key together")
    check_installed("lakebed serve", "fastapi", "prometheus_client", "uvicorn")
    from lakebed.service import Settings, create_app  # noqa: PLC0415 - FastAPI is optional
    from lakebed.service.settings import LOOPBACK_HOSTS, Limits, is_loopback  # noqa: PLC0415 - as above

    secret = _token(token, token_file)
    names = tuple(allow_host or ())
    _check_token(secret, [name for name in (host, *names) if not is_loopback(name)])
    settings = Settings(
        warehouses=_chosen(warehouses, warehouse),
        allow_actions=allow_actions,
        read_only=read_only,
        autopilot=autopilot,
        token=secret,
        limits=Limits(requests_per_second=rate_limit or None),
        allowed_hosts=(*LOOPBACK_HOSTS, host, *names) if is_loopback(host) or names else (),
    )
    _check_answers(settings)
    with _listening(host, port) as listener:
        _run(create_app(settings), settings, listener, tls_cert, tls_key)


def _check_answers(settings: Settings) -> None:
    """Raise if the storage of a warehouse does not answer, so that a service with wrong settings does not start."""
    from lakebed.storage import is_remote_path  # noqa: PLC0415 - Arrow comes with it

    for one in settings.warehouses.values():
        if not isinstance(one, str) and is_remote_path(one.path):
            lakebed.connect(one.path, options=one.options).databases()


def _check_token(token: str | None, reachable: list[str]) -> None:
    if reachable and token is None:
        raise OptionError(
            f"{reachable[0]} can be reached from other machines, so a token is needed: give --token-file, or listen "
            "on 127.0.0.1"
        )


def _chosen(given: list[str] | None, warehouse: str | None) -> dict[str, NamedWarehouse]:
    """Returns the warehouses to serve, by name: those given, else the one of --warehouse, else all in lakebed.toml."""
    from lakebed.catalogs.named_warehouses import NamedWarehouse, all_warehouses  # noqa: PLC0415 - Arrow comes with it

    with warnings_as_lines():
        if given:
            return _named(given)
        is_named = bool(warehouse or os.environ.get(WAREHOUSE_VARIABLE)) or has_databases(Path.cwd())
        if not is_named and (found := all_warehouses()):
            settings = given_settings()
            return {name: NamedWarehouse(one.path, {**one.options, **settings}) for name, one in found.items()}
    return _named([chosen_text(warehouse)])


def _named(given: list[str]) -> dict[str, NamedWarehouse]:
    """Returns warehouses by name; the default name is that of the folder, or the one in lakebed.toml."""
    from lakebed.catalogs.named_warehouses import NamedWarehouse, find_warehouse  # noqa: PLC0415 - as above

    found: dict[str, NamedWarehouse] = {}
    for text in given:
        named = _NAMED.fullmatch(text)
        place = named[2] if named else text
        known = find_warehouse(place) or NamedWarehouse(place)
        if named:
            name = named[1]
        elif known.path != place:
            name = place
        else:
            last = place.rstrip("/").rpartition("/")[2] if "://" in place else Path(place).resolve().name
            name = re.sub(r"[^A-Za-z0-9_.-]", "_", last)[:64] or "warehouse"
        if name in found:
            raise OptionError(
                f"two warehouses have the name {name!r}; give them names: one={found[name].path} two={known.path}"
            )
        found[name] = NamedWarehouse(known.path, {**known.options, **given_settings()})
    return found


def _token(given: str | None, file: Path | None) -> str | None:
    if file is None:
        return given
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise NotFoundError(f"the token file {file} cannot be read") from None
    if not lines or not lines[0].strip():
        raise OptionError(f"the first line of {file} must be the token, but it is empty")
    return lines[0].strip()


def _listening(host: str, port: int) -> socket.socket:
    """Returns a socket bound to an address; a port in use is an error of one line."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise LakebedError(f"cannot listen on {host}: {error.strerror or error}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise LakebedError(f"cannot listen on {host} port {port}: {error.strerror or error}; try --port 0") from None
    return listener


def _run(app: Any, settings: Settings, listener: socket.socket, cert: Path | None, key: Path | None) -> None:
    import uvicorn  # noqa: PLC0415 - optional

    from lakebed.service.connections import timed_connections  # noqa: PLC0415 - as above

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    place = f"{'http' if cert is None else 'https'}://{shown}:{port}"

    class Server(uvicorn.Server):
        """Prints its address once it accepts requests."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            changes = "actions allowed" if settings.allow_actions else "read-only"
            changes += ", with autopilot" if settings.autopilot else ""
            typer.echo(f"lakebed serves {', '.join(settings.warehouses)} at {place} ({changes})", err=True)

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        http=timed_connections(settings.limits.header_seconds),
        limit_concurrency=settings.limits.connections,
        timeout_graceful_shutdown=10,
        ssl_certfile=cert,
        ssl_keyfile=key,
    )
    Server(config).run(sockets=[listener])
