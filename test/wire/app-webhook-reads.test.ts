import { afterAll, beforeAll, expect, it } from "vitest";
import { done, publishApp } from "../matrix/world.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const read = (token: string, path: string) => app.call("GET", path, { token });

it("30 parallel reads of an app's webhook and 10 requests of another tenant all succeed, in every round", async () => {
  const [publisher, other] = [await founder(app), await founder(app)];
  const { appId } = await publishApp(app, publisher.token);
  const body = { url: "https://hooks.example.test/app", events: ["*"], scope: "app", app_id: appId };
  const { webhook_id: id } = done(await app.call("POST", "/api/v2/webhooks", { token: publisher.token, body }));
  const others = ["/api/auth/me", "/api/v2/webhooks", "/api/roles", "/api/installs", "/api/organizations"];
  for (let round = 0; round < 10; round++) {
    const reads = Array.from({ length: 30 }, () => read(publisher.token, `/api/v2/webhooks/${id}`));
    const beside = Array.from({ length: 10 }, (_, at) => read(other.token, others[at % others.length] ?? ""));
    const answers = await Promise.all([...reads, ...beside]);
    expect(answers.filter(({ status }) => status !== 200)).toEqual([]);
    expect(
      answers.slice(0, 30).filter((answer) => answer.body.webhook_id !== id || answer.body.app_id !== appId),
    ).toEqual([]);
  }
});
