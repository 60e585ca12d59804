/**
 * What creating a user by SCIM costs the database alone: transactions over node-postgres that insert, in the service's
 * own schema, the person, its maker, the user as SCIM shows them, the membership, the event, and the event's place in
 * the chain. Asked `{seconds}`, keeps CONNECTIONS of them going and reports how many were committed.
 */
import { randomUUID } from "node:crypto";
import type { PoolClient } from "pg";
import { insertEvent, insertOrganizations } from "./service-rows.ts";
import { serveTransactions } from "./transactions.ts";

const organizations = await insertOrganizations(16);
/** The role of a member. */
const role = 3;
let next = 0;

async function create(client: PoolClient): Promise<void> {
  const number = next++;
  const org = organizations[number % organizations.length] as string;
  const [user, now] = [randomUUID(), new Date()];
  const email = `user${number}.${user}@bench.test`;
  const data = JSON.stringify({
    userName: email,
    externalId: `external-${number}`,
    name: { givenName: "Given", familyName: "Family" },
    emails: [{ value: email, type: "work", primary: true }],
  });
  await client.query({
    name: "person",
    text: `insert into people (uuid, email, email_key, first_name, last_name, created_at, updated_at)
      values ($1, $2, $2, 'Given', 'Family', $3, $3)`,
    values: [user, email, now],
  });
  await client.query({
    name: "maker",
    text: "insert into scim_people (user_uuid, org_uuid) values ($1, $2)",
    values: [user, org],
  });
  await client.query({
    name: "user",
    text: `insert into scim_users (org_uuid, user_uuid, user_name, external_id, active, managed, data, folded,
        created_at, updated_at) values ($1, $2, $3, $4, true, true, $5, $6, $7, $7)`,
    values: [org, user, email, `external-${number}`, data, data.toLowerCase(), now],
  });
  await client.query({
    name: "member",
    text: `insert into memberships (org_uuid, user_uuid, role_id, last_used_at, created_at, updated_at)
      values ($1, $2, $3, $4, $4, $4)`,
    values: [org, user, role, now],
  });
  await insertEvent(client, {
    type: "scim.user.created",
    org,
    user,
    metadata: { user_name: email, active: true, invited: false },
    actor: { type: "scim_token", id: org, email: null },
    resource: { type: "user", id: user },
    at: now,
  });
}

serveTransactions(create);
