"""
HTTP/1.1 over the connections of asyncio, for unary calls. The library runs its own on threads of theirs: to hand a call
over and back costs more than the call.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from dataclasses import dataclass
from typing import Literal

MAX_HEAD = 65_536
MAX_CONNECTIONS = 100
MAX_DIGITS = 15
# All in seconds.
CONNECT_TIMEOUT = 30.0
IDLE = 50.0
BRIEFLY = 0.5
# A host may have addresses that do not answer: the next one is tried meanwhile (RFC 8305 §5).
NEXT_ADDRESS = 0.25


class ProtocolError(Exception):
    """What came is no answer of HTTP/1."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    """By names in lower case; what came several times is joined by commas."""
    content: bytes


class Connection(asyncio.Protocol):
    """One connection, with one request at a time."""

    reusable = False
    idle_since = 0.0

    def __init__(self) -> None:
        self._answer: asyncio.Future[Answer] | None = None
        self._received = bytearray()
        self._head: Head | None = None

    async def exchange(self, request: bytes) -> Answer:
        """Sends a request and waits for the whole answer. The connection is closed when it fails or is cancelled."""
        if self.closing:
            # Nothing would come any more, not even the news that the connection is lost.
            raise ConnectionResetError("the connection was lost before the request")
        self._answer = asyncio.get_running_loop().create_future()
        self._received.clear()
        self._head = None
        self.reusable = False
        self._transport.write(request)
        try:
            return await self._answer
        finally:
            self._answer = None
            if not self.reusable:
                self._transport.abort()

    @property
    def closing(self) -> bool:
        """Whether the connection is being closed; `reusable` becomes false a turn of the loop later."""
        return self._transport.is_closing()

    def close(self) -> None:
        self.reusable = False
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        self.reusable = False
        if self._head is not None and self._head.body == "until the end" and error is None:
            self._end(bytes(self._received))
        else:
            self._fail(ConnectionResetError("the connection was lost before the answer"))

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            # Nothing was asked for: what follows an answer must not be taken for the next one.
            return self.close()
        self._received += data
        try:
            self._read()
        except ProtocolError as error:
            self._fail(error)

    def _read(self) -> None:
        while self._head is None:
            end = self._received.find(b"\r\n\r\n")
            if max(end, len(self._received) if end < 0 else 0) > MAX_HEAD:
                raise ProtocolError("the headers of the answer are too large")
            if end < 0:
                return
            head = Head(self._received[:end].decode("latin-1"))
            del self._received[: end + 4]
            # Interim answers, such as 103, precede the answer.
            if head.status >= 200:
                self._head = head
        body = self._head.body
        if isinstance(body, Chunks):
            if body.read(self._received):
                self._end(bytes(body.content))
        elif isinstance(body, int) and len(self._received) >= body:
            content = bytes(self._received[:body])
            del self._received[:body]
            self._end(content)

    def _end(self, content: bytes) -> None:
        head, answer = self._head, self._answer
        if head is None or answer is None or answer.done():
            return
        headers = head.headers
        if headers.get("content-encoding", "").lower() == "gzip":
            try:
                content = zlib.decompress(content, wbits=31)
            except zlib.error as error:
                return self._fail(ProtocolError(f"the answer is no gzip: {error}"))
            del headers["content-encoding"]
        self.reusable = head.keeps_alive and not self._received and not self._transport.is_closing()
        answer.set_result(Answer(head.status, headers, content))

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)


class Head:
    """Status and headers of an answer. Raises `ProtocolError` when they are none of HTTP/1."""

    def __init__(self, text: str) -> None:
        line, *fields = text.split("\r\n")
        version, _, rest = line.partition(" ")
        status = rest[:3]
        if version not in ("HTTP/1.1", "HTTP/1.0") or not (status.isascii() and status.isdigit() and len(status) == 3):
            raise ProtocolError(f"the answer is no HTTP/1.1: {line[:40]!r}")
        self.status = int(status)
        values: dict[str, str] = {}
        for field in fields:
            name, colon, value = field.partition(":")
            if not colon:
                raise ProtocolError(f"the answer has a malformed header: {field[:40]!r}")
            name, value = name.lower(), value.strip(" \t")
            values[name] = f"{values[name]}, {value}" if name in values else value
        self.headers = values
        self.body: int | Chunks | Literal["until the end"]
        coding = values.get("transfer-encoding")
        if coding is not None:
            if coding.lower() != "chunked":
                raise ProtocolError(f"the answer has a transfer coding that nobody asked for: {coding[:40]!r}")
            self.body = Chunks()
        elif self.status in (204, 304):
            self.body = 0
        elif "content-length" in values:
            self.body = number_of(values["content-length"], 10)
        else:
            self.body = "until the end"
        connection = values.get("connection", "").lower()
        self.keeps_alive = version == "HTTP/1.1" and "close" not in connection


def number_of(text: str, base: Literal[10, 16]) -> int:
    """`int` also takes signs, underscores and spaces, and numbers of any length."""
    digits = "0123456789" if base == 10 else "0123456789abcdefABCDEF"
    if not 0 < len(text) <= MAX_DIGITS or text.strip(digits) != "":
        raise ProtocolError(f"the answer has a malformed length: {text[:40]!r}")
    return int(text, base)


class Chunks:
    """A chunked body."""

    def __init__(self) -> None:
        self.content = bytearray()

    def read(self, received: bytearray) -> bool:
        """Takes whole chunks from the front. Returns whether the last one was among them."""
        while (end := received.find(b"\r\n")) >= 0:
            size = number_of(received[:end].decode("latin-1").partition(";")[0].strip(" \t"), 16)
            if size == 0:
                # Trailers, which nothing here reads, end with an empty line.
                return self._ends(received, end)
            start, after = end + 2, end + 2 + size
            if len(received) < after + 2:
                return False
            if received[after : after + 2] != b"\r\n":
                raise ProtocolError("the answer has a malformed chunk")
            self.content += received[start:after]
            del received[: after + 2]
        if len(received) > MAX_HEAD:
            raise ProtocolError("the answer has a malformed chunk")
        return False

    def _ends(self, received: bytearray, start: int) -> bool:
        end = received.find(b"\r\n\r\n", start)
        if end < 0 and len(received) > MAX_HEAD:
            raise ProtocolError("the trailers of the answer are too large")
        if end >= 0:
            del received[: end + 4]
        return end >= 0


class Pool:
    """Connections to one server, of one event loop."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        self._host = host
        self._port = port
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._idle: list[Connection] = []
        self._room = asyncio.Semaphore(MAX_CONNECTIONS)

    async def exchange(self, request: bytes) -> Answer:
        async with self._room:
            connection = await self._take() or await self._open()
            try:
                return await connection.exchange(request)
            finally:
                if connection.reusable:
                    connection.idle_since = self._loop.time()
                    self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _take(self) -> Connection | None:
        while self._idle:
            connection = self._idle.pop()
            idle = self._loop.time() - connection.idle_since
            if idle > BRIEFLY:
                # The server may have closed it while this loop was busy: two turns of the loop let it see that.
                await asyncio.sleep(0)
                await asyncio.sleep(0)
            if connection.reusable and not connection.closing and idle < IDLE:
                return connection
            connection.close()
        return None

    async def _open(self) -> Connection:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                _, connection = await self._loop.create_connection(
                    Connection, self._host, self._port, ssl=self._tls, happy_eyeballs_delay=NEXT_ADDRESS
                )
        except TimeoutError as error:
            raise ConnectionError(f"{self._host} does not take connections") from error
        return connection
