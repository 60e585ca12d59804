import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
} from "../../src/platform/x509/library.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { get, opened } from "./client.ts";
import { foreignRoot, issue, rootOf } from "../support/certificates.ts";
import type { Leaf, LeafOptions } from "../support/certificates.ts";
import { identity, recordSvid, svidOf } from "./workload.ts";

let app: TestApp;
let owner: Somebody;
let other: Somebody;
let identityId: string;
beforeAll(async () => {
  app = await startApp();
  [owner, other] = [await founder(app), await founder(app)];
  identityId = await identity(app, owner);
});
afterAll(() => app.close());

const HOUR_MS = 3_600_000;
const at = (ms: number): Date => new Date(app.clock.now() + ms);
const idOf = (org: string): string => `spiffe://${org}.atrium.local/svc/${identityId}`;
const me = (leaf: Leaf) => get(app, "/api/auth/me", leaf);
const REFUSED = { status: 401, body: { code: "unauthorized" } };

/** A certificate with a record that says it is valid, so that nothing but its own fault can refuse it. */
async function recorded(options: LeafOptions, by: Somebody | "self" = owner): Promise<Leaf> {
  const signer = by === "self" ? undefined : await rootOf(opened(app), by.org);
  const leaf = await issue(app.clock.now(), signer, { uris: [idOf(owner.org)], ...options });
  await recordSvid(app, owner, identityId, leaf.serial, idOf(owner.org));
  return leaf;
}

test("an SVID as the service issues it authenticates its identity", async () => {
  expect(await me(await svidOf(app, owner, identityId))).toMatchObject({
    status: 200,
    body: { user_uuid: null, org_uuid: owner.org, principal: { type: "svid", id: identityId } },
  });
  expect((await me(await recorded({}))).status).toBe(200);
});

describe("a certificate of an organization's own root is refused with 401", () => {
  const clientOnly = [
    new BasicConstraintsExtension(false, undefined, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth]),
  ];
  const faults: [what: string, options: () => LeafOptions][] = [
    ["when it has expired", () => ({ notBefore: at(-2 * HOUR_MS), notAfter: at(-1_000) })],
    ["before it is valid", () => ({ notBefore: at(60_000), notAfter: at(HOUR_MS) })],
    ["with two URIs", () => ({ uris: [idOf(owner.org), `${idOf(owner.org)}/more`] })],
    ["with the same URI twice", () => ({ uris: [idOf(owner.org), idOf(owner.org)] })],
    ["without a URI, its common name being the SPIFFE id", () => ({ uris: [], commonName: idOf(owner.org) })],
    [
      "when its SPIFFE id is a DNS name only",
      () => ({
        uris: [],
        more: [new SubjectAlternativeNameExtension([{ type: "dns", value: `${owner.org}.atrium.local` }])],
      }),
    ],
    [
      "with an unknown critical extension",
      () => ({ more: [new Extension("1.3.6.1.4.1.55555.1", true, new Uint8Array([5, 0]))] }),
    ],
    [
      "with subject alternative names twice",
      () => ({ more: [new SubjectAlternativeNameExtension([{ type: "url", value: idOf(owner.org) }])] }),
    ],
    ["when it is an authority's", () => ({ purposes: [new BasicConstraintsExtension(true, 0, true)] })],
    [
      "when its key may sign certificates",
      () => ({
        purposes: [...clientOnly, new KeyUsagesExtension(KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign)],
      }),
    ],
    [
      "when its key may not sign",
      () => ({ purposes: [...clientOnly, new KeyUsagesExtension(KeyUsageFlags.keyAgreement, true)] }),
    ],
    [
      "when it is for servers only",
      () => ({ purposes: [new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth])] }),
    ],
    ["when its SPIFFE id is in another trust domain", () => ({ uris: [idOf(other.org)] })],
    ["when its SPIFFE id is the trust domain itself", () => ({ uris: [`spiffe://${owner.org}.atrium.local`] })],
    ["when its SPIFFE id is not the recorded one", () => ({ uris: [`spiffe://${owner.org}.atrium.local/svc/x`] })],
    ["when its URI is of another scheme", () => ({ uris: [`https://${owner.org}.atrium.local/svc/${identityId}`] })],
  ];
  test.each(faults)("%s", async (_what, options) => {
    expect(await me(await recorded(options()))).toMatchObject(REFUSED);
  });
});

describe("a certificate that no root of the organization has signed is refused with 401", () => {
  test("one of another organization's root with the right URI", async () => {
    expect(await me(await recorded({}, other))).toMatchObject(REFUSED);
  });

  test("a self-signed one with the right URI", async () => {
    expect(await me(await recorded({}, "self"))).toMatchObject(REFUSED);
  });

  test("one of an unknown root", async () => {
    const leaf = await issue(app.clock.now(), await foreignRoot(app.clock.now()), { uris: [idOf(owner.org)] });
    await recordSvid(app, owner, identityId, leaf.serial, idOf(owner.org));
    expect(await me(leaf)).toMatchObject(REFUSED);
  });

  test("one that names the organization's root as issuer, with another key's signature", async () => {
    const signer = { ...(await rootOf(opened(app), owner.org)), key: (await foreignRoot(app.clock.now())).key };
    const leaf = await issue(app.clock.now(), signer, { uris: [idOf(owner.org)] });
    await recordSvid(app, owner, identityId, leaf.serial, idOf(owner.org));
    expect(await me(leaf)).toMatchObject(REFUSED);
  });

  test("one without a record, however well it is signed", async () => {
    const leaf = await issue(app.clock.now(), await rootOf(opened(app), owner.org), { uris: [idOf(owner.org)] });
    expect(await me(leaf)).toMatchObject(REFUSED);
  });

  test("one with a record of another organization", async () => {
    const uris = [`spiffe://${other.org}.atrium.local/svc/${randomUUID()}`];
    const leaf = await issue(app.clock.now(), await rootOf(opened(app), other.org), { uris });
    await recordSvid(app, owner, identityId, leaf.serial, uris[0] as string);
    expect(await me(leaf)).toMatchObject(REFUSED);
  });
});
