import type { Database } from "../../platform/db/types.ts";
import type { SealedVersion } from "./envelope.ts";
import { SEAL_COLUMNS } from "./seal-store.ts";
import type { SealRow } from "./master-keys.ts";

/** A secret to read; `version` undefined for the present one. */
export interface Question {
  orgUuid: string;
  name: string;
  version: number | undefined;
}

/** A version as it is stored, with its key and the seal, all of one snapshot. */
export interface StoredVersion extends SealedVersion {
  version: number;
  createdAt: Date;
  tags: string[];
  description: string | null;
  organizationKeyId: string;
  organizationKeyBox: Buffer;
}

/** Answer to a question: the seal, and the version where there is one. */
export type Answer = SealRow & (StoredVersion | { version: null });

// `limit 1` keeps the planner from flattening the subquery into a join, so that a version is read by its key. A plain
// join reads all versions of the secret, or, by a plan made while the tables were small, the versions of all secrets.
const sql = `
  select ${SEAL_COLUMNS}, found.*
  from unnest($1::uuid[], $2::text[], $3::bigint[]) with ordinality as q (org_uuid, name, version, position)
  cross join vault_seal s
  left join lateral (
    select v.version, v.key_id as "keyId", v.wrapped_key as "wrappedKey", v.value, v.created_at as "createdAt",
      n.tags, n.description, k.key_id as "organizationKeyId", k.box as "organizationKeyBox"
    from vault_secrets n
    join lateral (
      select * from vault_versions v
      where v.secret_id = n.secret_id and v.version >= n.first_version and v.version = coalesce(q.version, n.version)
      limit 1
    ) v on true
    join vault_keyrings k on k.org_uuid = n.org_uuid
    where n.org_uuid = q.org_uuid and n.name = q.name and n.deleted_at is null
  ) found on true
  order by q.position`;

/** Reads the seal and the secrets in one statement: what it returns was true at one moment. */
export function readSecrets(
  database: Pick<Database, "prepared">,
  questions: readonly Question[],
): Promise<readonly Answer[]> {
  return database.prepared<Answer>("vault-read", sql, [
    questions.map(({ orgUuid }) => orgUuid),
    questions.map(({ name }) => name),
    questions.map(({ version }) => version ?? null),
  ]);
}
