from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, cast

from standardwebhooks.webhooks import EmptyWebhookSecretError, Webhook, WebhookVerificationError

_SIGNED = ("webhook-id", "webhook-timestamp", "webhook-signature")


class WebhookRefusal(Exception):
    """Why a request is not an event of the service."""

    status = 401
    """What to respond."""


class WebhookEvent(TypedDict):
    """What a webhook receives. Types that a later service sends are passed on as they are."""

    type: str
    timestamp: str
    """When it happened, RFC 3339."""
    id: str
    """The same in every attempt: what is received twice has the id of the first."""
    org_uuid: str
    data: dict[str, Any]


def webhooks_of(secrets: str | Sequence[str]) -> list[Webhook]:
    """Raises `ValueError` when there is no secret, or one that is empty, with which anybody could sign."""
    given = [secrets] if isinstance(secrets, str) else list(secrets)
    if not given:
        raise ValueError("A webhook secret is required.")
    try:
        return [Webhook(secret) for secret in given]
    except (EmptyWebhookSecretError, ValueError) as cause:
        raise ValueError("A webhook secret is empty or not base64; give it as the service returned it.") from cause


def verify_delivery(secrets: str | Sequence[str], body: bytes | str, headers: Mapping[str, str]) -> str:
    """Verifies a signature (Standard Webhooks, at most 300 seconds off) and returns the id of the message."""
    if not isinstance(body, bytes | str):
        raise TypeError("The body was parsed: pass the raw bytes, which the signature covers.")
    given = {name.lower(): value for name, value in headers.items()}
    signed = {name: given[name] for name in _SIGNED if name in given}
    reason: Exception | None = None
    for webhook in webhooks_of(secrets):
        try:
            webhook.verify(body, signed, json_parse=False)
            return signed["webhook-id"]
        except (WebhookVerificationError, ValueError) as error:
            # Malformed signatures and bodies are ValueErrors.
            reason = error
    raise WebhookRefusal("The signature is missing, wrong or too old.") from reason


def verify_webhook(secrets: str | Sequence[str], body: bytes | str, headers: Mapping[str, str]) -> WebhookEvent:
    """
    The event of a delivery. Raises `WebhookRefusal`; `TypeError` when the body was parsed before; `ValueError` when
    there is no secret, or one that is empty or not base64.

    Args:
        secrets: The secret of the webhook; while it is rotated, the old one too.
        body: The body as it came.
        headers: Headers of the request, in any case.
    """
    verify_delivery(secrets, body, headers)
    try:
        return cast(WebhookEvent, json.loads(body))
    except ValueError as cause:
        raise WebhookRefusal("The body is not JSON.") from cause
