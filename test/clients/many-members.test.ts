import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { UsersService } from "../../gen/atrium/users/v1/index.ts";
import { bearer, createAtriumTransport, createClient, paginate } from "../../src/clients/typescript/index.ts";
import type { Client } from "../../src/clients/typescript/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { languages } from "./driver.ts";
import { addMembers, countingFetch, signedIn } from "./support.ts";

/** More than lists by offset reach. */
const MEMBERS = 25_000;

type ListUsers = Client<typeof UsersService>["listUsers"];

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, clock: systemClock });
  token = await app.login();
  const { org_uuid: orgUuid } = (await app.call("GET", "/api/auth/me", { token })).body;
  await addMembers(app, orgUuid, MEMBERS, 10);
});
afterAll(() => app.close());

it.each(["email", "-email", "created_at", "-created_at"])(
  "the client in TypeScript reads each of 25,000 members once by %s",
  async (sort) => {
    const { atrium, network } = await signedIn(app);
    const members = await paginate(atrium.users.listUsers, { sort }).toArray();
    expect([members.length, new Set(members.map(({ userUuid }) => userUuid)).size]).toEqual([MEMBERS, MEMBERS]);
    const values = members.map(({ email, createdAt }) => (sort.endsWith("email") ? email : `${createdAt?.seconds}`));
    expect(values).toEqual(sort.startsWith("-") ? values.toSorted().toReversed() : values.toSorted());
    expect(network.count("ListUsers")).toBe(MEMBERS / 200);
  },
);

it.each([
  ["a client of createClient", 200, (call: ListUsers) => call],
  ["a function of one's own", 50, (call: ListUsers) => (request: Parameters<ListUsers>[0]) => call(request)],
] as const)("paginate reads each of 25,000 members once with %s", async (_name, size, callOf) => {
  const network = countingFetch();
  const transport = createAtriumTransport({ baseUrl: app.url, credential: bearer(token), fetch: network.fetch });
  const { listUsers } = createClient(UsersService, transport);
  const members = await paginate(callOf(listUsers), {}).toArray();
  expect([members.length, new Set(members.map(({ userUuid }) => userUuid)).size]).toEqual([MEMBERS, MEMBERS]);
  expect(network.count("ListUsers")).toBe(MEMBERS / size);
});

for (const language of languages())
  describe.skipIf(language.missing !== undefined)(`the client in ${language.name}`, () => {
    it("reads each of 25,000 members once", async () => {
      const driver = await language.start();
      try {
        const { ids } = await driver.run("members", { url: app.url, token });
        expect([ids.length, new Set(ids).size]).toEqual([MEMBERS, MEMBERS]);
      } finally {
        await driver.stop();
      }
    });
  });
