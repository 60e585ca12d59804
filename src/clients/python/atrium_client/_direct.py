"""Unary calls of `AsyncAtrium` without the library, several times as fast: Connect is one request of HTTP for each."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from connectrpc._protocol import ConnectWireError
from connectrpc.client import ConnectClient
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.method import MethodInfo
from connectrpc.request import Headers
from google.protobuf.message import DecodeError, Message
from opentelemetry.trace import ProxyTracerProvider, get_tracer_provider
from pyqwest import FullResponse
from pyqwest import Headers as HTTPHeaders

from ._call import Call, Settings
from ._errors import AtriumError
from ._http1 import Answer, Pool, ProtocolError

R = TypeVar("R", bound=Message)

CONTENT_TYPE = "application/proto"


class Server:
    """Where calls go, with the connections that they share."""

    def __init__(self, url: SplitResult) -> None:
        self._url = url
        self._pools: dict[asyncio.AbstractEventLoop, Pool] = {}

    @property
    def path(self) -> str:
        return self._url.path

    @property
    def authority(self) -> str:
        return self._url.netloc

    async def exchange(self, request: bytes) -> Answer:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for other in [known for known in list(self._pools) if known.is_closed()]:
                self._pools.pop(other, None)
            port = self._url.port or (80 if self._tls is None else 443)
            self._pools[loop] = pool = Pool(self._url.hostname or "", port, self._tls)
        return await pool.exchange(request)

    def close(self) -> None:
        """Closes the connections of the running loop."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.close()

    @cached_property
    def _tls(self) -> ssl.SSLContext | None:
        if self._url.scheme == "http":
            return None
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context


def server_at(address: str) -> Server | None:
    """None for what only the library reaches: through a proxy, or with a password."""
    url = urlsplit(address)
    proxies = getproxies()
    proxied = (url.scheme in proxies or "all" in proxies) and not proxy_bypass(url.hostname or "")
    plain = url.scheme in ("http", "https") and url.hostname is not None and url.username is None
    return Server(url) if plain and not proxied else None


class DirectCalls:
    """Stands for `execute_unary` of a client."""

    def __init__(
        self,
        server: Server,
        settings: Settings,
        sleep: Callable[[float], Awaitable[None]],
        library: ConnectClient,
    ) -> None:
        self._server = server
        self._settings = settings
        self._sleep = sleep
        self._library = library.execute_unary

    async def __call__(
        self,
        *,
        request: Message,
        method: MethodInfo[Any, R],
        headers: Headers | Mapping[str, str] | None = None,
        timeout_ms: int | None = None,
        use_get: bool = False,
    ) -> R:
        # The library makes a span of each call of a program that traces.
        if use_get or not isinstance(get_tracer_provider(), ProxyTracerProvider):
            return await self._library(
                request=request, method=method, headers=headers, timeout_ms=timeout_ms, use_get=use_get
            )
        sent = _sent(headers)
        timeout = self._settings.timeout if timeout_ms is None else timeout_ms / 1_000
        call = Call(self._settings, method, sent, timeout)
        await call.present_async()
        content = request.SerializeToString()
        while True:
            left = call.begin_attempt()
            received: Mapping[str, str] = {}
            try:
                async with asyncio.timeout(left):
                    answer = await self._server.exchange(self._head(method, sent, len(content)) + content)
                received = answer.headers
                return _message_of(answer, method.output)
            except TimeoutError as reason:
                error = AtriumError(Code.DEADLINE_EXCEEDED, "Request timed out")
                error.__cause__ = reason
            except (OSError, ProtocolError) as reason:
                error = AtriumError(Code.UNAVAILABLE, str(reason))
                error.__cause__ = reason
            except ConnectError as reason:
                error = AtriumError.of(reason, received)
            await self._sleep(call.wait_after(error))

    def _head(self, method: MethodInfo[Any, Any], sent: Mapping[str, str], length: int) -> bytes:
        lines = [
            f"POST {self._server.path}/{method.service_name}/{method.name} HTTP/1.1",
            f"host: {self._server.authority}",
            f"content-length: {length}",
            f"content-type: {CONTENT_TYPE}",
            "connect-protocol-version: 1",
            "accept-encoding: gzip",
            *[f"{name}: {value}" for name, value in sent.items()],
        ]
        head = "\r\n".join(lines)
        if head.count("\r") + head.count("\n") != 2 * (len(lines) - 1) or "\0" in head:
            raise ValueError("A header of the call has a line break.")
        return f"{head}\r\n\r\n".encode("latin-1")


_OWN = frozenset(("host", "content-length", "content-type", "connect-protocol-version", "accept-encoding"))


def _sent(given: Headers | Mapping[str, str] | None) -> dict[str, str]:
    """Headers of a caller, by names in lower case."""
    sent = {"user-agent": "atrium-client"}
    items = given.allitems() if isinstance(given, Headers) else (given or {}).items()
    for name, value in items:
        key = name.lower()
        if key not in _OWN:
            sent[key] = f"{sent[key]}, {value}" if key in sent and isinstance(given, Headers) else value
    return sent


def _message_of(answer: Answer, kind: type[R]) -> R:
    content_type = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
    if answer.status != 200:
        if content_type != "application/json":
            raise ConnectWireError.from_http_status(answer.status).to_exception()
        response = FullResponse(answer.status, HTTPHeaders(), answer.content, HTTPHeaders())
        try:
            failure = ConnectWireError.from_response(response).to_exception()
        except Exception:
            # JSON of another form than the protocol's, which something before the service may send.
            failure = ConnectWireError.from_http_status(answer.status).to_exception()
        raise failure
    if content_type != CONTENT_TYPE:
        raise ConnectError(Code.UNKNOWN, f"invalid content-type: '{content_type}'; expecting '{CONTENT_TYPE}'")
    try:
        return kind.FromString(answer.content)
    except DecodeError as error:
        raise ConnectError(Code.INVALID_ARGUMENT, f"unmarshal message: {error}") from error
