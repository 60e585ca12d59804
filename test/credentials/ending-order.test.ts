import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { watchDeadlocks } from "../support/deadlocks.ts";
import { overtake, pausingLink } from "../support/pausing-link.ts";
import type { PausingLink } from "../support/pausing-link.ts";
import { elevated, founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

// A request holds its own credential, and waits for the one that it ends.
const { log, deadlocks } = watchDeadlocks();
let database: TestDatabase;
let link: PausingLink;
let app: TestApp;
beforeAll(async () => {
  database = await testDatabase();
  link = await pausingLink(database.url);
  app = await startApp({ databaseUrl: link.url, env: { SERVICE_OPEN_SIGNUP: "1" }, log });
});
afterAll(async () => {
  await app.close();
  await link.close();
  await database.close();
});
beforeEach(() => expect(deadlocks).toEqual([]));

/** A credential, and how another one ends it. */
interface EndableCredential {
  token: string;
  end(by: string): Promise<Answer>;
}

let made = 0;

/** A key of a person of its own: those of one person wait for their membership. */
async function apiKey(owner: Somebody): Promise<EndableCredential> {
  const { org } = owner;
  const token = await elevated(app, (await member(app, owner, 1)).token);
  const keys = `/api/admin/organizations/${org}/api-keys`;
  const { body } = await app.call("POST", keys, { token, body: { name: "Key", scopes: ["admin"] } });
  return { token: body.api_key, end: (by) => app.call("DELETE", `${keys}/${body.key_id}`, { token: by }) };
}

/** An identity with a token, as a thing that ends or changes in one of several ways. */
const identity =
  (end: (by: string, identityPath: string, tokenPath: string) => Promise<Answer>) =>
  async ({ token, org }: Somebody): Promise<EndableCredential> => {
    const identities = `/api/organizations/${org}/service-identities`;
    const { body } = await app.call("POST", identities, { token, body: { name: `Robot ${++made}`, role_id: 1 } });
    const wish = { name: "Token", identity_id: body.identity_id };
    const answer = await app.call("POST", `${identities}/automation-token`, { token, body: wish });
    const paths = [`${identities}/${body.identity_id}`, `${identities}/automation-tokens/${answer.body.token_id}`];
    return { token: answer.body.token, end: (by) => end(by, paths[0] ?? "", paths[1] ?? "") };
  };

const pairs: [what: string, statement: string, create: (by: Somebody) => Promise<EndableCredential>][] = [
  ["API keys revoke", "update api_keys set revoked_at", apiKey],
  [
    "automation tokens revoke",
    "update automation_tokens set revoked_at",
    identity((token, _, path) => app.call("DELETE", path, { token })),
  ],
  [
    "service identities delete",
    "judge_automation_token",
    identity((token, path) => app.call("DELETE", path, { token })),
  ],
  [
    "service identities demote",
    "judge_automation_token",
    identity((token, path) => app.call("PATCH", path, { token, body: { role_id: 3 } })),
  ],
];

it.each(pairs)("two %s each other at the same time, without a deadlock", async (_, statement, create) => {
  const founded = await founder(app);
  const owner = { ...founded, token: await elevated(app, founded.token) };
  const [one, other] = [await create(owner), await create(owner)];

  const answers = await overtake(
    link,
    database.url,
    statement,
    () => other.end(one.token),
    () => one.end(other.token),
  );

  expect(answers.map(outcome)).toEqual([expect.stringMatching(/^20[04]$/), "401 unauthorized"]);
  expect(deadlocks).toEqual([]);
});
