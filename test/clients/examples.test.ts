import { execFile, spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cpSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { newWebhookSecret, signDelivery } from "../../src/platform/outgoing/signature.ts";
import { systemClock } from "../../src/platform/clock.ts";
import { systemRandom } from "../../src/platform/random.ts";
import { root } from "../shape/sources.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { draftOf, signUp } from "../support/market.ts";
import { temporalServer } from "../support/temporal.ts";
import { installPacked } from "./packed.ts";
import type { Installed } from "./packed.ts";

let app: TestApp;
let installed: Installed;
const children: ChildProcess[] = [];
beforeAll(async () => {
  app = await startApp({ role: "all", temporal: await temporalServer(), clock: systemClock });
  installed = installPacked(["express", "fastify", "@types/node", "@types/express"]);
  cpSync(path.join(root, "examples"), path.join(installed.folder, "examples"), { recursive: true });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});
afterAll(async () => {
  installed.remove();
  await app.close();
});

/** Runs an example until it listens. */
async function start(example: string, env: Record<string, string> = {}): Promise<{ url: string; lines: string[] }> {
  const child = spawn(process.execPath, [path.join(installed.folder, "examples", example, "server.ts")], {
    env: { PATH: process.env["PATH"] ?? "", ATRIUM_ISSUER: "http://atrium.test", ATRIUM_URL: app.url, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(child);
  const lines: string[] = [];
  const output = createInterface(child.stdout);
  output.on("line", (line) => lines.push(line));
  await once(output, "line");
  return { url: `http://127.0.0.1:${/\d+$/u.exec(lines[0] ?? "")?.[0] ?? ""}`, lines };
}

const request = async (method: string, url: string, token?: string): Promise<[number, unknown]> => {
  const headers = token === undefined ? undefined : { authorization: `Bearer ${token}` };
  const response = await fetch(url, { method, ...(headers && { headers }) });
  return [response.status, await response.json()];
};

describe("the examples", () => {
  it("backend-fastify guards its routes by role, entitlement and step-up", async () => {
    const { url } = await start("backend-fastify");
    const token = await app.login();
    expect(await request("GET", `${url}/projects`)).toMatchObject([401, { code: "unauthorized" }]);
    expect(await request("GET", `${url}/projects`, token)).toEqual([200, { organization: "Acme" }]);
    expect((await request("POST", `${url}/projects`, token))[0]).toBe(200);
    expect(await request("DELETE", `${url}/projects`, token)).toMatchObject([403, { code: "step_up_required" }]);
    expect((await request("DELETE", `${url}/projects`, await elevate(app, token)))[0]).toBe(200);
  });

  it("backend-express refuses a token of an ended session where it asks the service", async () => {
    const { url } = await start("backend-express");
    const token = await app.login();
    expect(await request("GET", `${url}/reports`, token)).toEqual([200, { organization: "Acme" }]);
    expect((await request("POST", `${url}/payments`, token))[0]).toBe(200);
    await app.call("POST", "/api/auth/logout", { token });
    expect((await request("GET", `${url}/reports`, token))[0]).toBe(200);
    expect((await request("POST", `${url}/payments`, token))[0]).toBe(401);
  });

  it("node signs in, lists members and steps up", async () => {
    const env = { ATRIUM_EMAIL: app.owner.email, ATRIUM_PASSWORD: app.owner.password, ATRIUM_ORG: app.owner.org };
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [path.join(installed.folder, "examples/node/members.ts")],
      { env: { ATRIUM_URL: app.url, ...env } },
    );
    expect(stdout).toMatch(/^owner@acme.test admin\nTokens are now signed by .+\n$/u);
  });

  it("webhook-receiver handles an event once, and refuses what is not signed", async () => {
    const secret = newWebhookSecret(systemRandom);
    const { url, lines } = await start("webhook-receiver", { WEBHOOK_SECRETS: secret });
    const event = { type: "user.created", timestamp: "", id: "evt_1", org_uuid: "", data: { user_uuid: "u1" } };
    const body = JSON.stringify(event);
    const send = async (secrets: string[]): Promise<number> => {
      const headers = { ...signDelivery({ id: "evt_1", timestamp: Math.floor(Date.now() / 1_000), body, secrets }) };
      return (await fetch(url, { method: "POST", body, headers })).status;
    };
    expect([await send([secret]), await send([secret]), await send([newWebhookSecret(systemRandom)])]).toEqual([
      204, 204, 401,
    ]);
    expect(lines.slice(1)).toEqual(["u1 joined as a member"]);
  });

  it.each([1, 100])("publisher provisions an install of %i seats", async (quantity) => {
    const { token } = await signUp(app);
    const slug = `example-${quantity}`;
    // The address is known only once the publisher runs with the secret of the app: it is set afterwards.
    const draft = await app.call("POST", "/api/marketplace/apps", {
      token,
      body: draftOf(slug, "http://127.0.0.1:9/"),
    });
    const { app_id: appId, webhook_secret: secret } = draft.body.data ?? draft.body;
    const { url } = await start("publisher", { PROVISION_SECRET: secret });
    const changed = await app.call("PATCH", `/api/marketplace/apps/${appId}`, {
      token,
      body: { provision_webhook: url },
    });
    expect([draft.status, changed.status]).toEqual([201, 200]);
    const buyer = await app.login();
    const approved = await app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token: buyer });
    expect(approved.status).toBe(200);
    const install = await app.call("POST", `/api/marketplace/${slug}/install`, { token: buyer, body: { quantity } });
    expect(install.status).toBe(202);
    const { install_id: installId } = install.body.data ?? install.body;
    const read = () => app.call("GET", `/api/installs/${installId}`, { token: buyer });
    await expect.poll(async () => ((await read()).body.data ?? (await read()).body).status).toBe("active");
  });
});
