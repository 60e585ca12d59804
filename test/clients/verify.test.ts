import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { create, toBinary } from "@bufbuild/protobuf";
import type { JWTPayload } from "jose";
import { AccessService, GetMeResponseSchema } from "../../gen/atrium/access/v1/access_pb.ts";
import { AtriumError, bearer, createAtrium, session } from "../../src/clients/typescript/index.ts";
import { callerKey, createVerifier, guard } from "../../src/clients/typescript/verify/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { ISSUER, makeIssuer, ORG, REFUSED } from "./issuer.ts";
import { countingFetch } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, clock: systemClock });
});
afterAll(() => app.close());

const verifierOf = (options: Partial<Parameters<typeof createVerifier>[0]> = {}) =>
  createVerifier({ issuer: ISSUER, baseUrl: app.url, ...options });

/** An issuer of our own, whose key set a verifier asks for. */
async function issuer() {
  const made = await makeIssuer();
  const { publish } = made;
  const requests: string[] = [];
  const network = countingFetch();
  network.before = (_rpc, request) => {
    requests.push(request.url);
    return new Response(publish.body, { status: publish.status, headers: { "cache-control": "max-age=300" } });
  };
  return { ...made, requests, verifier: createVerifier({ issuer: ISSUER, fetch: network.fetch }) };
}

describe("createVerifier", () => {
  it("a verifier accepts a token of the service and says whose it is", async () => {
    const caller = await verifierOf().verify(await app.login());
    expect(caller).toMatchObject({ orgName: "Acme", roles: ["admin"], platformAdmin: true, elevated: false });
  });

  it("a verifier asks for the keys of an organization once for many tokens", async () => {
    const network = countingFetch();
    const verifier = verifierOf({ fetch: network.fetch });
    for (let login = 0; login < 3; login++) await verifier.verify(await app.login());
    expect(network.count("jwks.json")).toBe(1);
  });

  it("a token signed by a key that was rotated in a moment ago verifies at once", async () => {
    const verifier = verifierOf();
    const token = await app.login();
    const { orgUuid } = await verifier.verify(token);
    const elevated = await elevate(app, token);
    const path = `/api/admin/organizations/${orgUuid}/signing-keys/rotate`;
    expect((await app.call("POST", path, { token: elevated })).status).toBe(200);
    await expect(verifier.verify(await app.login())).resolves.toMatchObject({ orgUuid });
  });

  it.each(REFUSED)("a verifier refuses %s, and fetches from its issuer alone", async (_name, claims, header) => {
    const { sign, verifier, requests } = await issuer();
    await expect(verifier.verify(await sign(claims, header))).rejects.toMatchObject({ status: 401 });
    const keys = `${ISSUER}/api/organizations/${ORG}/.well-known/jwks.json`;
    expect(requests.filter((url) => url !== keys)).toEqual([]);
  });

  it.each(["", "x", "a.b.c", `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString("base64url")}.e30.`])(
    "a verifier refuses what is no signed token: %j",
    async (token) => {
      const { verifier, requests } = await issuer();
      await expect(verifier.verify(token)).rejects.toMatchObject({ status: 401 });
      expect(requests).toEqual([]);
    },
  );

  it("a verifier refuses a token whose person or id is no text", async () => {
    const { sign, verifier } = await issuer();
    for (const claims of [{ sub: 5 }, { jti: 5 }])
      await expect(verifier.verify(await sign(claims as never))).rejects.toMatchObject({ status: 401 });
  });

  it("a verifier asks the service about no credential that it cannot have made", async () => {
    const network = countingFetch();
    const verifier = verifierOf({ fetch: network.fetch, introspect: true });
    for (const token of ["", "a\0b", "a\nb", "a b", "é", "😀", "x".repeat(20_000)])
      await expect(verifier.verify(token)).rejects.toMatchObject({ status: 401 });
    expect(network.count("GetMe")).toBe(0);
  });

  it("a thousand unknown keys cost two requests", async () => {
    const { sign, verifier, requests } = await issuer();
    const tokens = await Promise.all(Array.from({ length: 1_000 }, (_, nth) => sign({}, { kid: `x${nth}` })));
    for (const token of tokens) await expect(verifier.verify(token)).rejects.toMatchObject({ status: 401 });
    await expect(verifier.verify(await sign())).resolves.toBeDefined();
    expect(requests.length).toBeLessThanOrEqual(2);
  });

  it("a token from the future is refused with a message that names the clock", async () => {
    const { sign, verifier } = await issuer();
    const iat = Math.floor(Date.now() / 1_000) + 3_600;
    await expect(verifier.verify(await sign({ iat, exp: iat + 300 }))).rejects.toThrow(/3[56]\d\d seconds.*clock/u);
  });

  it.each([
    ["larger than a key set can be", 200, JSON.stringify({ keys: [], filler: "x".repeat(1_000_000) })],
    ["not JSON", 200, "<html>"],
    ["not a key set", 200, "{}"],
    ["an error", 500, "{}"],
  ])("a verifier returns 503 when the key set is %s", async (_name, status, body) => {
    const { sign, verifier, publish } = await issuer();
    Object.assign(publish, { status, body });
    await expect(verifier.verify(await sign())).rejects.toMatchObject({ status: 503 });
  });

  it("a verifier accepts no token of a wrongly described key, and goes on with the others", async () => {
    const { sign, verifier, publish, wrongKeys } = await issuer();
    const { body, tokens } = await wrongKeys();
    publish.body = body;
    for (const token of tokens) await expect(verifier.verify(token)).rejects.toMatchObject({ status: 401 });
    await expect(verifier.verify(await sign())).resolves.toMatchObject({ orgName: "Acme" });
  });

  it("a verifier follows no redirect to other keys", async () => {
    const server = createServer((request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:1${request.url}` }).end();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { sign } = await issuer();
    await expect(createVerifier({ issuer: ISSUER, baseUrl }).verify(await sign())).rejects.toMatchObject({
      status: 503,
    });
    server.close();
  });

  it("a verifier gives up on keys that never arrive whole, and asks for them once", async () => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked++;
      // The head and the beginning of a key set, and nothing more.
      response.writeHead(200, { "content-type": "application/json" }).write('{"keys":[');
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { sign } = await issuer();
    const verifier = createVerifier({ issuer: ISSUER, baseUrl });
    const token = await sign();
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => verifier.verify(token)));
    expect(outcomes).toMatchObject(Array(5).fill({ status: "rejected", reason: { status: 503 } }));
    expect(asked).toBe(1);
    server.closeAllConnections();
    server.close();
  });

  it("with introspect, a token is refused as soon as its session has ended", async () => {
    const token = await app.login();
    const [offline, online] = [verifierOf(), verifierOf({ introspect: true })];
    await expect(online.verify(token)).resolves.toMatchObject({ orgName: "Acme" });
    await offline.verify(token);
    await app.call("POST", "/api/auth/logout", { token });
    await expect(online.verify(token)).rejects.toMatchObject({ status: 401 });
    await expect(offline.verify(token)).resolves.toBeDefined();
  });
});

describe("guard", () => {
  const answer = (requirements: Parameters<typeof guard>[1], token?: string) =>
    guard(verifierOf(), requirements).fetch((_request, caller) => Response.json({ org: caller.orgName }))(
      new Request("http://backend.test/", {
        headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
      }),
    );

  it("a guard lets a good token in", async () => {
    const response = await answer({ roles: ["admin", "manager"], entitlements: ["marketplace"] }, await app.login());
    expect([response.status, await response.json()]).toEqual([200, { org: "Acme" }]);
  });

  it("a guard returns 401 with a challenge without a token", async () => {
    const response = await answer({});
    expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
    expect(await response.json()).toMatchObject({ code: "unauthorized", type: "urn:atrium:error:unauthorized" });
  });

  it("a guard returns 403 to a caller without the role", async () => {
    expect((await answer({ roles: ["auditor"] }, await app.login())).status).toBe(403);
  });

  it("a guard that demands a step-up returns the challenge of RFC 9470, as the service does", async () => {
    const token = await app.login();
    const [ours, theirs] = [
      await answer({ elevated: true }, token),
      await app.call(
        "POST",
        "/api/admin/organizations/" + (await verifierOf().verify(token)).orgUuid + "/signing-keys/rotate",
        {
          token,
        },
      ),
    ];
    expect(ours.status).toBe(403);
    expect(theirs.body.code).toBe("step_up_required");
    expect(ours.headers.get("www-authenticate")).toBe(theirs.headers.get("www-authenticate"));
    expect((await answer({ elevated: true }, await elevate(app, token))).status).toBe(200);
  });

  it("a guard of a Connect server refuses as the service does, and lets a call in after a step-up", async () => {
    const routes = (router: ConnectRouter): void => {
      router.service(AccessService, {
        getMe: (_request, { values }) => ({ orgName: values.get(callerKey)?.orgName ?? "" }),
      });
    };
    const interceptors = [guard(verifierOf(), { elevated: true }).connect];
    const server = createServer(connectNodeAdapter({ interceptors, routes }));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const anonymous = createAtrium({ baseUrl }).access.getMe({});
    await expect(anonymous).rejects.toMatchObject({ errorCode: "unauthorized", status: 401 });

    const token = await app.login();
    const refusal = await createAtrium({ baseUrl, credential: bearer(token) })
      .access.getMe({})
      .catch(AtriumError.from);
    const { orgUuid } = await verifierOf().verify(token);
    const service = createAtrium({ baseUrl: app.url, credential: bearer(token) });
    const theirs = await service.signingKeys.rotateSigningKey({ orgUuid }).catch(AtriumError.from);
    const told = ({ errorCode, status, code, metadata }: AtriumError) => [
      ...[errorCode, status, code],
      metadata.get("www-authenticate"),
    ];
    expect(told(refusal as AtriumError)).toEqual(told(theirs as AtriumError));
    expect(told(refusal as AtriumError)[0]).toBe("step_up_required");

    const credential = session();
    await credential.signIn({ accessToken: token, expiresIn: 900 });
    const onStepUp = async () => ({ elevatedToken: await elevate(app, token), expiresIn: 900 });
    const { orgName } = await createAtrium({ baseUrl, credential, onStepUp }).access.getMe({});
    expect(orgName).toBe("Acme");
    server.close();
  });

  it("a guard asks the service about what a token lacks that had no room for all", async () => {
    const { sign, publish } = await makeIssuer();
    const network = countingFetch();
    const present = create(GetMeResponseSchema, { orgUuid: ORG, entitlements: ["sso", "app:crm"] });
    network.before = (rpc) =>
      rpc === "GetMe"
        ? new Response(toBinary(GetMeResponseSchema, present), { headers: { "content-type": "application/proto" } })
        : new Response(publish.body);
    const verifier = createVerifier({ issuer: ISSUER, fetch: network.fetch });
    const check = async (claims: JWTPayload, entitlement: string) =>
      guard(verifier, { entitlements: [entitlement] }).check(`Bearer ${await sign(claims)}`);
    const [whole, cut] = [{ entitlements: ["sso"] }, { entitlements: ["sso"], truncated: ["entitlements"] }];
    await expect(check(whole, "app:crm")).rejects.toMatchObject({ status: 403 });
    await expect(check(cut, "sso")).resolves.toBeDefined();
    expect(network.count("GetMe")).toBe(0);
    await expect(check(cut, "app:crm")).resolves.toMatchObject({ entitlements: ["sso", "app:crm"] });
    await expect(check(cut, "app:shop")).rejects.toMatchObject({ status: 403 });
    expect(network.count("GetMe")).toBe(2);
  });

  it("a guard for administrators of an app asks the service", async () => {
    const token = await app.login();
    expect((await answer({ appAdmin: ORG }, token)).status).toBe(200);
    await app.call("POST", "/api/auth/logout", { token });
    expect((await answer({ appAdmin: ORG }, token)).status).toBe(401);
  });
});
