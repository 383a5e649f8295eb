"""A proxy before a storage server: it counts requests, delays them, and breaks some of them on purpose.

It speaks HTTP/1.1 with connections that stay open, and passes bodies on while they arrive. It never changes a byte of a
request, so signatures stay valid. It runs in a thread of its own, and waits for many requests at the same time.

Example::

    with MinIO(folder) as server, Proxy(server, latency=0.02) as proxy:
        lake = lakebed.connect(server.create_bucket("b"), options=proxy.options)
        proxy.inject(Answer(503), method="PUT", times=2)  # the next two puts are throttled
        proxy.inject(LostAnswer(), target="snapshot/snapshot-")  # one commit succeeds, but its answer is lost
        with proxy.recording() as requests:
            ...
        assert longest_chain(requests) <= 5
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
import time
import urllib.parse
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, Self

from tests.servers.server import HOST, Server, free_port

_AT_ONCE: Final = 1 << 18
_HEAD_LIMIT: Final = 1 << 20
_LEFTOVER_SECONDS: Final = 5.0
_SETTLE_SECONDS: Final = 0.5


@dataclass
class Request:
    """A request that the proxy has seen.

    Attributes:
        method: ``GET``, ``PUT`` and so on.
        target: The path with the query, decoded: ``/bucket/db.db/t/snapshot/LATEST``.
        started: When its head had arrived, as ``time.monotonic()``, which all processes of a machine share.
        ended: When the last byte of the answer was sent; ``None`` before that.
        status: The status of the answer that the client got; ``None`` if it got none.
        fault: What the proxy did to it, or ``None``.
    """

    method: str
    target: str
    started: float
    ended: float | None = None
    status: int | None = None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """The proxy answers itself; the server does not get the request. 503 and 429 are what throttling looks like."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b"<Error><Code>SlowDown</Code><Message>Reduce your request rate.</Message></Error>"


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset; the server does not get the request."""


@dataclass(frozen=True, slots=True)
class LostAnswer:
    """The server gets the request and does what it says; then the connection is reset instead of an answer."""


@dataclass(frozen=True, slots=True)
class CutAnswer:
    """The connection is reset after so many bytes of the body of the answer."""

    after: int


@dataclass(frozen=True, slots=True)
class Slow:
    """The request reaches the server late, or its answer the client.

    A request that waits in ``before`` reaches the server even if the client has given up meanwhile.
    """

    before: float = 0.0
    after: float = 0.0


Fault = Answer | Reset | LostAnswer | CutAnswer | Slow


@dataclass
class Rule:
    """Breaks requests that match, until it was applied ``left`` times. ``None`` is forever."""

    fault: Fault
    method: str | None
    target: str
    skip: int
    left: int | None
    applied: int = 0

    def take(self, request: Request) -> bool:
        """Returns whether the fault applies to this request, and counts it."""
        if self.left == 0 or self.method not in {None, request.method} or self.target not in request.target:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.applied += 1
        if self.left is not None:
            self.left -= 1
        return True


def longest_chain(requests: Iterable[Request]) -> int:
    """Returns how many requests followed each other: the longest chain in which each started after the last had ended.

    It is what a black box shows of its dependent round trips. Requests that could have run at the same time, but did
    not, count too.
    """
    chain, end = 0, float("-inf")
    for request in sorted(requests, key=lambda each: each.ended or float("inf")):
        if request.started >= end:
            chain, end = chain + 1, request.ended or float("inf")
    return chain


def _settled(requests: list[Request]) -> list[Request]:
    """Waits a moment for requests to end: the client has the answer a little before the proxy notes it."""
    until = time.monotonic() + _SETTLE_SECONDS
    while any(request.ended is None for request in requests) and time.monotonic() < until:
        time.sleep(0.001)
    return requests


def by_method(requests: Iterable[Request]) -> Counter[str]:
    """Returns how many requests of each method there were."""
    return Counter(request.method for request in requests)


class Proxy:
    """A proxy on loopback before a server; a context manager that starts and stops it.

    Args:
        server: The server; it speaks HTTP.
        latency: Seconds that each request waits before the server gets it; may be changed at any time.

    Attributes:
        requests: All requests so far, in the order in which they arrived.
    """

    def __init__(self, server: Server, latency: float = 0.0) -> None:
        self.server = server
        self.latency = latency
        self.port = free_port()
        self.requests: list[Request] = []
        self._rules: list[Rule] = []
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread: threading.Thread | None = None
        self.transports: weakref.WeakSet[asyncio.WriteTransport] = weakref.WeakSet()

    @property
    def url(self) -> str:
        """The address of the proxy."""
        return f"http://{HOST}:{self.port}"

    @property
    def options(self) -> dict[str, str]:
        """The options of the server, with the address of the proxy."""
        return {name: value.replace(self.server.url, self.url) for name, value in self.server.options.items()}

    def inject(
        self, fault: Fault, *, method: str | None = None, target: str = "", skip: int = 0, times: int | None = 1
    ) -> Rule:
        """Breaks coming requests.

        Args:
            fault: What happens to them.
            method: Only requests of this method.
            target: Only requests whose decoded path and query contain this text.
            skip: So many requests that match pass first.
            times: How many requests are broken; ``None`` breaks all until :meth:`heal`.

        Returns:
            The rule; ``rule.applied`` says how often it was applied.
        """
        rule = Rule(fault, method, target, skip, times)
        with self._lock:
            self._rules.append(rule)
        return rule

    def heal(self) -> None:
        """Removes all faults."""
        with self._lock:
            self._rules.clear()

    @contextlib.contextmanager
    def recording(self) -> Iterator[list[Request]]:
        """Yields a list that holds the requests of the block once it ends."""
        found: list[Request] = []
        first = len(self.requests)
        try:
            yield found
        finally:
            found += _settled(self.requests[first:])

    def between(self, start: float, end: float) -> list[Request]:
        """Returns the requests that started between two times of ``time.monotonic()``, in any process."""
        return _settled([request for request in self.requests if start <= request.started <= end])

    def start(self) -> None:
        """Starts to listen; returns once the proxy can be used."""
        listening = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(listening,), name="proxy", daemon=True)
        self._thread.start()
        if not listening.wait(10):
            raise RuntimeError(f"the proxy did not start on port {self.port}")

    def stop(self) -> None:
        """Closes all connections."""
        if self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, listening: threading.Event) -> None:
        asyncio.set_event_loop(self._loop)

        running: set[asyncio.Task[None]] = set()  # the loop itself keeps no tasks alive

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(_Connection(self, reader, writer).serve())
            running.add(task)
            task.add_done_callback(running.discard)

        server = self._loop.run_until_complete(
            asyncio.start_server(connected, HOST, self.port, limit=_HEAD_LIMIT, backlog=1024)
        )
        listening.set()
        self._loop.run_forever()
        for listener in server.sockets:  # a server that is closed leaks what it has accepted and not begun yet
            self._loop.remove_reader(listener.fileno())
        self._loop.run_until_complete(self._close_all())
        server.close()
        self._loop.close()

    async def _close_all(self) -> None:
        """Ends all connections, also those that begin only now, and those that wait until their peer reads."""
        quiet = 0
        while quiet < 3:
            tasks = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            for transport in list(self.transports):
                transport.abort()
            await asyncio.sleep(0.002)  # a connection that was accepted last begins its task only now
            quiet = 0 if tasks else quiet + 1

    def note(self, method: str, target: str) -> Request:
        """Records a request, and which fault applies to it."""
        request = Request(method, urllib.parse.unquote(target), time.monotonic())
        with self._lock:
            self.requests.append(request)
            request.fault = next((rule.fault for rule in self._rules if rule.take(request)), None)
        return request


class _ClosedError(Exception):
    """The connection cannot be used for another request."""


@dataclass
class _Head:
    """The first line and the headers of a request or an answer, as they came."""

    raw: bytes
    first: list[str]
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    async def read(cls, reader: asyncio.StreamReader) -> _Head:
        raw = await reader.readuntil(b"\r\n\r\n")
        first, *lines = raw[:-4].decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines)
        return cls(raw, first.split(" ", 2), {name.strip().lower(): value.strip() for name, _, value in pairs})

    @property
    def is_chunked(self) -> bool:
        return "chunked" in self.headers.get("transfer-encoding", "").lower()

    @property
    def length(self) -> int:
        return int(self.headers.get("content-length", 0))

    @property
    def closes(self) -> bool:
        return self.headers.get("connection", "").lower() == "close"


class _Sink:
    """Passes bytes on to a connection; to nobody without one, and resets it after ``limit`` bytes if there is one."""

    def __init__(self, writer: asyncio.StreamWriter | None, limit: int | None = None) -> None:
        self._writer = writer
        self._left = limit

    async def write(self, data: bytes) -> None:
        if self._writer is None:
            return
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        self._writer.write(data)
        await self._writer.drain()
        if self._left == 0:
            raise _ClosedError


async def _copy(head: _Head, reader: asyncio.StreamReader, sink: _Sink, *, until_closed: bool = False) -> None:
    """Passes a body on; its head says how long it is."""
    if head.is_chunked:
        size = 1
        while size:
            line = await reader.readuntil(b"\r\n")
            size = int(line.split(b";")[0], 16)
            await sink.write(line)
            await _copy_bytes(size, reader, sink)
            trailer = await reader.readuntil(b"\r\n")
            while not size and trailer != b"\r\n":
                await sink.write(trailer)
                trailer = await reader.readuntil(b"\r\n")
            await sink.write(trailer)
    elif "content-length" in head.headers:
        await _copy_bytes(head.length, reader, sink)
    elif until_closed:
        while data := await reader.read(_AT_ONCE):
            await sink.write(data)
        raise _ClosedError


async def _copy_bytes(count: int, reader: asyncio.StreamReader, sink: _Sink) -> None:
    while count:
        data = await reader.read(min(count, _AT_ONCE))
        if not data:
            raise _ClosedError
        count -= len(data)
        await sink.write(data)


class _Connection:
    """One connection of a client, with one connection to the server."""

    def __init__(self, proxy: Proxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        proxy.transports.add(writer.transport)
        self._server: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def serve(self) -> None:
        """Handles one request after the other until somebody closes the connection."""
        try:
            while True:
                head = await _Head.read(self._reader)
                request = self._proxy.note(head.first[0], head.first[1])
                try:
                    await self._handle(head, request)
                finally:
                    request.ended = time.monotonic()
                if head.closes:
                    break
        except (_ClosedError, OSError, asyncio.IncompleteReadError):
            self._reset()
        except asyncio.CancelledError:
            self._reset()
        finally:
            self._writer.close()
            if self._server is not None:
                self._server[1].close()

    def _reset(self) -> None:
        """Closes the connection so that the client sees a reset, not an end."""
        found = self._writer.get_extra_info("socket")
        if found is not None and found.fileno() >= 0:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def _handle(self, head: _Head, request: Request) -> None:
        fault = request.fault
        wait = self._proxy.latency + (fault.before if isinstance(fault, Slow) else 0.0)
        if wait:
            await asyncio.sleep(wait)
        match fault:
            case Reset():
                raise _ClosedError
            case Answer():
                await self._answer(head, request, fault)
            case _:
                await self._forward(head, request)

    async def _answer(self, head: _Head, request: Request, fault: Answer) -> None:
        waits = "expect" in head.headers  # the client sends the body only if asked to
        if not waits:
            await _copy(head, self._reader, _Sink(None))
        body = b"" if request.method == "HEAD" else fault.body
        headers = [*fault.headers, ("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
        headers += [("Connection", "close")] if waits else []
        lines = [f"HTTP/1.1 {fault.status} Fault", *(f"{name}: {value}" for name, value in headers)]
        request.status = fault.status
        self._writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + body)
        await self._writer.drain()
        if waits:
            raise _ClosedError

    async def _forward(self, head: _Head, request: Request) -> None:
        reader, writer = await self._connect()
        writer.write(head.raw)
        sending = None
        if head.is_chunked or head.length:
            sending = asyncio.create_task(_copy(head, self._reader, _Sink(writer)))
        try:
            answer = await self._answer_of(reader)
            await self._pass_on(answer, reader, request)
            if sending is not None:  # a server may answer before it has the whole body
                await asyncio.wait_for(sending, 0 if "expect" in head.headers else _LEFTOVER_SECONDS)
        except TimeoutError:
            raise _ClosedError from None
        finally:
            if sending is not None and not sending.done():
                sending.cancel()
                await asyncio.gather(sending, return_exceptions=True)
        if answer.closes:
            raise _ClosedError

    async def _answer_of(self, reader: asyncio.StreamReader) -> _Head:
        """Returns the head of the answer; passes on "100 Continue" before it."""
        while True:
            answer = await _Head.read(reader)
            if not 100 <= int(answer.first[1]) < 200:
                return answer
            self._writer.write(answer.raw)

    async def _pass_on(self, answer: _Head, reader: asyncio.StreamReader, request: Request) -> None:
        status, fault = int(answer.first[1]), request.fault
        has_body = request.method != "HEAD" and status not in {204, 304}
        if isinstance(fault, LostAnswer):
            if has_body:
                await _copy(answer, reader, _Sink(None), until_closed=True)
            raise _ClosedError
        if isinstance(fault, Slow) and fault.after:
            await asyncio.sleep(fault.after)
        request.status = status
        self._writer.write(answer.raw)
        if has_body:
            limit = fault.after if isinstance(fault, CutAnswer) else None
            await _copy(answer, reader, _Sink(self._writer, limit), until_closed=True)
        await self._writer.drain()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._server is not None and (self._server[0].at_eof() or self._server[1].is_closing()):
            self._server[1].close()
            self._server = None
        if self._server is None:
            self._server = await asyncio.open_connection(HOST, self._proxy.server.port, limit=_HEAD_LIMIT)
            self._proxy.transports.add(self._server[1].transport)
        return self._server
