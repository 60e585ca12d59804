import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, mailsTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

const TEN_MINUTES_MS = 600_000;

let app: TestApp;
let owner: Somebody;
let directory: Directory;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "on", SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
  directory = await directoryOf(app, owner);
});
afterAll(() => app.close());

/** Somebody with an account, whom the directory has invited; their mail budget is full again. */
async function invited(): Promise<{ email: string; path: string }> {
  const { email } = await founder(app);
  app.clock.advance(TEN_MINUTES_MS);
  const user = await directory.user({ userName: email, active: false });
  return { email, path: `/Users/${user.id}` };
}

const setActive = (path: string, value: boolean) => directory.patch(path, { op: "replace", path: "active", value });

test("a user is invited again three times in ten minutes, by a PATCH, a PUT or a Bulk", async () => {
  const { email, path } = await invited();
  const before = (await mailsTo(app, email)).length;
  const bulk = async () => {
    const Operations = [{ method: "PATCH", path, data: { active: true } }];
    const { body } = await directory.call("POST", "/Bulk", { Operations });
    return `${body.Operations[0].status} ${body.Operations[0].response?.code ?? ""}`.trim();
  };
  const patch = () => setActive(path, true).then(refusal);
  const put = () => directory.call("PUT", path, { userName: email, active: true }).then(refusal);
  for (const invite of [patch, put, bulk]) {
    expect(await invite()).toBe("200");
    // While the invitation is open, nothing is mailed.
    expect(await invite()).toBe("200");
    expect(refusal(await setActive(path, false))).toBe("200");
  }
  for (const invite of [patch, put, bulk]) expect(await invite()).toBe("429 rate_limited");
  expect((await mailsTo(app, email)).length).toBe(before + 3);
  expect((await directory.patch(path, { op: "add", path: "title", value: "T" })).body.title).toBe("T");
  app.clock.advance(TEN_MINUTES_MS);
  expect(await patch()).toBe("200");
  expect((await mailsTo(app, email)).length).toBe(before + 4);
});

test("parallel changes that invite again mail no more than the budget", async () => {
  const { email, path } = await invited();
  const before = (await mailsTo(app, email)).length;
  for (let round = 0; round < 10; round++)
    await Promise.all([setActive(path, true), setActive(path, false), setActive(path, true), setActive(path, false)]);
  expect((await mailsTo(app, email)).length).toBeLessThanOrEqual(before + 3);
});

test("while mail is off, a change that invites again returns 503, and others succeed", async () => {
  const { email, path } = await invited();
  const silent = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock, env: { SERVICE_MAIL: "off" } });
  try {
    const call = (body: object) =>
      silent.call("PATCH", `${directory.base}${path}`, {
        token: directory.token,
        body,
        headers: { "content-type": "application/scim+json" },
      });
    expect(refusal(await call({ active: true }))).toBe("503 unavailable");
    expect(refusal(await call({ title: "T" }))).toBe("200");
    expect((await directory.call("GET", path)).body).toMatchObject({ userName: email, active: false, title: "T" });
  } finally {
    await silent.close();
  }
});

test("each token of a directory can make 600 requests a minute", async () => {
  const another = await founder(app);
  const [one, other] = [await directoryOf(app, another), await directoryOf(app, another)];
  const read = (by: Directory) => by.call("GET", "/Users?count=1");
  for (let sent = 0; sent < 600; sent += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => read(one)));
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
  }
  const refused = await read(one);
  expect(refusal(refused)).toBe("429 rate_limited");
  expect(refused.headers.get("retry-after")).toBe("1");
  expect((await read(other)).status).toBe(200);
});
