from __future__ import annotations

import random
import re
from datetime import timezone
from email.utils import parsedate_to_datetime

FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0
# A service that asks for more than this is not waited for. Seconds.
LONGEST_ASKED_WAIT = 30.0


def retry_after_of(value: str | None, now: float) -> float | None:
    """Reads `Retry-After` in both forms of RFC 9110 §10.2.3. What is neither counts as absent."""
    text = (value or "").strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    if not re.match(r"[A-Za-z]{3}", text):
        return None
    try:
        at = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    return max(0.0, (at if at.tzinfo else at.replace(tzinfo=timezone.utc)).timestamp() - now)


def wait_before(
    attempt: int,
    retry_after: float | None,
    longest_asked: float = LONGEST_ASKED_WAIT,
    longest: float = LONGEST_WAIT,
) -> float | None:
    """
    Seconds before the next attempt: full jitter up to `longest`, and at least as long as the service asked. None when
    it asked for more than `longest_asked`.
    """
    if retry_after is not None and retry_after > longest_asked:
        return None
    return (retry_after or 0.0) + random.uniform(0, min(longest, FIRST_WAIT * 2 ** min(attempt, 10)))
