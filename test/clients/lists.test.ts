import { afterAll, beforeAll, expect, it } from "vitest";
import { paginate } from "../../src/clients/typescript/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { addMembers, signedIn } from "./support.ts";

const MEMBERS = 30;

let app: TestApp;
let orgUuid: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" } });
  const { atrium } = await signedIn(app);
  orgUuid = (await atrium.access.getMe({})).orgUuid ?? "";
  await addMembers(app, orgUuid, MEMBERS);
});
afterAll(() => app.close());

it.each([1, 10, 29])("after toArray of %i members, the cursor leads to the next one", async (max) => {
  const { atrium } = await signedIn(app);
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const pages = paginate(atrium.users.listUsers, cursor === undefined ? {} : { cursor });
    ids.push(...(await pages.toArray({ max })).map(({ userUuid }) => userUuid));
    cursor = pages.cursor;
  } while (cursor !== undefined);
  expect([ids.length, new Set(ids).size]).toEqual([MEMBERS, MEMBERS]);
});

it("after a loop left within a page, the cursor leads to that page, and after its end to the next", async () => {
  const { atrium } = await signedIn(app);
  const read = async (max: number): Promise<{ ids: string[]; rest: string[] }> => {
    const pages = paginate(atrium.users.listUsers, { limit: 7 });
    const ids: string[] = [];
    for await (const { userUuid } of pages) if (ids.push(userUuid) === max) break;
    const rest = await paginate(atrium.users.listUsers, { limit: 7, cursor: pages.cursor ?? "" }).toArray();
    return { ids, rest: rest.map(({ userUuid }) => userUuid) };
  };
  for (const max of [3, 7, 10, 14]) {
    const { ids, rest } = await read(max);
    expect(new Set([...ids, ...rest]).size).toBe(MEMBERS);
    expect(rest.length).toBe(MEMBERS - Math.floor(max / 7) * 7);
  }
});

it("a list without pages is read once, also by a function that the client does not know", async () => {
  const { atrium, network } = await signedIn(app);
  const { listSigningKeys } = atrium.signingKeys;
  const whole = (await listSigningKeys({ orgUuid })).data.map(({ keyId }) => keyId);
  for (const list of [listSigningKeys, (request: { orgUuid: string }) => listSigningKeys(request)]) {
    const before = network.count("ListSigningKeys");
    const keys = await paginate(list, { orgUuid }).toArray({ max: 100 });
    expect(keys.map(({ keyId }) => keyId)).toEqual(whole);
    expect(network.count("ListSigningKeys") - before).toBe(1);
  }
});
