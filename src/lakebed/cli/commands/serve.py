"""``serve``: warehouses over HTTP, with a dashboard."""

from __future__ import annotations

import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lakebed.cli.arguments import Warehouse
from lakebed.cli.session import open_lake
from lakebed.errors import LakebedError, NotFoundError, OptionError, UnsupportedError

if TYPE_CHECKING:
    from lakebed.service import Settings

TOKEN_VARIABLE = "LAKEBED_TOKEN"  # noqa: S105 - the name of a variable
_NAMED = re.compile(r"([A-Za-z0-9_][A-Za-z0-9_.-]*)=(.+)")


def serve(
    warehouses: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[WAREHOUSE]...",
            help="Folders, or NAME=FOLDER; what --warehouse says if left out.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", "-p", min=0, max=65535, help="0 takes one that is free.")] = 8451,
    allow_actions: Annotated[
        bool, typer.Option("--allow-actions", help="Also compact, expire, tag, branch and roll back.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Write nothing at all, not even the index of the history.")
    ] = False,
    token: Annotated[
        str | None,
        typer.Option("--token", metavar="TOKEN", envvar=TOKEN_VARIABLE, help="What requests must show to be answered."),
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option("--token-file", metavar="FILE", help="A file whose first line is the token.")
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", metavar="NAME", help="Another name that the service answers to; may be repeated."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="A certificate, for https.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="The certificate's key.")] = None,
    warehouse: Warehouse = None,
) -> None:
    """Serve warehouses to a browser and to programs, read-only unless told otherwise.

    Listens on this machine only. Any other address needs a token; give it in a file, as others can see command lines.
    """
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key belong together")
    try:
        from lakebed.service import Settings, create_app  # noqa: PLC0415 - FastAPI is optional
        from lakebed.service.settings import LOOPBACK_HOSTS, is_loopback  # noqa: PLC0415 - as above
    except ImportError as error:
        raise UnsupportedError(f"lakebed serve needs {error.name}: pip install 'lakebed[service]'") from None
    secret = _token(token, token_file)
    names = tuple(allow_host or ())
    reachable = [name for name in (host, *names) if not is_loopback(name)]
    if reachable and secret is None:
        raise OptionError(
            f"{reachable[0]} can be reached from other machines, so a token is needed: give --token-file, or listen on 127.0.0.1"
        )
    settings = Settings(
        warehouses=_named(warehouses or [open_lake(warehouse).warehouse]),
        allow_actions=allow_actions,
        read_only=read_only,
        token=secret,
        allowed_hosts=(*LOOPBACK_HOSTS, host, *names) if is_loopback(host) or names else (),
    )
    with _listening(host, port) as listener:
        _run(create_app(settings), settings, listener, tls_cert, tls_key)


def _named(given: list[str]) -> dict[str, str]:
    """Warehouses by name; one without a name is called like its folder."""
    found: dict[str, str] = {}
    for text in given:
        named = _NAMED.fullmatch(text)
        folder = named[2] if named else text
        name = named[1] if named else re.sub(r"[^A-Za-z0-9_.-]", "_", Path(folder).resolve().name)[:64] or "warehouse"
        if name in found:
            raise OptionError(
                f"two warehouses would be called {name!r}; give them names: one={found[name]} two={folder}"
            )
        found[name] = folder
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
    """A socket on an address; bound here so that a port that is taken is told in one sentence."""
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

    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    place = f"{'http' if cert is None else 'https'}://{shown}:{port}"

    class Server(uvicorn.Server):
        """Says where it is once it answers."""

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets)
            changes = "actions allowed" if settings.allow_actions else "read-only"
            typer.echo(f"lakebed serves {', '.join(settings.warehouses)} at {place} ({changes})", err=True)

    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ws="none",
        timeout_graceful_shutdown=10,
        ssl_certfile=cert,
        ssl_keyfile=key,
    )
    Server(config).run(sockets=[listener])
