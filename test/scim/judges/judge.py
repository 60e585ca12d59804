"""SCIM clients and conformance suites by others, against a running service.

Usage: judge.py BASE_URL TOKEN. Ends with status 1 when a suite finds an error, or a warning that is not expected.
"""

import json
import subprocess
import sys
import uuid
from pathlib import Path

import httpx2
import scim2_tester.filling
from scim2_client.engines.httpx2 import SyncSCIMClient
from scim2_models import PatchOp, PatchOperation, SearchRequest
from scim2_tester import Status, check_server

BASE_URL, TOKEN = sys.argv[1:3]


class WithoutCode(httpx2.HTTPTransport):
    """Takes our own member `code` out of errors: scim2-models accepts none but those of RFC 7644, section 3.12."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        response = super().handle_request(request)
        body = response.read()
        if response.status_code >= 400:
            error = json.loads(body)
            del error["code"]
            body = json.dumps(error).encode()
        kept = ("content-type", "etag", "location")
        headers = {name: value for name, value in response.headers.items() if name in kept}
        return httpx2.Response(response.status_code, headers=headers, content=body)


def client() -> SyncSCIMClient:
    """A client that has discovered the service."""
    headers = {"Authorization": f"Bearer {TOKEN}"}
    connection = httpx2.Client(base_url=BASE_URL, headers=headers, timeout=30, transport=WithoutCode())
    scim = SyncSCIMClient(connection)
    scim.discover()
    return scim


# What a suite wants and this service does otherwise, and why.
EXPECTED = {
    # scim-sanity adds a member that does not exist, and wants 200. Unknown members are refused, as nested groups are.
    ("PATCH /Groups/{id} add member", "Expected 200, got 400"),
    # There is no search over all kinds of resources at once, which RFC 7644, section 3.4.3, leaves open.
    ("search_with_attributes", "no such route"),
    # A user is active or not: without the attribute, it stays as it is.
    ("check_remove_attribute", "PATCH modify() did not remove attribute 'active'"),
}

# What scim2-tester finds right. A deviation is its warning, and what it skips it has not checked.
GOOD = (Status.SUCCESS, Status.COMPLIANT, Status.ACCEPTABLE)

random_value = scim2_tester.filling.generate_random_value


def value_of(context, path, *arguments, **options):
    """A userName that is an address: scim2-tester makes up others, without emails, and a user needs an address."""
    if str(path).endswith("userName"):
        return f"{uuid.uuid4()}@judge.test"
    return random_value(context, path, *arguments, **options)


for module in [module for name, module in sys.modules.items() if name.startswith("scim2_tester")]:
    if hasattr(module, "generate_random_value"):
        module.generate_random_value = value_of


def tester() -> list[str]:
    """scim2-tester: every check that it has."""
    results = check_server(client())
    for result in results:
        if result.status not in GOOD:
            print(f"scim2-tester {result.status.name} {result.title}: {result.reason}")
    print(f"scim2-tester: {sum(result.status in GOOD for result in results)} of {len(results)} checks passed")
    wrong = [result for result in results if result.status not in GOOD]
    return [result.title for result in wrong if (result.title, result.reason) not in EXPECTED]


def sanity() -> list[str]:
    """scim-sanity: its probe, strictly."""
    program = Path(sys.executable).with_name("scim-sanity")
    command = [program, "probe", BASE_URL, "--token", TOKEN, "--strict", "--json-output", "--i-accept-side-effects"]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    results = answer["results"]
    wrong = [one for one in results if one["status"] not in ("pass", "skip")]
    for one in wrong:
        print(f"scim-sanity {one['status']} {one['name']}: {one.get('message')}")
    print(f"scim-sanity: {sum(one['status'] == 'pass' for one in results)} of {len(results)} checks passed")
    return [one["name"] for one in wrong if (one["name"], one.get("message")) not in EXPECTED]


def life() -> list[str]:
    """scim2-client: the whole life of a user."""
    scim = client()
    User = scim.get_resource_model("User")
    made = scim.create(User(user_name="life@judge.test", display_name="Life"))
    assert made.active and made.meta.location.endswith(made.id)
    assert scim.query(User, made.id).user_name == "life@judge.test"
    found = scim.query(User, query_parameters=SearchRequest(filter='userName eq "LIFE@judge.test"'))
    assert [one.id for one in found.resources] == [made.id]
    made.display_name = "Renamed"
    assert scim.replace(made).display_name == "Renamed"
    patch = PatchOp[User](
        operations=[PatchOperation[User](op=PatchOperation.Op.replace_, path="active", value=False)]
    )
    assert scim.modify(User, made.id, patch).active is False
    scim.delete(User, made.id)
    assert scim.query(User, made.id, raise_scim_errors=False).status == 404
    print("scim2-client: the life of a user passed")
    return []


if __name__ == "__main__":
    failures = [failure for judge in (tester, sanity, life) for failure in judge()]
    sys.exit(1 if failures else 0)
