import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { installPacked } from "../clients/packed.ts";
import type { Installed } from "../clients/packed.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { target } from "./client.ts";
import { identity } from "./workload.ts";

const root = new URL("../..", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "atrium-example-"));
let app: TestApp;
let owner: Somebody;
let installed: Installed;
beforeAll(async () => {
  installed = installPacked(["@connectrpc/connect-node"]);
  cpSync(join(root, "examples"), join(installed.folder, "examples"), { recursive: true });
  app = await startApp({ clock: systemClock });
  owner = await founder(app);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  installed.remove();
  await app.close();
});

function run(script: string, env: Record<string, string>): Promise<{ status: number; output: string }> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [script],
      { cwd: installed.folder, env: { ...process.env, ...env } },
      (error, stdout, stderr) => {
        resolve({ status: error === null ? 0 : Number(error.code), output: `${stdout}${stderr}` });
      },
    );
  });
}

test("the workload in TypeScript gets an SVID by its automation token and calls over mutual TLS", async () => {
  const identityId = await identity(app, owner, 2);
  const token = await app.call("POST", `/api/organizations/${owner.org}/service-identities/automation-token`, {
    token: owner.token,
    body: { identity_id: identityId, name: "example" },
  });
  const ca = join(folder, "mtls-server.pem");
  writeFileSync(ca, target(app).ca);
  const { status, output } = await run("examples/workload-svid/workload.ts", {
    ATRIUM_URL: app.url,
    ATRIUM_MTLS_URL: target(app).url.replace("127.0.0.1", "localhost"),
    ATRIUM_MTLS_CA: ca,
    ATRIUM_AUTOMATION_TOKEN: token.body.token as string,
  });
  expect(output).toContain(
    `spiffe://${owner.org}.atrium.local/svc/${identityId} acts in ${owner.orgName} as manager\n`,
  );
  expect(status).toBe(0);
});
