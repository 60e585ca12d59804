"""Public keys of organizations, fetched from one service and kept as long as it says."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from jwt import PyJWK
from pyqwest import SyncClient

from ._lru import Lru
from ._refusals import TokenRefusal

# Of those that exist, and again of those of which that is not known.
MAX_ORGANIZATIONS = 1_000
# Requests for organizations that may not exist: at once, and a second. The service allows 600 a minute in all.
UNKNOWN_AT_ONCE = 100
UNKNOWN_A_SECOND = 5
# An unknown key, or a failure, is asked about once in this time. Seconds.
PAUSE = 30.0
DEFAULT_MAX_AGE = 300.0
LONGEST_MAX_AGE = 86_400.0
# How long known keys are used while the service cannot be reached.
STALE = 3_600.0
TIMEOUT = 5.0
MAX_BYTES = 256 * 1024


@dataclass
class _Slot:
    lock: Lock = field(default_factory=Lock)
    exists: bool = False
    """The service knows the organization. Until then anybody may have invented it: no signature was checked yet."""
    keys: dict[str, PyJWK] | None = None
    fresh_until: float = 0.0
    failed_at: float = float("-inf")
    missed_at: float = float("-inf")
    """When an unknown key was last looked for in a set that was fetched for it."""


class _Allowance:
    """A token bucket."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = float(UNKNOWN_AT_ONCE)
        self._at = clock()
        self._lock = Lock()

    def take(self) -> bool:
        """Whether one more request may be made."""
        with self._lock:
            now = self._clock()
            self._left = min(UNKNOWN_AT_ONCE, self._left + (now - self._at) * UNKNOWN_A_SECOND)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True


class KeySets:
    """Fetches key sets; one request at a time for an organization, which the others wait for."""

    def __init__(
        self, base_url: str, client: SyncClient, *, any_org: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """
        Args:
            any_org: Tokens of any organization are asked for, also of such as do not exist.
        """
        self._base_url = base_url
        self._client = client
        self._any_org = any_org
        self._clock = clock
        self._slots: Lru[str, _Slot] = Lru(MAX_ORGANIZATIONS)
        self._unproven: Lru[str, _Slot] = Lru(MAX_ORGANIZATIONS)
        self._allowance = _Allowance(clock)

    def find(self, org_uuid: str, kid: str) -> PyJWK | None:
        """Returns None for an unknown key. Raises `TokenRefusal` (`unavailable`) when the keys cannot be fetched."""
        slot = self._slots.get(org_uuid) or self._unproven.setdefault(org_uuid, _Slot())
        keys = slot.keys
        if keys is not None and self._clock() < slot.fresh_until and kid in keys:
            return keys[kid]
        with slot.lock:
            now = self._clock()
            failed = now - slot.failed_at < PAUSE
            if slot.keys is None and failed:
                raise TokenRefusal("unavailable", "The keys of the organization could not be fetched a moment ago.")
            is_due = slot.keys is None or (now >= slot.fresh_until and not failed)
            if is_due:
                self._refresh(org_uuid, slot)
            known = (slot.keys or {}).get(kid)
            # A key made after the set was fetched verifies at once; a flood of invented ones costs one request.
            if known is not None or failed or self._clock() - slot.missed_at < PAUSE:
                return known
            slot.missed_at = self._clock()
            if is_due:
                return None
            self._refresh(org_uuid, slot)
            return (slot.keys or {}).get(kid)

    def _refresh(self, org_uuid: str, slot: _Slot) -> None:
        if self._any_org and not slot.exists and not self._allowance.take():
            raise TokenRefusal("unavailable", "Too many organizations are asked for that are not known here.")
        try:
            slot.keys, age = self._load(org_uuid, slot)
            slot.fresh_until = self._clock() + age
        except Exception as cause:
            slot.failed_at = self._clock()
            if slot.keys is None or self._clock() >= slot.fresh_until + STALE:
                raise TokenRefusal("unavailable", "The keys of the organization cannot be fetched.") from cause

    def _load(self, org_uuid: str, slot: _Slot) -> tuple[dict[str, PyJWK], float]:
        url = f"{self._base_url}/api/organizations/{org_uuid}/.well-known/jwks.json"
        body = bytearray()
        with self._client.stream("GET", url, timeout=TIMEOUT) as response:
            # There is no such organization: no key of it is known.
            if response.status == 404:
                return {}, PAUSE
            if response.status != 200:
                raise ValueError(f"{url} returned {response.status}")
            cache_control = response.headers.get("cache-control")
            for part in response.content:
                body += part
                if len(body) > MAX_BYTES:
                    raise ValueError(f"{url} is larger than {MAX_BYTES} bytes")
        document = json.loads(bytes(body))
        if not isinstance(document, dict) or not isinstance(document.get("keys"), list):
            raise ValueError(f"{url} is not a JWK set")
        if not slot.exists:
            slot.exists = True
            self._slots.set(org_uuid, slot)
            self._unproven.delete(org_uuid)
        return dict(key for key in map(_public_key, document["keys"]) if key is not None), _max_age(cache_control)


def _public_key(jwk: Any) -> tuple[str, PyJWK] | None:
    """Keys that are malformed, or of an algorithm that is not known here, are left out."""
    if not isinstance(jwk, dict):
        return None
    kid, alg = jwk.get("kid"), jwk.get("alg")
    if not isinstance(kid, str) or not isinstance(alg, str) or alg.startswith("HS") or jwk.get("kty") == "oct":
        return None
    try:
        return kid, PyJWK.from_dict(jwk)
    except Exception:
        # Besides its own errors, the library raises others for such keys.
        return None


def _max_age(cache_control: str | None) -> float:
    found = re.search(r"(?:^|,)\s*max-age=([0-9]{1,9})", cache_control or "", re.IGNORECASE)
    return DEFAULT_MAX_AGE if found is None else min(float(found[1]), LONGEST_MAX_AGE)
