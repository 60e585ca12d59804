import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { draftOf } from "../support/market.ts";
import { founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { appPath, must, publish } from "./stage.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
});
afterAll(() => app.close());

const post = (body: unknown, token = owner.token): Promise<Answer> =>
  app.call("POST", "/api/marketplace/apps", { token, body });
const fields = (answer: Answer): string[] => (answer.body.errors as { field: string }[]).map(({ field }) => field);

it("an invalid draft is refused with all its violations", async () => {
  const wrong = {
    ...draftOf("admin", "http://10.0.0.1/"),
    name: " \t ",
    plans: [{ plan_id: "pro" }, { plan_id: "free" }, { plan_id: "pro", price_cents: 7 }],
  };
  const answer = await post(wrong);
  expect(outcome(answer)).toBe("400 validation_error");
  expect(fields(answer).sort()).toEqual(["name", "plans[2].plan_id", "provision_webhook", "slug"]);
  expect(must(await app.call("GET", "/api/marketplace/apps", { token: owner.token })).total).toBe(0);
});

it("an invalid edit is refused and changes nothing", async () => {
  const { appId, slug } = await publish(app, owner.token, {
    plans: [{ plan_id: "pro", name: "Pro", price_cents: 900, interval: "year" }],
  });
  const before = must(await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token }));
  for (const patch of [
    { name: " " },
    { plans: [{ plan_id: "a" }, { plan_id: "a" }] },
    { name: "New", provision_webhook: "http://169.254.169.254/" },
  ]) {
    expect(
      outcome(await app.call("PATCH", appPath(appId), { token: owner.token, body: patch })),
      JSON.stringify(patch),
    ).toBe("400 validation_error");
  }
  expect(must(await app.call("GET", `/api/marketplace/${slug}`, { token: owner.token }))).toEqual(before);
});

it("a name is stored without spaces around it, and one with control or invisible characters is refused", async () => {
  const { app_id: appId } = must(await post({ ...draftOf("trimmed", "http://127.0.0.1:9/"), name: " Acme CRM " }));
  expect(must(await app.call("GET", "/api/marketplace/trimmed", { token: owner.token })).name).toBe("Acme CRM");
  const patch = (text: string): Promise<Answer> =>
    app.call("PATCH", appPath(appId as string), { token: owner.token, body: { name: text } });
  expect(must(await patch("\tAcme ")).name).toBe("Acme");
  for (const bad of ["Acme\u200b", "\u202eemcA", "Ac\u0007me"]) {
    const answer = await patch(bad);
    expect(outcome(answer), JSON.stringify(bad)).toBe("400 validation_error");
    expect(fields(answer)).toEqual(["name"]);
  }
});

it.each([
  ["observer", 4],
  ["limited_access", 5],
])("role %s may not publish, and gets a 403 before the body is validated", async (_role, roleId) => {
  const someone = await member(app, owner, roleId);
  for (const body of [draftOf("by-an-observer", "http://127.0.0.1:9/"), {}, "{"])
    expect(outcome(await post(body, someone.token))).toBe("403 forbidden");
});
