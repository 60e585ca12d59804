/**
 * Logins by OpenID Connect at the service on PORT, through CONNECTION. Asked `{begin}`, starts so many sign-ins; asked
 * `{complete}`, comes back from the provider and exchanges the session tokens, so many at once.
 */
import { Agent, request } from "node:http";
import type { IncomingHttpHeaders, RequestOptions } from "node:http";
import { codeOf, inParallel, serveLogins, subjectOf } from "../openid.ts";

const port = Number(process.env["PORT"]);
const base = `/api/auth/oidc/${process.env["CONNECTION"] ?? ""}`;
const agent = new Agent({ keepAlive: true });
let begun: { callback: string; cookie: string }[] = [];

interface Answer {
  status: number | undefined;
  headers: IncomingHttpHeaders;
  text: string;
}

function send(options: RequestOptions, body?: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: "127.0.0.1", port, agent, ...options }, (answer) => {
      let text = "";
      answer
        .setEncoding("utf8")
        .on("data", (chunk: string) => (text += chunk))
        .on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, text }));
    });
    sent.on("error", reject).end(body);
  });
}

async function redirect(path: string, headers: Record<string, string> = {}) {
  const answer = await send({ path, headers });
  if (answer.status !== 302) throw new Error(`GET ${path} answered ${answer.status}: ${answer.text}`);
  return { cookies: answer.headers["set-cookie"], query: new URL(answer.headers.location ?? "").searchParams };
}

async function begin(n: number): Promise<void> {
  const { cookies, query } = await redirect(`${base}/authorize`);
  const { state = "", nonce = "", code_challenge: challenge = "" } = Object.fromEntries(query);
  const code = codeOf({ nonce, challenge, subject: subjectOf(n) });
  const back = new URLSearchParams({ code, state, iss: process.env["ISSUER"] ?? "" });
  begun.push({ callback: `${base}/callback?${back.toString()}`, cookie: cookies?.[0]?.split(";")[0] ?? "" });
}

async function complete({ callback, cookie }: (typeof begun)[number]): Promise<void> {
  const { query } = await redirect(callback, { cookie });
  const body = JSON.stringify({ session_token: query.get("session_token") });
  const headers = { cookie, "content-type": "application/json", "content-length": Buffer.byteLength(body) };
  const { status, text } = await send({ path: "/api/auth/oidc/session", method: "POST", headers }, body);
  if (status !== 200 || !text.includes("access_token")) throw new Error(`a session token gave ${status}: ${text}`);
}

serveLogins({
  begin(count) {
    begun = [];
    return inParallel(count, 16, begin);
  },
  complete: (atOnce) => inParallel(begun.length, atOnce, (n) => complete(begun[n] as (typeof begun)[number])),
});
