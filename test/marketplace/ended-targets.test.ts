import { afterAll, beforeAll, expect, it } from "vitest";
import { migrations } from "../../src/migrations/index.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { migrate } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openMarket } from "../support/market.ts";
import type { Market, Offer } from "../support/market.ts";
import { outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { appPath, must } from "./stage.ts";

let app: TestApp;
let market: Market;
beforeAll(async () => {
  app = await startApp({ clock: systemClock });
  market = await openMarket(app);
});
afterAll(async () => {
  await market.close();
  await app.close();
});

type Target = Record<"target_id" | "install_id" | "status", string>;

const targetOf = async (installId: string): Promise<Target | undefined> =>
  (must(await app.call("GET", "/api/admin/cloud-targets?limit=200", { token: market.buyer })).data as Target[]).find(
    ({ install_id: id }) => id === installId,
  );

/** A single-tenant install with a cloud target. */
async function withTarget(): Promise<{ offer: Offer; installId: string }> {
  const offer = await market.offer(() => ({ status: 200 }));
  const body = { deployment_modes: ["single_tenant"] };
  must(await app.call("PATCH", appPath(offer.appId), { token: market.publisher, body }));
  const installId = must(await offer.install()).install_id as string;
  const report = { status: "active", cloud_target: { provider: "aws", region: "eu-1" } };
  must(await offer.report(installId, report));
  return { offer, installId };
}

it("the cloud target of an install is revoked when the publisher reports its end", async () => {
  const { offer, installId } = await withTarget();
  must(await app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer }));
  expect(await targetOf(installId)).toMatchObject({ status: "active" });
  must(await offer.report(installId, { status: "deprovisioned" }));
  const target = await targetOf(installId);
  expect(target).toMatchObject({ status: "revoked" });
  const path = `/api/admin/cloud-targets/${target?.target_id ?? ""}/revoke`;
  must(await app.call("POST", path, { token: market.buyer, body: {} }));
  const revoked = "select 1 from audit_events where type = 'cloud_target.revoked' and metadata ->> 'install_id' = $1";
  expect(await runSql(app.databaseUrl, revoked, [installId])).toEqual([]);
});

it("an install that its organization ended takes no report of another end", async () => {
  const { offer, installId } = await withTarget();
  must(await app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer }));
  for (let time = 0; time < 2; time++) must(await offer.report(installId, { status: "deprovisioned" }));
  for (const status of ["failed", "active"])
    expect(outcome(await offer.report(installId, { status }))).toBe("409 invalid_transition");
});

it("a cloud target can be revoked while the end of its install is reported", async () => {
  for (let round = 0; round < 5; round++) {
    const { offer, installId } = await withTarget();
    must(await app.call("DELETE", `/api/installs/${installId}`, { token: market.buyer }));
    const path = `/api/admin/cloud-targets/${(await targetOf(installId))?.target_id ?? ""}/revoke`;
    const answers = await Promise.all([
      app.call("POST", path, { token: market.buyer, body: {} }),
      offer.report(installId, { status: "deprovisioned" }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await targetOf(installId)).toMatchObject({ status: "revoked" });
    expect(outcome(await app.call("POST", path, { token: market.buyer, body: {} }))).toMatch(/^200/u);
  }
});

it("a migration revokes the cloud targets of installs that are over, and no others", async () => {
  const [over, live] = [await withTarget(), await withTarget()];
  await runSql(app.databaseUrl, "update installs set status = 'deprovisioned' where install_id = $1", [over.installId]);
  await runSql(app.databaseUrl, "delete from schema_migrations where name = '0093-ended-cloud-targets'");
  await migrate({ url: app.databaseUrl, migrations, log: silentLog });
  expect(await targetOf(over.installId)).toMatchObject({ status: "revoked" });
  expect(await targetOf(live.installId)).toMatchObject({ status: "active" });
});
