"""One call with all its attempts, without the network: the same for both kinds of clients."""

from __future__ import annotations

import asyncio
import math
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, MutableMapping
from dataclasses import dataclass
from typing import Any, TypeVar

from connectrpc.client import ResponseMetadata
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from connectrpc.method import MethodInfo
from connectrpc.request import RequestContext

from ._credentials import Credential, authorization_of
from ._errors import AtriumError
from ._policy import policy_of
from ._retry import wait_before

Q = TypeVar("Q")
R = TypeVar("R")


@dataclass(frozen=True)
class Settings:
    """How calls are made."""

    credential: Credential | None
    timeout: float
    """Seconds of a unary call with all its attempts. Streams have no end of their own."""
    retries: int
    """Attempts after the first."""


class Call:
    """Decides what each attempt sends, and whether there is another one."""

    def __init__(
        self,
        settings: Settings,
        method: MethodInfo[Any, Any],
        headers: MutableMapping[str, str],
        timeout: float | None,
    ) -> None:
        self._headers = headers
        self._policy = policy_of(method.service_name, method.name)
        self._retries = settings.retries
        self._lost = 0
        self._ends_at = None if timeout is None else time.monotonic() + timeout
        presents = self._policy.authenticated and "authorization" not in headers
        self._credential = settings.credential if presents else None
        if self._policy.idempotent and "idempotency-key" not in headers:
            headers["idempotency-key"] = str(uuid.uuid4())

    def present(self) -> None:
        """Adds the credential."""
        token = None if self._credential is None else self._credential.token()
        if isinstance(token, Awaitable):
            raise TypeError("A credential with a coroutine function needs AsyncAtrium.")
        if token is not None:
            self._headers["authorization"] = authorization_of(token)

    async def present_async(self) -> None:
        token = None if self._credential is None else self._credential.token()
        if token is not None and not isinstance(token, str):
            token = await token
        if token is not None:
            self._headers["authorization"] = authorization_of(token)

    def begin_attempt(self) -> float | None:
        """Seconds that are left, which the service is told too."""
        if self._ends_at is None:
            return None
        left_ms = math.ceil((self._ends_at - time.monotonic()) * 1_000)
        if left_ms <= 0:
            raise AtriumError(Code.DEADLINE_EXCEEDED, "Request timed out")
        self._headers["connect-timeout-ms"] = str(left_ms)
        return left_ms / 1_000

    def wait_after(self, error: AtriumError) -> float:
        """Seconds until the next attempt. Raises the error when there is none."""
        wait = wait_before(self._lost, error.retry_after) if self._may_repeat(error) else None
        late = wait is not None and self._ends_at is not None and time.monotonic() + wait >= self._ends_at
        if wait is None or self._lost >= self._retries or late:
            raise error
        self._lost += 1
        return wait

    def _may_repeat(self, error: AtriumError) -> bool:
        policy = self._policy
        if not policy.safe and not (policy.idempotent and "authorization" in self._headers):
            return False
        # The first attempt may still be running, its answer lost: the service then returns 409 for its key.
        running = (
            self._lost > 0 and policy.idempotent and error.status == 409 and error.error_code == "conflict"
        )
        return running or error.transient


class ContextCall(Call):
    """A call that the library makes, in its context."""

    def __init__(self, settings: Settings, context: RequestContext[Any, Any], timeout: float | None) -> None:
        left = timeout if context.timeout_ms is None else context.timeout_ms / 1_000
        super().__init__(settings, context.method, context.request_headers, left)
        self._context = context

    def attempt(self) -> RequestContext[Any, Any]:
        """Context of the next attempt, with the time that is left."""
        left = self.begin_attempt()
        return RequestContext(
            method=self._context.method,
            http_method=self._context.http_method,
            request_headers=self._context.request_headers,
            timeout_ms=None if left is None else round(left * 1_000),
            server_address=self._context.server_address,
        )


class Interceptor:
    """Makes calls of `Atrium`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def _begin(self, context: RequestContext[Any, Any], timeout: float | None) -> ContextCall:
        call = ContextCall(self._settings, context, timeout)
        call.present()
        return call

    def intercept_unary_sync(
        self, call_next: Callable[[Q, RequestContext[Q, R]], R], request: Q, context: RequestContext[Q, R], /
    ) -> R:
        call = self._begin(context, self._settings.timeout)
        while True:
            with ResponseMetadata() as received:
                try:
                    return call_next(request, call.attempt())
                except ConnectError as reason:
                    wait = call.wait_after(AtriumError.of(reason, received.headers))
            time.sleep(wait)

    def intercept_server_stream_sync(
        self, call_next: Callable[[Q, RequestContext[Q, R]], Iterator[R]], request: Q, context: RequestContext[Q, R], /
    ) -> Iterator[R]:
        # A stream is repeated until its first message has come.
        call = self._begin(context, None)
        while True:
            with ResponseMetadata() as received:
                try:
                    messages = iter(call_next(request, call.attempt()))
                    first = next(messages, None)
                    break
                except ConnectError as reason:
                    wait = call.wait_after(AtriumError.of(reason, received.headers))
            time.sleep(wait)
        if first is None:
            return
        yield first
        try:
            yield from messages
        except ConnectError as reason:
            raise AtriumError.of(reason, received.headers) from reason


def _pass_on_cancellation(error: ConnectError) -> None:
    """Raises the cancellation of the task, of which the library makes an error: time-outs and task groups need it."""
    if isinstance(error.__cause__, asyncio.CancelledError):
        raise error.__cause__


class AsyncInterceptor:
    """Makes calls of `AsyncAtrium`."""

    def __init__(self, settings: Settings, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._settings = settings
        self._sleep = sleep

    async def _begin(self, context: RequestContext[Any, Any], timeout: float | None) -> ContextCall:
        call = ContextCall(self._settings, context, timeout)
        await call.present_async()
        return call

    async def intercept_unary(
        self, call_next: Callable[[Q, RequestContext[Q, R]], Awaitable[R]], request: Q, context: RequestContext[Q, R], /
    ) -> R:
        call = await self._begin(context, self._settings.timeout)
        while True:
            with ResponseMetadata() as received:
                try:
                    return await call_next(request, call.attempt())
                except ConnectError as reason:
                    _pass_on_cancellation(reason)
                    wait = call.wait_after(AtriumError.of(reason, received.headers))
            await self._sleep(wait)

    async def intercept_server_stream(
        self,
        call_next: Callable[[Q, RequestContext[Q, R]], AsyncIterator[R]],
        request: Q,
        context: RequestContext[Q, R],
        /,
    ) -> AsyncIterator[R]:
        call = await self._begin(context, None)
        while True:
            with ResponseMetadata() as received:
                try:
                    messages = call_next(request, call.attempt())
                    first = await anext(messages, None)
                    break
                except ConnectError as reason:
                    _pass_on_cancellation(reason)
                    wait = call.wait_after(AtriumError.of(reason, received.headers))
            await self._sleep(wait)
        if first is None:
            return
        yield first
        try:
            async for message in messages:
                yield message
        except ConnectError as reason:
            _pass_on_cancellation(reason)
            raise AtriumError.of(reason, received.headers) from reason
