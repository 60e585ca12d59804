import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLocalJWKSet, jwtVerify } from "jose";
import { openIdentity, opened } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";

let identity: Identity;
beforeAll(async () => {
  identity = await openIdentity();
  await identity.login.bootstrap(identity.owner);
});
afterAll(() => identity.close());

describe("key sets", () => {
  it("a stock library verifies an organization's tokens with its key set", async () => {
    const { accessToken } = await identity.loginOwner();
    const { orgUuid } = await identity.me(accessToken);
    const { keys, headers } = await identity.keys.jwks.ofOrganization(orgUuid ?? "");
    const { payload } = await jwtVerify(accessToken, createLocalJWKSet({ keys }), {
      audience: "Acme",
      issuer: "http://localhost:8080",
      typ: "at+jwt",
      currentDate: new Date(identity.clock.now()),
    });
    expect(payload["org"]).toBe(orgUuid);
    expect(headers.etag).toMatch(/^"[\w-]{22}"$/u);
    expect(headers["cache-control"]).toBe("public, max-age=300");
    expect(JSON.stringify(keys)).not.toContain('"d"');
  });

  it("the instance's key set has the key of tokens without an organization", async () => {
    await Promise.all([1, 2, 3].map(() => identity.another().keys.signing.ensureInstanceKey()));
    const { keys } = await identity.keys.jwks.ofInstance();
    expect(keys).toHaveLength(1);
    const { devToken } = await identity.login.magicLink.send(identity.anonymous(), { email: "free@nowhere.test" });
    const { accessToken } = opened(await identity.login.magicLink.verify(identity.anonymous(), devToken ?? ""));
    await jwtVerify(accessToken, createLocalJWKSet({ keys }), { currentDate: new Date(identity.clock.now()) });
  });

  it("a key set keeps a key after its overlap until what it signed has expired", async () => {
    const { orgUuid } = await identity.me((await identity.loginOwner()).accessToken);
    const uses = () => identity.sql("select * from signing_key_uses");
    const until = new Date(identity.clock.now() + 2 * 86_400_000);
    for (const _ of [1, 2, 3])
      await identity.database.transaction((tx) => identity.keys.signing.active(tx, orgUuid, until));
    expect(await uses()).toHaveLength(1);
    expect(await identity.keys.tidy.signatures()).toBe(0);
    identity.clock.advance(3 * 86_400_000);
    expect(await identity.keys.tidy.signatures()).toBe(1);
    expect(await uses()).toEqual([]);
  });

  it("a key leaves the key set when its overlap ends, and the ETag changes", async () => {
    const { orgUuid } = await identity.me((await identity.loginOwner()).accessToken);
    const before = await identity.keys.jwks.ofOrganization(orgUuid ?? "");
    await identity.sql("update signing_keys set active = false, valid_until = $2 where org_uuid = $1", [
      orgUuid,
      new Date(identity.clock.now() + 1_000),
    ]);
    expect((await identity.keys.jwks.ofOrganization(orgUuid ?? "")).keys).toHaveLength(1);
    identity.clock.advance(1_000);
    const after = await identity.keys.jwks.ofOrganization(orgUuid ?? "");
    expect(after.keys).toEqual([]);
    expect(after.headers.etag).not.toBe(before.headers.etag);
  });

  it("the key set of an unknown organization returns 404", async () => {
    await expect(identity.keys.jwks.ofOrganization(randomUUID())).rejects.toMatchObject({
      status: 404,
      code: "not_found",
    });
  });

  it("private keys are stored sealed", async () => {
    const rows = await identity.sql<{ private_key: Buffer; kid: string }>("select kid, private_key from signing_keys");
    for (const { private_key } of rows)
      expect(private_key.includes(Buffer.from("302e020100300506032b6570", "hex"))).toBe(false);
  });
});
