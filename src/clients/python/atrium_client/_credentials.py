from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

Token = str | None


@dataclass(frozen=True)
class Credential:
    """What a client presents with its calls."""

    token: Callable[[], Token | Awaitable[Token]] = field(repr=False)


def authorization_of(token: str) -> str:
    """The header for a token, without white space around it, such as the end of a file's line."""
    text = token.strip()
    if re.fullmatch(r"[ -~\x80-\xff]*", text) is None:
        # Whoever sends the header would name it in the error.
        raise ValueError("The token has characters that no header can carry.")
    return f"Bearer {text}"


def bearer(token: str | Callable[[], Token | Awaitable[Token]]) -> Credential:
    """An access token, or a function that returns the present one; a coroutine function suits `AsyncAtrium` alone."""
    return Credential((lambda: token) if isinstance(token, str) else token)


def api_key(secret: str) -> Credential:
    """An API key, an automation token or a SCIM token."""
    return Credential(lambda: secret)
