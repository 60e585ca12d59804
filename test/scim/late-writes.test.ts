import { randomBytes } from "node:crypto";
import type pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openRaces } from "../matrix/race.ts";
import type { Races } from "../matrix/race.ts";
import { bindings } from "../shape/contract-routes.ts";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf, PATCH_URN } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let races: Races;
let directory: Directory;
let tokenId: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  races = await openRaces(app.databaseUrl, ["scim_users"]);
  directory = await directoryOf(app, await founder(app));
  tokenId = directory.token.split("_")[2] ?? "";
});
afterAll(async () => {
  await races.close();
  await app.close();
});

const some = (): string => randomBytes(5).toString("hex");
const userName = (): string => `late-${some()}@scim.test`;
const created = async (path: string, body: object): Promise<string> =>
  (await directory.call("POST", path, body)).body.id as string;
const user = (): Promise<string> => created("/Users", { userName: userName() });
const group = async (): Promise<string> =>
  created("/Groups", { displayName: some(), members: [{ value: await user() }] });
const patch = (value: object): object => ({ schemas: [PATCH_URN], Operations: [{ op: "add", value }] });
const externalId = (): object => ({ externalId: some() });

interface Request {
  path: string;
  body?: object;
}
type Write = () => Promise<Request> | Request;

const bulk = (...Operations: object[]): Request => ({ path: "/Bulk", body: { Operations } });
const creation = (): object => ({ method: "POST", path: "/Users", bulkId: userName(), data: { userName: userName() } });

/** What each writing route needs to succeed, with objects used by it alone. */
const writes: Readonly<Record<string, Readonly<Record<string, Write>>>> = {
  "POST /Users": { "": () => ({ path: "/Users", body: { userName: userName() } }) },
  "PUT /Users/{id}": { "": async () => ({ path: `/Users/${await user()}`, body: { userName: userName() } }) },
  "PATCH /Users/{id}": {
    "": async () => ({ path: `/Users/${await user()}`, body: patch(externalId()) }),
    "that ends a membership": async () => ({ path: `/Users/${await user()}`, body: patch({ active: false }) }),
  },
  "DELETE /Users/{id}": { "": async () => ({ path: `/Users/${await user()}` }) },
  "POST /Groups": {
    "": async () => ({ path: "/Groups", body: { displayName: some(), members: [{ value: await user() }] } }),
  },
  "PUT /Groups/{id}": { "": async () => ({ path: `/Groups/${await group()}`, body: { displayName: some() } }) },
  "PATCH /Groups/{id}": { "": async () => ({ path: `/Groups/${await group()}`, body: patch(externalId()) }) },
  "DELETE /Groups/{id}": { "": async () => ({ path: `/Groups/${await group()}` }) },
  "POST /Bulk": {
    "that creates a user": () => bulk(creation()),
    "that creates users together": () => bulk(creation(), creation()),
    "that changes a user": async () =>
      bulk({ method: "PATCH", path: `/Users/${await user()}`, data: patch(externalId()) }),
    "that deletes a user": async () => bulk({ method: "DELETE", path: `/Users/${await user()}` }),
    "that deletes a group": async () => bulk({ method: "DELETE", path: `/Groups/${await group()}` }),
    "that creates a user and deletes another": async () =>
      bulk(creation(), { method: "DELETE", path: `/Users/${await user()}` }),
  },
};

/** A response with its status; that of a bulk request is the one of its operations, or 500 when they differ. */
function outcome({ status, body, text }: Answer): { status: number; text: string } {
  const operations = (body?.Operations ?? []) as { status: string }[];
  const statuses = new Set(operations.map((operation) => (operation.status.startsWith("2") ? 200 : operation.status)));
  const [only = status, ...others] = statuses;
  return { status: others.length > 0 ? 500 : Number(only), text };
}

it("every writing route of SCIM is raced against the end of its token", () => {
  const routes = bindings()
    .filter(({ auth, method, path }) => auth === "scim" && method !== "GET" && !path.endsWith("/.search"))
    .map(({ method, path }) => `${method} ${path.slice(path.indexOf("}") + 1)}`);
  expect(routes.sort()).toEqual(Object.keys(writes).sort());
});

it("a writing route of SCIM returns 401 and commits nothing when its token is revoked during the request", async () => {
  const revokedAt = async (client: pg.Client, when: string): Promise<void> =>
    void (await client.query(`update scim_tokens set revoked_at = ${when} where token_id = $1`, [tokenId]));
  const ending = {
    end: (client: pg.Client) => revokedAt(client, "created_at"),
    undo: () => revokedAt(races.watch, "null"),
  };
  const faults: string[] = [];
  for (const [route, kinds] of Object.entries(writes))
    for (const [kind, write] of Object.entries(kinds)) {
      const name = `${route} ${kind}`.trim();
      const { path, body } = await write();
      const send = async () => outcome(await directory.call(route.split(" ")[0] ?? "", path, body));
      const fault = await races.raced(ending, send);
      if (fault !== undefined) faults.push(`${name} ${fault}`);
      const control = await send();
      if (control.status >= 300) faults.push(`${name}, undisturbed, answered ${control.status}: ${control.text}`);
    }
  expect(faults).toEqual([]);
});
