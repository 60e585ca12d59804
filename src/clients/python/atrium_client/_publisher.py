from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from itertools import count
from threading import Lock
from typing import Any, Literal, Protocol
from urllib.parse import quote

from connectrpc.code import Code
from connectrpc.errors import ErrorDetail
from google.rpc import error_details_pb2
from protobuf.wkt import Any as AnyMessage
from pyqwest import FullResponse, SyncClient, SyncHTTPTransport
from standardwebhooks.webhooks import Webhook

from ._errors import AtriumError
from ._lru import Lru
from ._retry import wait_before
from ._webhooks import WebhookRefusal, verify_delivery, webhooks_of

# A report is sent again for so long: a restart or a fail-over of the service is over by then. Seconds.
REPORT = 600.0
LONGEST_WAIT = 30.0
TIMEOUT = 10.0
SEEN = 1_000

# Connect codes of the statuses with which a report is refused.
_CODES = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    409: Code.FAILED_PRECONDITION,
    429: Code.RESOURCE_EXHAUSTED,
    503: Code.UNAVAILABLE,
    504: Code.DEADLINE_EXCEEDED,
}


@dataclass(frozen=True)
class CloudTarget:
    provider: str
    region: str


@dataclass(frozen=True)
class Active:
    """The install is ready."""

    endpoint_url: str | None = None
    message: str | None = None
    cloud_target: CloudTarget | None = None


@dataclass(frozen=True)
class Accepted:
    """It is being worked on; `report` tells the outcome."""


@dataclass(frozen=True)
class Refused:
    """It will not be provisioned."""

    message: str


@dataclass(frozen=True)
class Answer:
    """What to respond to a message."""

    status: int
    body: str = ""


class SeenMessages(Protocol):
    """Remembers responses by the id of the message, so that a message that comes again has no second effect."""

    def get(self, key: str) -> Answer | None: ...
    def set(self, key: str, value: Answer) -> None: ...


Notice = Mapping[str, Any]


class Publisher:
    """
    The server of an app: `handle` responds to its `provision_webhook`, in any framework; `report` tells the service
    what became of an install. It may be used by many threads at once.
    """

    def __init__(
        self,
        secret: str | Sequence[str],
        base_url: str,
        *,
        provision: Callable[[Notice], Active | Accepted | Refused],
        deprovision: Callable[[Notice], Accepted | None],
        suspend: Callable[[Notice], None] | None = None,
        resume: Callable[[Notice], None] | None = None,
        seen: SeenMessages | None = None,
    ) -> None:
        """
        Args:
            secret: The app's provision secret; while it is rotated, the new one and then the old one.
            base_url: Where the service is.
            deprovision: None: it is over. `Accepted`: `report` tells when.
            seen: Default: the last 1,000 in memory, which suits one instance.

        Raises `ValueError` when there is no secret, or one that is empty or not base64.
        """
        webhooks_of(secret)
        self._secrets = [secret] if isinstance(secret, str) else list(secret)
        self._base_url = base_url.rstrip("/")
        self._seen: SeenMessages = Lru[str, Answer](SEEN) if seen is None else seen
        self._locks: Lru[str, Lock] = Lru(SEEN)
        self._transport = SyncHTTPTransport(tls_include_system_certs=True, follow_redirects=False)
        self._client = SyncClient(self._transport)
        self._handlers: dict[str, Callable[[Notice], Answer]] = {
            "install.provisioning": lambda notice: _answer_of(provision(notice)),
            "install.deprovisioning": lambda notice: Answer(200 if deprovision(notice) is None else 202),
            "install.suspended": lambda notice: _done(suspend, notice),
            "install.resumed": lambda notice: _done(resume, notice),
        }

    def handle(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """
        Verifies a message and calls its handler, once for each message. What a handler raises is passed on: respond
        with 500, and the service sends the message again.
        """
        try:
            message_id = verify_delivery(self._secrets, body, headers)
        except WebhookRefusal as refusal:
            return Answer(refusal.status)
        # A message that comes again while it is handled waits for the same answer.
        with self._locks.get(message_id) or self._locks.setdefault(message_id, Lock()):
            given = self._seen.get(message_id)
            if given is not None:
                return given
            message = json.loads(body)
            handler = self._handlers.get(message["type"])
            # A later service may send more types; they need no action.
            answer = Answer(200) if handler is None else handler(message["data"])
            self._seen.set(message_id, answer)
            return answer

    def report(
        self,
        install_id: str,
        status: Literal["active", "failed", "deprovisioned"],
        *,
        endpoint_url: str | None = None,
        message: str | None = None,
        cloud_target: CloudTarget | None = None,
    ) -> None:
        """
        Reports the outcome of what was accepted before, again for ten minutes while the service is busy or away. Raises
        `AtriumError` when it was not taken: report it later, or it is lost.
        """
        outcome = {
            "status": status,
            "endpoint_url": endpoint_url,
            "message": message,
            "cloud_target": None if cloud_target is None else asdict(cloud_target),
        }
        body = json.dumps({name: value for name, value in outcome.items() if value is not None})
        ends_at = time.monotonic() + REPORT
        for lost in count():
            error = self._post(install_id, f"msg_{install_id}_{status}", body)
            if error is None:
                return
            left = ends_at - time.monotonic()
            repeated = error.transient or error.status >= 500
            wait = wait_before(lost, error.retry_after, left, LONGEST_WAIT) if repeated else None
            if wait is None or wait > left:
                raise error
            time.sleep(wait)

    def close(self) -> None:
        self._transport.close()

    def _post(self, install_id: str, message_id: str, body: str) -> AtriumError | None:
        now = datetime.now(tz=timezone.utc)
        headers = {
            "content-type": "application/json",
            "webhook-id": message_id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(self._secrets[0]).sign(message_id, now, body),
        }
        url = f"{self._base_url}/api/marketplace/installs/{quote(install_id, safe='')}/provisioning"
        try:
            response = self._client.post(url, headers=headers, content=body.encode(), timeout=TIMEOUT)
        except Exception as cause:
            error = AtriumError(Code.UNAVAILABLE, str(cause))
            error.__cause__ = cause
            return error
        return None if 200 <= response.status < 300 else _refusal_of(response)


def _refusal_of(response: FullResponse) -> AtriumError:
    try:
        problem = json.loads(response.content)
    except ValueError:
        # Something between the service and here responded.
        problem = None
    code = problem.get("code") if isinstance(problem, dict) else None
    info = error_details_pb2.ErrorInfo(
        reason=str(code or "").upper(), domain="atrium", metadata={"http_status": str(response.status)}
    )
    packed = AnyMessage(type_url=f"type.googleapis.com/{info.DESCRIPTOR.full_name}", value=info.SerializeToString())
    message = problem.get("message") if isinstance(problem, dict) else None
    # What is no error of the service, such as a page of a proxy, is refused or lost by its status alone.
    otherwise = Code.INVALID_ARGUMENT if response.status < 500 else Code.UNKNOWN
    return AtriumError(
        _CODES.get(response.status, otherwise),
        str(message or f"HTTP {response.status}"),
        [] if code is None else [ErrorDetail(packed)],
        dict(response.headers.items()),
    )


def _done(work: Callable[[Notice], None] | None, notice: Notice) -> Answer:
    if work is not None:
        work(notice)
    return Answer(200)


def _answer_of(outcome: Active | Accepted | Refused) -> Answer:
    match outcome:
        case Accepted():
            return Answer(202)
        case Refused(message):
            return Answer(422, json.dumps({"message": message}))
        case Active():
            given = {name: value for name, value in asdict(outcome).items() if value is not None}
            return Answer(200, json.dumps(given))
