from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar, cast, overload

from google.protobuf.message import Message

from atrium.options.v1 import options_pb2

# Lists that are read by offset end here.
MAX_OFFSET = 10_000

Q = TypeVar("Q", bound=Message)
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Page(Protocol[T_co]):
    """A page as lists return it."""

    @property
    def data(self) -> Sequence[T_co]: ...


class _Reader(Generic[T]):
    """Where a list goes on; the call itself is made by who reads."""

    def __init__(self, request: Message) -> None:
        # Fields of a list's request, which the type of messages in general does not name.
        self.request = cast("Any", type(request)())
        self.request.CopyFrom(request)
        fields = request.DESCRIPTOR.fields_by_name
        limit = fields.get("limit")
        if limit is not None and not self.request.limit:
            most = limit.GetOptions().Extensions[options_pb2.rules].max
            if most:
                self.request.limit = int(most)
        self.by_cursor = "cursor" in fields
        if self.by_cursor and not self.request.HasField("cursor"):
            self.request.cursor = ""
        self.cursor: str | None = None

    def more(self, page: Any) -> bool:
        """Whether there is another page; the request then asks for it."""
        if self.by_cursor:
            self.cursor = page.next_cursor or None
            if self.cursor is not None:
                self.request.cursor = self.cursor
            return self.cursor is not None
        count = len(page.data)
        size = getattr(page, "limit", 0) or getattr(self.request, "limit", 0) or count
        if count == 0 or count < size or "offset" not in self.request.DESCRIPTOR.fields_by_name:
            return False
        self.request.offset += count
        if self.request.offset > MAX_OFFSET:
            raise ValueError(
                f"The list has more than {self.request.offset} items, and no cursor: narrow the request by a filter."
            )
        return True


class Pages(Generic[T]):
    """Items of a list, page by page as they are read."""

    def __init__(self, call: Callable[[Any], Page[T]], request: Message) -> None:
        self._call = call
        self._request = request
        self._reader: _Reader[T] | None = None

    @property
    def cursor(self) -> str | None:
        """
        Where the page after the one last fetched begins: pass it as `cursor` in the request to go on later. None before
        the first page, at the end, and for lists without cursors.
        """
        return None if self._reader is None else self._reader.cursor

    def __iter__(self) -> Iterator[T]:
        reader = self._reader = _Reader[T](self._request)
        while True:
            page = self._call(reader.request)
            again = reader.more(page)
            yield from page.data
            if not again:
                return


class AsyncPages(Generic[T]):
    """Items of a list for `async for`."""

    def __init__(self, call: Callable[[Any], Awaitable[Page[T]]], request: Message) -> None:
        self._call = call
        self._request = request
        self._reader: _Reader[T] | None = None

    @property
    def cursor(self) -> str | None:
        """As `Pages.cursor`."""
        return None if self._reader is None else self._reader.cursor

    async def __aiter__(self) -> AsyncIterator[T]:
        reader = self._reader = _Reader[T](self._request)
        while True:
            page = await self._call(reader.request)
            again = reader.more(page)
            for item in page.data:
                yield item
            if not again:
                return


@overload
def paginate(call: Callable[[Q], Awaitable[Page[T]]], request: Q) -> AsyncPages[T]: ...
@overload
def paginate(call: Callable[[Q], Page[T]], request: Q) -> Pages[T]: ...
def paginate(
    call: Callable[[Q], Page[T]] | Callable[[Q], Awaitable[Page[T]]], request: Q
) -> Pages[T] | AsyncPages[T]:
    """
    Reads a list to its end: by cursor where the list has one, else by offset. All other parameters of the request are
    kept; pages are as large as the list allows, unless the request says otherwise.
    """
    if inspect.iscoroutinefunction(call):
        return AsyncPages(cast("Callable[[Any], Awaitable[Page[T]]]", call), request)
    return Pages(cast("Callable[[Any], Page[T]]", call), request)
