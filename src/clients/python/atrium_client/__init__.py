"""Client of Atrium: calls, token verification, webhooks, apps."""

from atrium.error_codes import ErrorCode

from ._client import AsyncAtrium, Atrium
from ._credentials import Credential, api_key, bearer
from ._errors import AtriumError, Violation
from ._pages import AsyncPages, Pages, paginate
from ._publisher import Accepted, Active, Answer, CloudTarget, Publisher, Refused, SeenMessages
from ._refusals import TokenRefusal
from ._verifier import Caller, Verifier, require
from ._webhooks import WebhookEvent, WebhookRefusal, verify_webhook

__all__ = [
    "Accepted",
    "Active",
    "Answer",
    "AsyncAtrium",
    "AsyncPages",
    "Atrium",
    "AtriumError",
    "Caller",
    "CloudTarget",
    "Credential",
    "ErrorCode",
    "Pages",
    "Publisher",
    "Refused",
    "SeenMessages",
    "TokenRefusal",
    "Verifier",
    "Violation",
    "WebhookEvent",
    "WebhookRefusal",
    "api_key",
    "bearer",
    "paginate",
    "require",
    "verify_webhook",
]
