import { execFile, spawn, spawnSync } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { newWebhookSecret, signDelivery } from "../../src/platform/outgoing/signature.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { goEnvironment, goTools, pythonTools } from "../contract/clients/tools.ts";
import { root } from "../contract/run.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { signUp } from "../support/market.ts";
import { freePort } from "../support/postgres.ts";
import { installPython } from "./driver.ts";
import { publishGoModule } from "./go-module.ts";

const execute = promisify(execFile);
const secret = newWebhookSecret(systemRandom);

let app: TestApp;
let key: string;
let orgUuid: string;
beforeAll(async () => {
  app = await startApp({ clock: systemClock, env: { SERVICE_RATE_LIMITS: "off" } });
  const token = await app.login();
  orgUuid = (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;
  const made = await app.call("POST", `/api/admin/organizations/${orgUuid}/api-keys`, {
    token,
    body: { name: "backend", scopes: ["read:users"] },
  });
  key = made.body.api_key;
});
afterAll(() => app.close());

/** A program to run, with the folder that is removed after it. */
interface Example {
  program: string;
  args: string[];
  env: NodeJS.ProcessEnv;
  folder: string;
}

function go(folder: string, env: NodeJS.ProcessEnv, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync("go", ["-C", folder, ...args], { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`go ${args.join(" ")} failed:\n${stderr}`);
  return stdout;
}

/** Packages of a Go program with their files, as `go list` has them. @throws when one of them is missing */
const goFiles = (folder: string, env: NodeJS.ProcessEnv): string =>
  go(folder, env, "list", "-deps", "-f", "{{.ImportPath}} {{.GoFiles}}", ".");

const EXAMPLES: readonly { name: string; missing: string | undefined; build(): Example | Promise<Example> }[] = [
  {
    name: "python-fastapi",
    missing: pythonTools().missing,
    async build() {
      const { python, folder, env } = await installPython();
      return { program: python, args: [join(root, "examples/python-fastapi/main.py")], env, folder };
    },
  },
  {
    name: "go-http",
    missing: goTools().missing,
    build() {
      const source = join(root, "examples/go-http");
      const folder = mkdtempSync(join(tmpdir(), "atrium-example-"));
      const program = join(folder, "go-http");
      cpSync(source, folder, { recursive: true });
      const published = publishGoModule();
      try {
        const module = "atrium.example/atrium";
        go(folder, published.env, "mod", "edit", `-dropreplace=${module}`, `-droprequire=${module}`);
        go(folder, published.env, "get", `${module}@${published.version}`);
        // The same files as in this repository; those are built, because Go caches their compiled packages.
        expect(goFiles(folder, published.env)).toBe(goFiles(source, goEnvironment));
      } finally {
        published.remove();
      }
      go(source, goEnvironment, "build", "-o", program, ".");
      return { program, args: [], env: {}, folder };
    },
  },
];

for (const { name, missing, build } of EXAMPLES) {
  describe.skipIf(missing !== undefined)(`the example ${name}`, () => {
    let example: Example;
    let child: ChildProcess;
    let url: string;
    const lines: string[] = [];
    beforeAll(async () => {
      example = await build();
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      const settings = { ATRIUM_ISSUER: "http://atrium.test", ATRIUM_URL: app.url, ATRIUM_API_KEY: key };
      const env = {
        ...example.env,
        ...settings,
        ATRIUM_ORG_UUID: orgUuid,
        WEBHOOK_SECRETS: secret,
        PORT: String(port),
      };
      child = spawn(example.program, example.args, { env, stdio: ["ignore", "pipe", "inherit"] });
      if (child.stdout !== null) createInterface(child.stdout).on("line", (line) => lines.push(line));
      await vi.waitFor(async () => expect((await fetch(`${url}/projects`)).status).toBe(401), 300_000);
    });
    afterAll(() => {
      child.kill("SIGKILL");
      rmSync(example.folder, { recursive: true });
    });

    const request = async (method: string, path: string, token?: string): Promise<[number, unknown]> => {
      const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
      const response = await fetch(`${url}${path}`, { method, ...(headers && { headers }) });
      return [response.status, await response.json()];
    };

    it(`${name} guards its routes by role, entitlement and step-up`, async () => {
      const token = await app.login();
      expect(await request("GET", "/projects")).toMatchObject([401, { code: "unauthorized" }]);
      expect(await request("GET", "/projects", token)).toEqual([200, { organization: "Acme" }]);
      expect((await request("POST", "/projects", token))[0]).toBe(200);
      expect(await request("DELETE", "/projects", token)).toMatchObject([403, { code: "step_up_required" }]);
      expect(await request("DELETE", "/projects", await elevate(app, token))).toEqual([200, { deleted: true }]);
    });

    it(`${name} lists the members of its organization`, async () => {
      expect(await request("GET", "/members", await app.login())).toEqual([200, { members: [app.owner.email] }]);
    });

    it(`${name} refuses members of other organizations`, async () => {
      const { token } = await signUp(app);
      expect(await request("GET", "/members", token)).toMatchObject([401, { code: "unauthorized" }]);
    });

    // Not by spawnSync: a connection that the example closes meanwhile would look open to the next test.
    it(`${name} does not start without a webhook secret`, async () => {
      const env = { ...example.env, ATRIUM_ORG_UUID: orgUuid, WEBHOOK_SECRETS: "," };
      const started = execute(example.program, example.args, { env, timeout: 600_000 });
      await expect(started).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining("WEBHOOK_SECRETS") });
    });

    it(`${name} handles an event once, and refuses what is not signed`, async () => {
      const event = { type: "user.created", timestamp: "2026-01-01T00:00:00Z", id: "evt_1", org_uuid: "", data: {} };
      const body = JSON.stringify(event);
      const send = async (secrets: string[]): Promise<number> => {
        const signed = signDelivery({ id: "evt_1", timestamp: Math.floor(Date.now() / 1_000), body, secrets });
        return (await fetch(`${url}/webhooks`, { method: "POST", body, headers: { ...signed } })).status;
      };
      expect([await send([secret]), await send([secret]), await send([newWebhookSecret(systemRandom)])]).toEqual([
        204, 204, 401,
      ]);
      await expect.poll(() => lines.filter((line) => line === "user.created")).toEqual(["user.created"]);
    });
  });
}
