import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { languages } from "./driver.ts";
import type { Driver } from "./driver.ts";
import { addMembers } from "./support.ts";

const MEMBERS = 30;

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" } });
  token = await app.login();
  const { org_uuid: orgUuid } = (await app.call("GET", "/api/auth/me", { token })).body;
  await addMembers(app, orgUuid, MEMBERS);
});
afterAll(() => app.close());

for (const language of languages()) {
  describe.skipIf(language.missing !== undefined)(`lists in ${language.name}`, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await language.start();
    });
    afterAll(() => driver.stop());
    const read = async (args: object): Promise<{ ids: string[]; cursor: string }> =>
      driver.run("members", { url: app.url, token, ...args });

    it("after a loop left within a page, the cursor leads to that page, and after its end to the next", async () => {
      const all = (await read({ limit: 7 })).ids;
      expect(new Set(all).size).toBe(MEMBERS);
      for (const max of [3, 7, 10, 14, MEMBERS]) {
        const { ids, cursor } = await read({ limit: 7, max });
        expect(ids).toEqual(all.slice(0, max));
        const rest = cursor === "" && max === MEMBERS ? [] : (await read({ limit: 7, cursor })).ids;
        expect(rest).toEqual(all.slice(max === MEMBERS ? max : max - (max % 7)));
      }
    });

    it("a list that begins at an offset is read from there", async () => {
      const all = (await read({})).ids;
      expect((await read({ offset: 10, limit: 7 })).ids).toEqual(all.slice(10));
    });

    it("a function of one's own around the call is read as the call itself", async () => {
      expect((await read({ limit: 7, wrapped: true })).ids).toHaveLength(MEMBERS);
    });
  });
}
