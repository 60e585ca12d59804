/**
 * What a write of a secret costs the database alone: transactions over node-postgres that, in the service's own schema,
 * take the next version of a name and insert the sealed version, its event, and the event's place in the chain. Asked
 * `{seconds}`, keeps CONNECTIONS of them going and reports how many were committed.
 */
import { createCipheriv, randomBytes, randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import { insertEvent, insertOrganizations } from "./service-rows.ts";
import { serveTransactions } from "./transactions.ts";

const value = process.env["VALUE"] ?? "";
const key = randomBytes(32);
const keyId = randomUUID();
const organizations = await insertOrganizations(16);
let next = 0;

function seal(plain: Buffer | string, by: Buffer, context: string): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", by, nonce);
  cipher.setAAD(Buffer.from(context));
  const text = typeof plain === "string" ? cipher.update(plain, "utf8") : cipher.update(plain);
  return Buffer.concat([nonce, text, cipher.final(), cipher.getAuthTag()]);
}

async function write(client: PoolClient): Promise<void> {
  const org = organizations[next++ % organizations.length] as string;
  const now = new Date();
  const taken = await client.query<{ id: string; version: number }>({
    name: "take",
    text: `insert into vault_secrets as s (org_uuid, name, version, first_version, written_at, tags)
        values ($1, $2, 1, 1, $3, '{}')
        on conflict (org_uuid, name) do update set version = s.version + 1, written_at = $3
        returning secret_id as id, version`,
    values: [org, "written", now],
  });
  const { id, version } = taken.rows[0] as { id: string; version: number };
  const own = randomBytes(32);
  const context = `${org}:${version}:written`;
  await client.query({
    name: "version",
    text: `insert into vault_versions (secret_id, version, key_id, wrapped_key, value, created_at)
      values ($1, $2, $3, $4, $5, $6)`,
    values: [id, version, keyId, seal(own, key, context), seal(value, own, context), now],
  });
  await insertEvent(client, {
    type: "vault.secret.written",
    org,
    user: org,
    metadata: { name: "written", version },
    actor: { type: "user", id: org, email: "owner@bench.test" },
    resource: { type: "secret", id: "written" },
    at: now,
  });
}

serveTransactions(write);
