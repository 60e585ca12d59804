from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jwt
from connectrpc.code import Code
from connectrpc.errors import ConnectError
from pyqwest import SyncClient, SyncHTTPTransport

from atrium.access.v1 import access_pb2

from ._client import Atrium
from ._keys import KeySets
from ._lru import Lru
from ._refusals import TokenRefusal

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_BEARER = re.compile(r"Bearer +([^\s]+)", re.IGNORECASE)
# What a key or an automation token may consist of; the service is not asked about anything else.
_OPAQUE = re.compile(r"[!-~]{1,1000}")
MAX_TOKEN_LENGTH = 16_384
MAX_TOKENS = 10_000
# A token is verified again after this time, so that one of a key that was withdrawn ends with its key set. Seconds.
VERIFIED = 300.0
# A token from further in the future shows that a clock is wrong.
AHEAD = 60.0


@dataclass(frozen=True)
class Caller:
    """Who a token speaks for, and what it says they may do."""

    user_uuid: str | None
    """Id of the person; None for a key or an automation token."""
    org_uuid: str
    org_name: str
    roles: tuple[str, ...]
    entitlements: tuple[str, ...]
    """Features of the organization's plan, and `app:<slug>` for its active installs."""
    app_admin: tuple[str, ...]
    """Ids of the apps that the caller administers."""
    platform_admin: bool
    sandbox: bool
    elevated: bool
    """Whether the token comes from a step-up."""
    session_id: str | None
    """Id of the session; None for a key or an automation token."""
    principal: tuple[str, str] | None = None
    """Type and id of the credential, where it is not a person's token."""
    claims: Mapping[str, Any] = field(default_factory=dict)
    """All claims; empty for a key or an automation token."""
    scopes: tuple[str, ...] | None = None
    """
    Scopes in force, where the service was asked; None otherwise. An API key has the roles and apps of its maker, and
    what they allow only as far as its scopes say.
    """


class Verifier:
    """
    Verifies access tokens with the published keys of their organizations, without a request for each: a token that was
    revoked passes until it expires, unless `introspect` is set. It may be used by many threads at once.
    """

    def __init__(
        self,
        issuer: str,
        *,
        base_url: str | None = None,
        orgs: Collection[str] | None = None,
        max_age: float | None = None,
        introspect: bool = False,
    ) -> None:
        """
        Args:
            issuer: `SERVICE_BASE_URL` of the service: the `iss` of its tokens.
            base_url: Where the service is reached from here; default: at its issuer. Keys are fetched from nowhere
                else.
            orgs: Organizations that are served here; default: all. Tokens that name others cost no request.
            max_age: Longest time since a token was issued, in seconds; default: until it expires.
            introspect: Asks the service about every credential, so that one that was revoked is refused at once and API
                keys are accepted too.
        """
        self._issuer = issuer
        self._orgs = None if orgs is None else frozenset(org.lower() for org in _names("orgs", orgs))
        self._max_age = max_age
        self._introspect = introspect
        address = (base_url or issuer).rstrip("/")
        transport = SyncHTTPTransport(tls_include_system_certs=True, follow_redirects=False)
        client = SyncClient(transport)
        self._keys = KeySets(address, client, any_org=orgs is None)
        self._service = Atrium(address, http_client=client)
        self._seen: Lru[str, tuple[Caller, float]] = Lru(MAX_TOKENS)

    def verify(self, token: str) -> Caller:
        """Raises `TokenRefusal`."""
        return self.introspect(token) if self._introspect else self._offline(token)

    def introspect(self, token: str) -> Caller:
        """Verifies, and asks the service now whatever the options say. Raises `TokenRefusal`."""
        base = self._offline(token) if token.count(".") == 2 else None
        if base is None and _OPAQUE.fullmatch(token) is None:
            raise TokenRefusal("unauthorized", "This is not a credential of the service.")
        try:
            me = self._service.access.get_me(
                access_pb2.GetMeRequest(), headers={"authorization": f"Bearer {token}"}
            )
        except ConnectError as error:
            if error.code is Code.UNAUTHENTICATED:
                raise TokenRefusal("unauthorized", "The service does not accept the credential.") from error
            raise TokenRefusal("unavailable", "The service cannot be asked about the credential.") from error
        if self._orgs is not None and me.org_uuid not in self._orgs:
            raise TokenRefusal("unauthorized", "The credential is of an organization that is not served here.")
        present = Caller(
            user_uuid=me.user_uuid if me.HasField("user_uuid") else None,
            org_uuid=me.org_uuid,
            org_name=me.org_name,
            roles=tuple(me.roles),
            entitlements=tuple(me.entitlements),
            app_admin=tuple(me.app_admin),
            platform_admin=me.platform_admin,
            sandbox=me.sandbox,
            elevated=False,
            session_id=None,
            principal=(me.principal.type, me.principal.id) if me.HasField("principal") else None,
            scopes=tuple(me.scopes),
        )
        if base is None:
            return present
        return replace(present, elevated=base.elevated, session_id=base.session_id, claims=base.claims)

    def authenticate(self, authorization: str | None) -> Caller:
        """The caller of an `Authorization` header. Raises `TokenRefusal`."""
        found = _BEARER.fullmatch(authorization or "")
        if found is None:
            raise TokenRefusal("unauthorized", "A token is required; send it as Authorization: Bearer.")
        return self.verify(found[1])

    def _offline(self, token: str) -> Caller:
        known = self._seen.get(token)
        if known is not None and time.time() < known[1]:
            return known[0]
        kid, org = self._address_of(token)
        key = self._keys.find(org, kid)
        if key is None:
            raise TokenRefusal("unauthorized", "The token is signed by a key that its organization does not publish.")
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                issuer=self._issuer,
                options={"require": ["exp", "iat", "jti", "sub"], "verify_aud": False, "verify_iat": False},
            )
        except jwt.ExpiredSignatureError as error:
            raise TokenRefusal("unauthorized", "The token expired by the clock of this machine.") from error
        except jwt.PyJWTError as error:
            raise TokenRefusal("unauthorized", "The token is not valid.") from error
        now, issued = time.time(), float(claims["iat"])
        if issued - now > AHEAD:
            raise TokenRefusal(
                "unauthorized",
                f"The token was issued {issued - now:.0f} seconds in the future; check the clock of this machine.",
            )
        ends = float(claims["exp"])
        if self._max_age is not None:
            ends = min(ends, issued + self._max_age)
        if now >= ends:
            raise TokenRefusal("unauthorized", "The token is older than this service accepts; refresh it.")
        caller = _caller_of(claims)
        self._seen.set(token, (caller, min(ends, now + VERIFIED)))
        return caller

    def _address_of(self, token: str) -> tuple[str, str]:
        """Which key verifies the token: the organization is judged before a URL is made of it."""
        if len(token) > MAX_TOKEN_LENGTH:
            raise TokenRefusal("unauthorized", "The token is too long.")
        try:
            header = jwt.get_unverified_header(token)
            claims = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError) as error:
            raise TokenRefusal("unauthorized", "The token is not a JWT.") from error
        if "crit" in header:
            # No extension is known here: one must not be passed over (RFC 7515 §4.1.11).
            raise TokenRefusal("unauthorized", "The token is not valid.")
        if header.get("typ") != "at+jwt":
            raise TokenRefusal("unauthorized", "The token is not an access token.")
        if claims.get("iss") != self._issuer:
            raise TokenRefusal("unauthorized", "The token comes from another issuer.")
        kid, org = header.get("kid"), claims.get("org")
        if not isinstance(kid, str):
            raise TokenRefusal("unauthorized", "The token names no key.")
        if not isinstance(org, str) or _UUID.fullmatch(org) is None:
            raise TokenRefusal("unauthorized", "The token names no organization.")
        if self._orgs is not None and org not in self._orgs:
            raise TokenRefusal("unauthorized", "The token is of an organization that is not served here.")
        return kid, org


def require(
    caller: Caller, *, roles: Collection[str] | None = None, entitlements: Collection[str] = (), elevated: bool = False
) -> Caller:
    """
    Demands one of the roles, all of the entitlements (platform admins have every one) and a step-up, as far as they are
    given. An empty collection of roles refuses everybody. Of API keys only those with the scope `admin` have the roles
    of their maker. Returns the caller. Raises `TokenRefusal` (`forbidden` or `step_up_required`).
    """
    # Decisions 2.5: the power of a key is its scopes within the present power of its maker.
    is_key = caller.principal is not None and caller.principal[0] == "api_key"
    is_narrow = is_key and "admin" not in (caller.scopes or ())
    one_of = None if roles is None else _names("roles", roles)
    lacks_role = one_of is not None and (is_narrow or not one_of & set(caller.roles))
    lacks_feature = not _names("entitlements", entitlements) <= set(caller.entitlements) and not caller.platform_admin
    if lacks_role or lacks_feature:
        raise TokenRefusal("forbidden", "The token does not grant this.")
    if elevated and not caller.elevated:
        raise TokenRefusal("step_up_required", "This needs a step-up; verify it and send the elevated token.")
    return caller


def _names(what: str, given: Collection[str]) -> set[str]:
    """A text is a collection too, of its characters, which nobody means."""
    if isinstance(given, str):
        raise TypeError(f"{what} must be a collection of names: pass [{given!r}].")
    return set(given)


def _strings(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _caller_of(claims: Mapping[str, Any]) -> Caller:
    audience, session = claims.get("aud"), claims.get("sid")
    return Caller(
        user_uuid=claims["sub"],
        org_uuid=claims["org"],
        org_name=audience if isinstance(audience, str) else "",
        roles=_strings(claims.get("roles")),
        entitlements=_strings(claims.get("entitlements")),
        app_admin=_strings(claims.get("app_admin")),
        platform_admin=claims.get("platform_admin") is True,
        sandbox=claims.get("sandbox") is True,
        elevated=claims.get("acr") == "elevated",
        session_id=session if isinstance(session, str) else None,
        claims=claims,
    )
