import { randomUUID } from "node:crypto";
import type { TestApp } from "../support/app.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { opened } from "./client.ts";
import { issue, rootOf } from "../support/certificates.ts";
import type { Leaf, LeafOptions } from "../support/certificates.ts";

/** A service identity with an SVID. */
export interface Workload extends Leaf {
  identityId: string;
  svidId: string;
  spiffeId: string;
}

let made = 0;

/** Creates a service identity. */
export async function identity(app: TestApp, owner: Pick<Somebody, "org" | "token">, roleId = 1): Promise<string> {
  const { status, body } = await app.call("POST", `/api/organizations/${owner.org}/service-identities`, {
    token: owner.token,
    body: { name: `workload ${++made}`, role_id: roleId },
  });
  if (status !== 201) throw new Error(`the identity was answered ${status}`);
  return body.identity_id as string;
}

/** An SVID of an identity, with its record, made as the service makes it except for `options`. */
export async function svidOf(
  app: TestApp,
  owner: Pick<Somebody, "org" | "token">,
  identityId: string,
  options: LeafOptions = {},
): Promise<Workload> {
  const spiffeId = `spiffe://${owner.org}.atrium.local/svc/${identityId}`;
  const leaf = await issue(app.clock.now(), await rootOf(opened(app), owner.org), { uris: [spiffeId], ...options });
  const svidId = await recordSvid(app, owner, identityId, leaf.serial, spiffeId);
  return { ...leaf, identityId, svidId, spiffeId };
}

/** Stores the record of an SVID. */
export async function recordSvid(
  app: TestApp,
  { org }: Pick<Somebody, "org">,
  identityId: string,
  serial: string,
  spiffeId: string,
): Promise<string> {
  const svidId = randomUUID();
  const at = (ms: number): Date => new Date(app.clock.now() + ms);
  await runSql(
    app.databaseUrl,
    `insert into svids (svid_id, identity_id, org_uuid, spiffe_id, serial, not_before, not_after, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [svidId, identityId, org, spiffeId, serial, at(-60_000), at(3_600_000), at(0)],
  );
  return svidId;
}

/** A service identity with an SVID. */
export async function workload(app: TestApp, owner: Pick<Somebody, "org" | "token">, roleId = 1): Promise<Workload> {
  return svidOf(app, owner, await identity(app, owner, roleId));
}
