/**
 * better-auth's SCIM package as its documentation has it, on node:http and the PostgreSQL in DATABASE: one connection
 * with a static token for each of CONNECTIONS directories, no projection, rate limits and telemetry off. USERS users of
 * each directory are there at the start.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { scim } from "@better-auth/scim";
import { betterAuth } from "better-auth";
import type { BetterAuthPlugin } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import pg from "pg";
import { SCIM_JSON, scimUser, scimUserName } from "../scim-users.ts";
import { serve } from "./serve.ts";

const count = Number(process.env["CONNECTIONS"] ?? "16");
const users = Number(process.env["USERS"] ?? "100");
const origin = "http://127.0.0.1";
const tokens = Array.from({ length: count }, (): string => randomUUID());

const auth = betterAuth({
  baseURL: origin,
  secret: "a secret that is used for measuring alone",
  database: new pg.Pool({ connectionString: process.env["DATABASE"], max: 14 }),
  plugins: [
    // The type of a plugin without managed connections has their tables as undefined.
    scim({
      connections: tokens.map((token, n) => ({
        id: `directory-${token}`,
        credentials: [{ type: "bearer", id: `token-${n}`, token }],
      })),
    }) as BetterAuthPlugin,
  ],
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
});
await (await getMigrations(auth.options)).runMigrations();

async function fill(token: string): Promise<void> {
  for (let n = 0; n < users; n++) {
    const response = await auth.handler(
      new Request(`${origin}/api/auth/scim/v2/Users`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, ...SCIM_JSON },
        body: JSON.stringify(scimUser(scimUserName(token, n))),
      }),
    );
    if (response.status !== 201) throw new Error(`a create answered ${response.status}: ${await response.text()}`);
  }
}
await Promise.all(tokens.map(fill));

const handler = toNodeHandler(auth);
serve(
  createServer((request: IncomingMessage, response: ServerResponse) => void handler(request, response)),
  { tokens },
);
