"""What the contract says of an rpc, as far as a client must know it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from google.protobuf import descriptor_pb2, descriptor_pool

from atrium.options.v1 import options_pb2


@dataclass(frozen=True)
class Policy:
    authenticated: bool
    """The credential is sent."""
    safe: bool
    """It changes nothing, so that it may be sent again."""
    idempotent: bool
    """It takes an `Idempotency-Key`: sent again with the same key, it takes effect once."""


@cache
def policy_of(service: str, method: str) -> Policy:
    # The pool of messages knows the services too, once their module is imported, which a call presupposes.
    options = descriptor_pool.Default().FindMethodByName(f"{service}.{method}").GetOptions()
    access = options.Extensions[options_pb2.access]
    return Policy(
        authenticated=access.bearer_optional
        or access.credential in (options_pb2.CREDENTIAL_BEARER, options_pb2.CREDENTIAL_SCIM),
        safe=options.idempotency_level == descriptor_pb2.MethodOptions.NO_SIDE_EFFECTS,
        idempotent=access.idempotent,
    )
