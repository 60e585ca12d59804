"""Executes what a test asks for with the client: one JSON object a line, answers in any order."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import Any

from pyqwest import Client, HTTPTransport

from atrium.access.v1.access_pb2 import GetMeRequest
from atrium.credentials.v1.credentials_pb2 import CreateApiKeyRequest, RevokeApiKeyRequest
from atrium.login.v1.login_pb2 import LoginRequest
from atrium.marketplace.v1.buyer_pb2 import WatchInstallRequest
from atrium.users.v1.users_pb2 import ListInvitationsRequest, ListUsersRequest, UpdateProfileRequest
from atrium_client import (
    Accepted,
    Active,
    Answer,
    AsyncAtrium,
    Atrium,
    AtriumError,
    Publisher,
    Refused,
    TokenRefusal,
    Verifier,
    WebhookRefusal,
    bearer,
    paginate,
    require,
    verify_webhook,
)

ASYNC = sys.argv[1:] == ["async"]
loop = asyncio.new_event_loop()
Args = dict[str, Any]


def done(outcome: Any) -> Any:
    """The result of a call of either kind of client."""
    return asyncio.run_coroutine_threadsafe(outcome, loop).result() if ASYNC else outcome


async def new_async(*args: Any, **options: Any) -> AsyncAtrium:
    return AsyncAtrium(*args, **options)


@cache
def client_of(url: str, token: str | None, retries: int, timeout: float) -> Any:
    credential = None if token is None else bearer(token)
    options: Args = {"retries": retries, "timeout": timeout}
    return done(new_async(url, credential, **options)) if ASYNC else Atrium(url, credential, **options)


def client(args: Args) -> Any:
    return client_of(args["url"], args.get("token"), args.get("retries", 2), args.get("timeout", 60.0))


def login(args: Args) -> Any:
    request = LoginRequest(email=args["email"], password=args["password"], org_name=args["org_name"])
    return {"token": done(client(args).login.login(request)).access_token}


def me(args: Args) -> Any:
    answer = done(client(args).access.get_me(GetMeRequest()))
    return {"email": answer.email, "org_uuid": answer.org_uuid, "principal": answer.principal.type}


def hurry(args: Args) -> Any:
    """Whether a call that takes too long for its caller is cancelled, as tasks are."""
    # Making a client waits for the loop, so that it cannot be done on it.
    own = args.get("own_connection", False)
    atrium = done(new_async(args["url"], http_client=Client(HTTPTransport()))) if own else client(args)

    async def call() -> bool:
        try:
            async with asyncio.timeout(0.2):
                if args.get("stream", False):
                    async for _install in atrium.buyer.watch_install(WatchInstallRequest()):
                        pass
                await atrium.access.get_me(GetMeRequest())
        except TimeoutError:
            return True
        return False

    return {"cancelled": done(call())}


def create_key(args: Args) -> Any:
    request = CreateApiKeyRequest(org_uuid=args["org_uuid"], name=args["name"], scopes=["read:users"])
    answer = done(client(args).credentials.create_api_key(request))
    return {"key_id": answer.key_id, "secret": answer.api_key}


def revoke_key(args: Args) -> Any:
    done(client(args).credentials.revoke_api_key(RevokeApiKeyRequest(org_uuid=args["org_uuid"], key_id=args["key_id"])))
    return {}


def list_users(args: Args) -> Any:
    page = done(client(args).users.list_users(ListUsersRequest(limit=args.get("limit", 20))))
    return {"emails": [user.email for user in page.data]}


def invitations(args: Args) -> Any:
    request = ListInvitationsRequest(org_uuid=args["org_uuid"], limit=args.get("limit"))
    pages = paginate(client(args).users.list_invitations, request)
    if not ASYNC:
        return {"ids": [item.invitation_id for item in pages]}

    async def collect() -> list[str]:
        return [item.invitation_id async for item in pages]

    return {"ids": done(collect())}


def members(args: Args) -> Any:
    """The first `max` members of a list, and where it goes on. `wrapped`: by a function around the call."""
    atrium, most = client(args), args.get("max", 1_000_000)
    call = (lambda request: atrium.users.list_users(request)) if args.get("wrapped") else atrium.users.list_users
    place = {name: args[name] for name in ("limit", "offset", "cursor") if name in args}
    pages = paginate(call, ListUsersRequest(**place))

    async def collect() -> list[str]:
        ids: list[str] = []
        async for user in pages:
            ids.append(user.user_uuid)
            if len(ids) == most:
                break
        return ids

    ids = done(collect()) if ASYNC else [user.user_uuid for user in islice(pages, most)]
    return {"ids": ids, "cursor": pages.cursor or ""}


def update_profile(args: Args) -> Any:
    done(client(args).users.update_profile(UpdateProfileRequest(first_name=args.get("first_name", "Ada"))))
    return {}


def watch(args: Args) -> Any:
    """Reads a stream to its end."""
    messages = client(args).buyer.watch_install(WatchInstallRequest())

    async def read() -> None:
        async for _install in messages:
            pass

    if ASYNC:
        done(read())
    else:
        deque(messages, 0)
    return {}


def many(args: Args) -> Any:
    """So many calls at once. Returns how many succeeded."""
    atrium = client(args)

    async def gather() -> list[Any]:
        return await asyncio.gather(*[atrium.access.get_me(GetMeRequest()) for _ in range(args["count"])])

    if ASYNC:
        return {"answers": len(done(gather()))}
    with ThreadPoolExecutor(args["count"]) as pool:
        return {"answers": len(list(pool.map(lambda _nth: me(args), range(args["count"]))))}


# A cache of Python may call the function for each of the threads that ask at once.
one_verifier = threading.Lock()


@cache
def verifier_of(key: str, issuer: str, base_url: str, introspect: bool) -> Verifier:
    return Verifier(issuer, base_url=base_url, introspect=introspect)


def verify(args: Args) -> Any:
    with one_verifier:
        verifier = verifier_of(args.get("key", ""), args["issuer"], args["base_url"], args.get("introspect", False))
    refused = unavailable = 0
    for token in args.get("refused", []):
        try:
            verifier.verify(token)
        except TokenRefusal as refusal:
            refused += 1
            unavailable += refusal.status == 503
    caller = require(verifier.verify(args["token"]), roles=args.get("roles"))
    return {
        "org_name": caller.org_name,
        "roles": list(caller.roles),
        "platform_admin": caller.platform_admin,
        "elevated": caller.elevated,
        "refused": refused,
        "unavailable": unavailable,
        "scopes": caller.scopes,
    }


def webhook(args: Args) -> Any:
    return dict(verify_webhook(args["secrets"], args["body"].encode(), args["headers"]))


publishers: dict[str, tuple[Publisher, list[str]]] = {}


def publisher_of(args: Args) -> tuple[Publisher, list[str]]:
    key = args.get("key", "")
    if key not in publishers:
        handled: list[str] = []

        def provision(_notice: Any) -> Active | Accepted | Refused:
            handled.append("provision")
            match args["outcome"]:
                case "active":
                    return Active(endpoint_url="https://app.test")
                case "accepted":
                    return Accepted()
                case _:
                    return Refused("No room.")

        publisher = Publisher(args["secrets"], args["url"], provision=provision, deprovision=lambda _notice: None)
        publishers[key] = publisher, handled
    return publishers[key]


def publish(args: Args) -> Any:
    publisher, handled = publisher_of(args)
    body = args["body"].encode()
    with ThreadPoolExecutor(2) as pool:
        answers: list[Answer] = list(pool.map(lambda _nth: publisher.handle(args["headers"], body), range(2)))
    return {"answers": [[answer.status, answer.body] for answer in answers], "handled": len(handled)}


def report(args: Args) -> Any:
    publisher, _handled = publisher_of(args)
    publisher.report(args["install_id"], args["status"], endpoint_url=args.get("endpoint_url"))
    return {}


def failure(error: Exception) -> Args:
    if isinstance(error, AtriumError):
        return {
            "kind": "call",
            "error_code": error.error_code,
            "status": error.status,
            "request_id": error.request_id,
            "retry_after": error.retry_after,
            "violations": [violation.field for violation in error.violations],
        }
    if isinstance(error, TokenRefusal):
        return {"kind": "token", "error_code": error.error_code, "status": error.status, "message": error.message}
    if isinstance(error, WebhookRefusal):
        return {"kind": "webhook", "status": error.status}
    return {"kind": "other", "message": repr(error)}


OPERATIONS = {
    operation.__name__: operation
    for operation in (
        login, me, hurry, create_key, revoke_key, list_users, invitations, members, update_profile, many, watch,
        verify, webhook, publish, report,
    )
}
output = threading.Lock()


def execute(line: str) -> None:
    job = json.loads(line)
    try:
        answer = {"id": job["id"], "result": OPERATIONS[job["op"]](job["args"])}
    except Exception as error:
        answer = {"id": job["id"], "error": failure(error)}
    with output:
        print(json.dumps(answer), flush=True)


def main() -> None:
    if ASYNC:
        threading.Thread(target=loop.run_forever, daemon=True).start()
    with ThreadPoolExecutor(32) as pool:
        for line in sys.stdin:
            pool.submit(execute, line)


main()
