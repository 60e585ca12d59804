import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must, publish } from "./stage.ts";

let app: TestApp;
let admin: string;
let publisher: Somebody;
let buyer: Somebody;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  [publisher, buyer] = [await founder(app), await founder(app)];
});
afterAll(() => app.close());

/** The path of an active install of a new app. */
async function active(by: Somebody): Promise<string> {
  const { appId, slug } = await publish(app, publisher.token, {}, admin);
  const { install_id: installId } = must(
    await app.call("POST", `/api/marketplace/${slug}/install`, { token: by.token }),
  );
  await runSql(app.databaseUrl, "update installs set status = 'active', step = null where install_id = $1", [
    installId,
  ]);
  return appPath(appId, `/installs/${installId}`);
}

const loggedIn = async ({ org, token }: Somebody, installPath: string, type: string) =>
  must(await app.call("GET", `/api/organizations/${org}/audit-events?type=${type}`, { token })).data.filter(
    ({ resource_id: id }: { resource_id: string }) => installPath.endsWith(id),
  );

it.each(["suspend", "resume"])(
  "a %s is in the publisher's log with who did it, and in the buyer's log without",
  async (verb) => {
    const path = await active(buyer);
    must(await app.call("POST", `${path}/suspend`, { token: publisher.token }));
    if (verb === "resume") must(await app.call("POST", `${path}/resume`, { token: publisher.token }));
    const type = verb === "suspend" ? "install.suspended" : "install.resumed";
    const seen = await loggedIn(buyer, path, type);
    expect(seen).toMatchObject([{ outcome: "success", actor: null, user_uuid: null, ip_address: "" }]);
    expect(JSON.stringify(seen)).not.toContain(publisher.email);
    expect(JSON.stringify(seen)).not.toContain(publisher.userUuid);
    expect(await loggedIn(publisher, path, type)).toMatchObject([
      { outcome: "success", actor: { type: "user", id: publisher.userUuid, email: publisher.email } },
    ]);
  },
);

it("a suspension in the publisher's own organization is logged once, with who did it", async () => {
  const path = await active(publisher);
  must(await app.call("POST", `${path}/suspend`, { token: publisher.token }));
  expect(await loggedIn(publisher, path, "install.suspended")).toMatchObject([{ actor: { email: publisher.email } }]);
});

it("a suspension by a platform admin is in both logs with who did it", async () => {
  const path = await active(buyer);
  must(await app.call("POST", `${path}/suspend`, { token: admin }));
  for (const somebody of [buyer, publisher])
    expect(await loggedIn(somebody, path, "install.suspended")).toMatchObject([
      { actor: { email: "owner@acme.test" } },
    ]);
});
