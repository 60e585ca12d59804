import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { losingLink } from "../support/losing-link.ts";
import type { LosingLink } from "../support/losing-link.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must, publish } from "./stage.ts";

let home: TestDatabase;
let link: LosingLink;
let app: TestApp;
let admin: string;
beforeAll(async () => {
  home = await testDatabase();
  link = await losingLink(home.url);
  app = await startApp({ databaseUrl: link.url });
  admin = await app.login();
});
afterAll(async () => {
  await app.close();
  await link.close();
  await home.close();
});

/** Makes a change, and loses the first response to a statement of this text outside its transaction. */
function without(read: string, method: string, path: string, body: object = {}): Promise<Answer> {
  void link.lose(read);
  return app.call(method, path, { token: admin, body });
}

it("approving, changing, rejecting and archiving an app are answered from what they commit", async () => {
  const change = (method: string, path: string, body?: object) => without("orgs_names", method, path, body);
  const [taken, refused] = [await publish(app, admin), await publish(app, admin)];
  expect(await change("POST", `/api/admin/marketplace/apps/${taken.appId}/approve`)).toMatchObject({
    status: 200,
    body: { status: "published", publisher: { name: "Acme" } },
  });
  expect(await change("PATCH", appPath(taken.appId), { description: "New" })).toMatchObject({
    status: 200,
    body: { description: "New", publisher: { name: "Acme" } },
  });
  expect(await change("POST", appPath(taken.appId, "/archive"))).toMatchObject({
    status: 200,
    body: { status: "archived", publisher: { name: "Acme" } },
  });
  const rejection = { reason: "Too early" };
  expect(await change("POST", `/api/admin/marketplace/apps/${refused.appId}/reject`, rejection)).toMatchObject({
    status: 200,
    body: { status: "rejected", rejection_reason: "Too early", publisher: { name: "Acme" } },
  });
});

it("suspending and resuming an install are answered from what they commit, timeline included", async () => {
  const { appId, slug } = await publish(app, admin, {}, admin);
  const { install_id: id } = must(await app.call("POST", `/api/marketplace/${slug}/install`, { token: admin }));
  await runSql(home.url, "update installs set status = 'active', step = null where install_id = $1", [id]);
  const path = appPath(appId, `/installs/${id}`);
  const answers = [];
  for (const verb of ["suspend", "resume"]) {
    answers.push(must(await without("from installs i where i.install_id", "POST", `${path}/${verb}`)));
    app.clock.advance(1_000);
  }
  expect(answers).toMatchObject([
    { install_id: id, status: "suspended", app: { slug }, timeline: [{ event: "requested" }, { event: "suspended" }] },
    { install_id: id, status: "active", timeline: [{}, { event: "suspended" }, { event: "resumed" }] },
  ]);
  void link.lose("nothing");
  expect(must(await app.call("GET", path, { token: admin }))).toEqual(answers[1]);
});
