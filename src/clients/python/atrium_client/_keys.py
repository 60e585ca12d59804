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

MAX_ORGANIZATIONS = 1_000
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
    keys: dict[str, PyJWK] | None = None
    fresh_until: float = 0.0
    failed_at: float = float("-inf")
    missed_at: float = float("-inf")
    """When the set was last fetched because of an unknown key."""


class KeySets:
    """Fetches key sets; one request at a time for an organization, which the others wait for."""

    def __init__(self, base_url: str, client: SyncClient, clock: Callable[[], float] = time.monotonic) -> None:
        self._base_url = base_url
        self._client = client
        self._clock = clock
        self._slots: Lru[str, _Slot] = Lru(MAX_ORGANIZATIONS)

    def find(self, org_uuid: str, kid: str) -> PyJWK | None:
        """Returns None for an unknown key. Raises `TokenRefusal` (`unavailable`) when the keys cannot be fetched."""
        slot = self._slots.get(org_uuid) or self._slots.setdefault(org_uuid, _Slot())
        keys = slot.keys
        if keys is not None and self._clock() < slot.fresh_until and kid in keys:
            return keys[kid]
        with slot.lock:
            now = self._clock()
            failed = now - slot.failed_at < PAUSE
            if slot.keys is None and failed:
                raise TokenRefusal("unavailable", "The keys of the organization could not be fetched a moment ago.")
            fetched = slot.keys is None or (now >= slot.fresh_until and not failed)
            if fetched:
                self._refresh(org_uuid, slot)
            known = (slot.keys or {}).get(kid)
            # A key made after the set was fetched verifies at once; a flood of invented ones costs one request.
            if known is not None or failed or self._clock() - slot.missed_at < PAUSE:
                return known
            slot.missed_at = self._clock()
            self._refresh(org_uuid, slot)
            return (slot.keys or {}).get(kid)

    def _refresh(self, org_uuid: str, slot: _Slot) -> None:
        try:
            slot.keys, age = self._load(org_uuid)
            slot.fresh_until = self._clock() + age
        except Exception as cause:
            slot.failed_at = self._clock()
            if slot.keys is None or self._clock() >= slot.fresh_until + STALE:
                raise TokenRefusal("unavailable", "The keys of the organization cannot be fetched.") from cause

    def _load(self, org_uuid: str) -> tuple[dict[str, PyJWK], float]:
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
