"""
A backend whose users sign in at Atrium. It checks their tokens itself, lists members and receives webhooks.

ATRIUM_ISSUER    SERVICE_BASE_URL of the service
ATRIUM_URL       where the service is reached from here; default: at its issuer
ATRIUM_ORG_UUID  the organization whose members may come in: all others of the service are refused
ATRIUM_API_KEY   an API key of the organization, with the scope read:users
WEBHOOK_SECRETS  secrets of the webhook, by comma; two while it is rotated
PORT             where to listen on 127.0.0.1
"""

import os
import sys
from typing import Annotated

import uvicorn
from fastapi import Depends, FastAPI, Header, Request
from fastapi.responses import JSONResponse

from atrium.users.v1.users_pb2 import ListUsersRequest
from atrium_client import AsyncAtrium, AtriumError, Caller, TokenRefusal, Verifier, WebhookRefusal
from atrium_client import api_key, paginate, require, verify_webhook

issuer = os.environ.get("ATRIUM_ISSUER", "http://localhost:8080")
base_url = os.environ.get("ATRIUM_URL", issuer)
org_uuid = os.environ.get("ATRIUM_ORG_UUID")
secrets = [secret for secret in os.environ.get("WEBHOOK_SECRETS", "").split(",") if secret]
if not org_uuid or not secrets:
    sys.exit("Set ATRIUM_ORG_UUID and WEBHOOK_SECRETS.")

app = FastAPI()
# Without orgs the members of every organization of the service pass, and /members shows them this one's.
verifier = Verifier(issuer, base_url=base_url, orgs=[org_uuid])
atrium = AsyncAtrium(base_url, api_key(os.environ.get("ATRIUM_API_KEY", "")))
seen: set[str] = set()


# FastAPI runs a dependency that is no coroutine in a thread, where it may wait for keys.
def signed_in(authorization: Annotated[str | None, Header()] = None) -> Caller:
    return verifier.authenticate(authorization)


def may_manage(caller: Annotated[Caller, Depends(signed_in)]) -> Caller:
    return require(caller, roles=["admin", "manager"], entitlements=["marketplace"])


def after_step_up(caller: Annotated[Caller, Depends(signed_in)]) -> Caller:
    return require(caller, elevated=True)


@app.exception_handler(TokenRefusal)
async def refuse(_request: Request, refusal: TokenRefusal) -> JSONResponse:
    return JSONResponse(refusal.problem, refusal.status, refusal.headers)


@app.get("/projects")
def list_projects(caller: Annotated[Caller, Depends(signed_in)]) -> dict[str, str]:
    return {"organization": caller.org_name}


@app.post("/projects")
def create_project(caller: Annotated[Caller, Depends(may_manage)]) -> dict[str, str | None]:
    return {"created_by": caller.user_uuid}


@app.delete("/projects", dependencies=[Depends(after_step_up)])
def delete_projects() -> dict[str, bool]:
    return {"deleted": True}


@app.get("/members", dependencies=[Depends(signed_in)])
async def list_members() -> JSONResponse:
    try:
        request = ListUsersRequest(status="active")
        members = [member.email async for member in paginate(atrium.users.list_users, request)]
    except AtriumError as error:
        return JSONResponse({"code": error.error_code, "request_id": error.request_id}, 502)
    return JSONResponse({"members": members})


@app.post("/webhooks", status_code=204)
async def receive(request: Request) -> None:
    event = verify_webhook(secrets, await request.body(), request.headers)
    # What is delivered twice has the id of the first delivery.
    if event["id"] not in seen:
        seen.add(event["id"])
        print(event["type"], flush=True)


@app.exception_handler(WebhookRefusal)
async def refuse_webhook(_request: Request, refusal: WebhookRefusal) -> JSONResponse:
    return JSONResponse({}, refusal.status)


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("PORT", "8000")), log_level="warning")
