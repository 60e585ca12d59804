from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from connectrpc.code import Code
from connectrpc.errors import ConnectError, ErrorDetail
from google.protobuf.message import DecodeError
from google.rpc import error_details_pb2

from atrium.error_codes import ErrorCode

from ._retry import retry_after_of

# What an error is called when the service did not name it: the call did not reach it, or not in time.
_BY_CODE: dict[Code, ErrorCode] = {
    Code.CANCELED: "canceled",
    Code.DEADLINE_EXCEEDED: "deadline_exceeded",
    Code.UNAUTHENTICATED: "unauthorized",
    Code.PERMISSION_DENIED: "forbidden",
    Code.NOT_FOUND: "not_found",
    Code.UNIMPLEMENTED: "unimplemented",
    Code.UNAVAILABLE: "unavailable",
    Code.RESOURCE_EXHAUSTED: "rate_limited",
}


@dataclass(frozen=True)
class Violation:
    """One field of a request that broke a rule of the contract."""

    field: str
    code: str
    """Which rule: `required`, `max_len`, …"""
    message: str


class AtriumError(ConnectError):
    """Every failure of a call: a `ConnectError` with what the service says besides the code of the protocol."""

    error_code: ErrorCode | str
    """Code of the service, such as `step_up_required`; `unavailable` when the service was not reached."""
    status: int
    """HTTP status of the error over REST; 0 when the service sent no error."""
    request_id: str | None
    """Id under which the service logged the call."""
    retry_after: float | None
    """How long the service asked to wait, in seconds."""
    violations: tuple[Violation, ...]
    """Fields that broke a rule; empty unless the request was not valid."""

    def __init__(
        self,
        code: Code,
        message: str,
        details: Iterable[ErrorDetail] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(code, message, details)
        info, request = _details_of(self.details)
        received = headers or {}
        self.error_code = info.reason.lower() if info is not None else _BY_CODE.get(code, "internal")
        self.status = int(info.metadata.get("http_status", "0")) if info is not None else 0
        self.request_id = received.get("x-request-id")
        self.retry_after = retry_after_of(received.get("retry-after"), time.time())
        self.violations = tuple(
            Violation(entry.field, entry.reason.lower(), entry.description) for entry in request.field_violations
        )

    @classmethod
    def of(cls, reason: ConnectError, headers: Mapping[str, str]) -> AtriumError:
        """Returns an `AtriumError` as it is, and makes one of another error."""
        return reason if isinstance(reason, AtriumError) else cls(reason.code, reason.message, reason.details, headers)

    @property
    def transient(self) -> bool:
        """Whether the same request may succeed a moment later: it did not arrive, or the service was busy or away."""
        if self.code in (Code.UNAVAILABLE, Code.ABORTED):
            # A conflict of versions stays one until the caller reads the new version.
            return self.error_code != "version_conflict" and self.status != 502
        if self.code is Code.RESOURCE_EXHAUSTED:
            return self.status in (429, 0)
        if self.code is Code.DEADLINE_EXCEEDED:
            return self.status == 504
        # Broken connections and truncated bodies; the service's own errors have a status.
        return self.code in (Code.UNKNOWN, Code.INTERNAL) and self.status == 0


def _details_of(
    details: Iterable[ErrorDetail],
) -> tuple[error_details_pb2.ErrorInfo | None, error_details_pb2.BadRequest]:
    info: error_details_pb2.ErrorInfo | None = None
    request = error_details_pb2.BadRequest()
    for detail in details:
        try:
            if detail.type_name == "google.rpc.ErrorInfo" and info is None:
                info = error_details_pb2.ErrorInfo.FromString(detail.message_bytes)
            elif detail.type_name == "google.rpc.BadRequest":
                request.MergeFromString(detail.message_bytes)
        except DecodeError:
            continue
    return info, request
