from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TypeVar

from connectrpc.client import ConnectClient, ConnectClientSync
from pyqwest import Client, HTTPTransport, SyncClient, SyncHTTPTransport
from typing_extensions import Self

from atrium.services import AsyncServices, Services

from ._call import AsyncInterceptor, Interceptor, Settings
from ._credentials import Credential
from ._direct import DirectCalls, Server, server_at

S = TypeVar("S", bound=ConnectClientSync)
A = TypeVar("A", bound=ConnectClient)

TIMEOUT = 10.0
RETRIES = 2


class Atrium(Services):
    """
    A client of every service, by the name of its area: `atrium.users.list_users(ListUsersRequest())`. It may be used by
    many threads at once.
    """

    def __init__(
        self,
        base_url: str,
        credential: Credential | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        http_client: SyncClient | None = None,
    ) -> None:
        """
        Args:
            base_url: Where the service is, such as `https://atrium.example`.
            credential: Without it only public calls succeed.
            timeout: Seconds that a unary call may take with all its attempts.
            retries: Attempts after the first, where the contract makes them harmless.
            http_client: For certificates, proxies and limits of your own.
        """
        self._address = base_url.rstrip("/")
        self._interceptor = Interceptor(Settings(credential, timeout, retries))
        self._transport: SyncHTTPTransport | None = None
        if http_client is None:
            # A credential is sent nowhere else than to the service.
            self._transport = SyncHTTPTransport(tls_include_system_certs=True, follow_redirects=False)
            http_client = SyncClient(self._transport)
        self._http_client = http_client

    def _client(self, kind: type[S]) -> S:
        return kind(
            self._address,
            interceptors=[self._interceptor],
            http_client=self._http_client,
            send_compression=None,
        )

    def close(self) -> None:
        """Closes the connections, unless they are of a client of your own."""
        if self._transport is not None:
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncAtrium(AsyncServices):
    """The same for asyncio: `await atrium.users.list_users(ListUsersRequest())`."""

    def __init__(
        self,
        base_url: str,
        credential: Credential | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        http_client: Client | None = None,
    ) -> None:
        """Takes what `Atrium` takes; a credential may be a coroutine function."""
        self._address = base_url.rstrip("/")
        self._settings = Settings(credential, timeout, retries)
        self._interceptor = AsyncInterceptor(self._settings, asyncio.sleep)
        self._server: Server | None = None
        self._transport: HTTPTransport | None = None
        if http_client is None:
            self._server = server_at(self._address)
            self._transport = HTTPTransport(tls_include_system_certs=True, follow_redirects=False)
            http_client = Client(self._transport)
        self._http_client = http_client

    def _client(self, kind: type[A]) -> A:
        client = kind(
            self._address,
            interceptors=[self._interceptor],
            http_client=self._http_client,
            send_compression=None,
        )
        if self._server is not None:
            setattr(client, "execute_unary", DirectCalls(self._server, self._settings, asyncio.sleep, client))
        return client

    async def aclose(self) -> None:
        """Closes the connections, unless they are of a client of your own."""
        if self._server is not None:
            self._server.close()
        if self._transport is not None:
            await self._transport.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
