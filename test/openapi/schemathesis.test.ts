import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { billingWorld } from "../billing/support.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { invite, newcomer, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

/** `bin` of a Python with the packages of `judges/requirements.txt`; `.ci/run` sets it where there is Python. */
const bin = process.env["OPENAPI_JUDGES"];
/** Cases an operation; 21 make more than 5,000 in all. */
const perOperation = process.env["OPENAPI_CASES"] ?? "1";
const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_headers_conformance",
  "response_schema_conformance",
];

/** Resources of each kind, so that cases meet more than 404. */
async function seed(app: TestApp, owner: Somebody, token: string): Promise<Record<string, string>> {
  const make = async (path: string, body: object): Promise<Record<string, string>> => {
    const answer = await app.call("POST", path, { token, body });
    if (answer.status >= 300) throw new Error(`${path} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  };
  const admin = `/api/admin/organizations/${owner.org}`;
  const { token: invitation } = await invite(app, owner, "colleague@people.test");
  const joined = await app.call("POST", "/api/auth/invite/accept", { body: { token: invitation, ...newcomer() } });
  const published = await make("/api/marketplace/apps", {
    name: "Clock",
    slug: "clock",
    description: "Counts hours.",
    deployment_modes: ["multi_tenant"],
    pricing_model: "seat",
    base_price_cents: 100,
    currency: "eur",
    provision_webhook: "http://127.0.0.1:9/hook",
  });
  const hook = await make("/api/v2/webhooks", { url: "http://127.0.0.1:9/hook", events: ["webhook.test"] });
  const identity = await make(`/api/organizations/${owner.org}/service-identities`, { name: "robot", role_id: 3 });
  await app.call("PUT", `${admin}/secrets/known`, { token, body: { value: "v" } });
  return {
    org_uuid: owner.org,
    user_uuid: joined.body.data.user_uuid as string,
    app_id: published["app_id"] as string,
    webhook_id: hook["webhook_id"] as string,
    identity_id: identity["identity_id"] as string,
    name: "known",
    scim_token: (await make(`${admin}/scim-tokens`, { name: "directory" }))["token"] as string,
  };
}

/** Serves the hooks: an elevated token that is valid, and the ids. */
async function serveControl(app: TestApp, owner: Somebody, ids: Record<string, string>) {
  let token = "";
  let pending: Promise<string> | undefined;
  async function valid(): Promise<string> {
    if (token !== "" && (await app.call("GET", "/api/auth/me", { token })).status === 200) return token;
    // A case may have renamed the organization.
    const sql = "select name from organizations where uuid = $1";
    const [org] = await runSql<{ name: string }>(app.databaseUrl, sql, [owner.org]);
    const plain = await app.login(owner.email, password, org?.name);
    // Wrong proofs of other cases lock step-up for a while.
    token = await elevate(app, plain, password).catch(() => "");
    return token || plain;
  }
  const server = createServer((request, response) => {
    if (request.url === "/ids") return void response.end(JSON.stringify(ids));
    pending = (pending ?? valid()).finally(() => (pending = undefined));
    pending.then(
      (text) => response.end(text),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

test.skipIf(bin === undefined)(
  "schemathesis finds no response that openapi.json does not describe, and none of 5xx",
  { timeout: 7_200_000 },
  async () => {
    const { app, buyer: owner, close } = await billingWorld({ clock: systemClock });
    const elevated = await elevate(app, owner.token, password);
    const control = await serveControl(app, owner, await seed(app, owner, elevated));
    const folder = mkdtempSync(join(tmpdir(), "atrium-openapi-"));
    const report = join(folder, "report.json");
    const args = [
      "run",
      `${app.url}/openapi.json`,
      ...["--checks", CHECKS.join(",")],
      ...["--phases", "examples,fuzzing"],
      ...["--max-examples", perOperation],
      ...["--seed", process.env["OPENAPI_SEED"] ?? "1"],
      ...["--generation-database", "none"],
      ...["--suppress-health-check", "all"],
      "--continue-on-failure",
      // Streams without end.
      ...["--exclude-operation-id-regex", "Watch"],
      ...["--report-json-path", report],
      ...["--workers", "2", "--no-color", "--warnings", "off"],
    ];
    const env = {
      ...process.env,
      SCHEMATHESIS_CONTROL: control.url,
      SCHEMATHESIS_HOOKS: fileURLToPath(new URL("judges/credentials.py", import.meta.url)),
    };
    const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
      execFile(join(bin ?? "", "schemathesis"), args, { env, maxBuffer: 1 << 28, cwd: folder }, (error, out, err) =>
        resolve({ code: error === null ? 0 : error.code, output: `${out}${err}` }),
      );
    });
    const found = readFileSync(report, "utf8");
    rmSync(folder, { recursive: true });
    await control.close();
    await close();
    expect(code, `${output}\n${found.slice(0, 2_000)}`).toBe(0);
  },
);
