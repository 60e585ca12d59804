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
        begins_at_offset = "offset" in fields and self.request.offset > 0
        self.by_cursor = "cursor" in fields and (self.request.cursor != "" or not begins_at_offset)
        if self.by_cursor:
            # An empty one asks for cursors.
            self.request.cursor = self.request.cursor
        self.cursor: str | None = None

    def items(self, page: Any) -> Iterator[T]:
        """Those of a page; the cursor leads to that page until the last one is given."""
        following = getattr(page, "next_cursor", "") or None
        self.cursor = (self.request.cursor or None) if self.by_cursor and page.data else following
        for nth, item in enumerate(page.data, 1):
            if nth == len(page.data):
                self.cursor = following
            yield item

    def more(self, page: Any) -> bool:
        """Whether there is another page; the request then asks for it."""
        if self.by_cursor:
            if page.next_cursor:
                self.request.cursor = page.next_cursor
            return bool(page.next_cursor)
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
        Where to go on later: pass it as `cursor` in the request. A loop that is left within a page begins that page
        again. None before and within the first page, at the end, and for lists without cursors.
        """
        return None if self._reader is None else self._reader.cursor

    def __iter__(self) -> Iterator[T]:
        reader = self._reader = _Reader[T](self._request)
        while True:
            page = self._call(reader.request)
            yield from reader.items(page)
            if not reader.more(page):
                return


async def _read_async(call: Callable[[Any], Awaitable[Page[T]]], reader: _Reader[T]) -> AsyncIterator[T]:
    while True:
        page = await call(reader.request)
        for item in reader.items(page):
            yield item
        if not reader.more(page):
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

    def __aiter__(self) -> AsyncIterator[T]:
        self._reader = _Reader[T](self._request)
        return _read_async(self._call, self._reader)


class _EitherPages(Pages[T]):
    """Of a function that does not tell before it is called whether it returns a page or an awaitable of one."""

    def __aiter__(self) -> AsyncIterator[T]:
        self._reader = _Reader[T](self._request)
        return _read_async(cast("Callable[[Any], Awaitable[Page[T]]]", self._call), self._reader)


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
    return _EitherPages(cast("Callable[[Any], Page[T]]", call), request)
