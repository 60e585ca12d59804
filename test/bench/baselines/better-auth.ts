/**
 * better-auth as its documentation has it, on node:http and the PostgreSQL in DATABASE: email and password, sessions
 * with the cookie cache on, rate limits and telemetry off. PEOPLE people sign up; the bench gets their cookies.
 */
import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import { betterAuth } from "better-auth";
import { getMigrations } from "better-auth/db/migration";
import { toNodeHandler } from "better-auth/node";
import pg from "pg";
import { serve } from "./serve.ts";

const people = Number(process.env["PEOPLE"] ?? "16");
const origin = "http://127.0.0.1";
const pool = new pg.Pool({ connectionString: process.env["DATABASE"], max: 14 });

const auth = betterAuth({
  baseURL: origin,
  secret: "a secret that is used for measuring alone",
  database: pool,
  emailAndPassword: { enabled: true },
  session: { cookieCache: { enabled: true, maxAge: 3_600 } },
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
  logger: { disabled: true },
});
await (await getMigrations(auth.options)).runMigrations();

const accounts = Array.from({ length: people }, (_, i) => ({
  email: `person${i}.${Date.now()}@bench.test`,
  password: `a long password of number ${i}`,
}));
const cookies: string[] = [];
for (const [i, account] of accounts.entries()) {
  const { headers } = await auth.api.signUpEmail({ body: { ...account, name: `Person ${i}` }, returnHeaders: true });
  cookies.push(
    headers
      .getSetCookie()
      .map((cookie) => cookie.slice(0, cookie.indexOf(";")))
      .join("; "),
  );
}

const handler = toNodeHandler(auth);
serve(
  createServer((request: IncomingMessage, response: ServerResponse) => void handler(request, response)),
  { accounts, cookies },
);
