from __future__ import annotations

from typing import Literal, TypeAlias

RefusalCode: TypeAlias = Literal["unauthorized", "forbidden", "step_up_required", "unavailable"]

_STATUS: dict[RefusalCode, int] = {"unauthorized": 401, "forbidden": 403, "step_up_required": 403, "unavailable": 503}
_TITLE = {401: "Unauthorized", 403: "Forbidden", 503: "Service Unavailable"}


class TokenRefusal(Exception):
    """A token that was not accepted, or not enough for what was asked."""

    def __init__(self, error_code: RefusalCode, message: str) -> None:
        super().__init__(message)
        self.error_code = error_code
        self.message = message
        self.status = _STATUS[error_code]
        """HTTP status: 401, 403 or 503."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of the response: the challenge of RFC 6750, and of RFC 9470 for a step-up."""
        headers = {"content-type": "application/json", "cache-control": "no-store"}
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        if self.error_code == "step_up_required":
            headers["www-authenticate"] = (
                'Bearer error="insufficient_user_authentication", '
                'error_description="A step-up is required", max_age=900'
            )
        if self.status == 503:
            headers["retry-after"] = "1"
        return headers

    @property
    def problem(self) -> dict[str, str | int]:
        """Body of the response, in the form of the service's own errors (RFC 9457)."""
        return {
            "code": self.error_code,
            "message": self.message,
            "type": f"urn:atrium:error:{self.error_code}",
            "title": _TITLE[self.status],
            "status": self.status,
            "detail": self.message,
        }
