import { Agent, request as httpRequest } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createLog } from "../../src/platform/log.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { rpcStates } from "../shape/built.ts";
import { chance } from "./chance.ts";
import { fuzzRequest } from "./requests.ts";
import type { FuzzRequest } from "./requests.ts";

const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 3_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_260_401);
const AT_ONCE = 12;

let app: TestApp;
const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
const complaints: string[] = [];
beforeAll(async () => {
  const log = createLog({
    level: "error",
    destination: { write: (line: string) => void complaints.push(line.slice(0, 2_000)) },
  });
  app = await startApp({ env: { SERVICE_MAGIC_LINK_DEV_ECHO: "1" }, log });
});
afterAll(async () => {
  agent.destroy();
  await app.close();
});

interface Seen {
  status: number;
  type: string;
  retryAfter: string | undefined;
  text: string;
}

function send({ method, path, headers, body }: FuzzRequest): Promise<Seen | "closed"> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(app.url);
    const sent = httpRequest(
      {
        agent,
        hostname,
        port,
        method,
        path,
        headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", () => resolve("closed"));
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            type: response.headers["content-type"] ?? "",
            retryAfter: response.headers["retry-after"],
            text: Buffer.concat(chunks).toString("latin1"),
          }),
        );
      },
    );
    const hang = setTimeout(() => sent.destroy(new Error("no answer within 120 s")), 120_000);
    sent.on("close", () => clearTimeout(hang));
    sent.on("error", (error: NodeJS.ErrnoException) =>
      error.code === "ECONNRESET" || error.code === "EPIPE" ? resolve("closed") : reject(error),
    );
    sent.end(body);
  });
}

const built = new Set(
  rpcStates()
    .filter(({ built: has }) => has)
    .map(({ rpc }) => rpc),
);
/** Routes that hash passwords in a bounded queue, and may return 503 (decisions 16.5). */
const queued = new Set([
  "Login",
  "CreateOrganization",
  "AcceptInvite",
  "ResetPassword",
  "ChangePassword",
  "VerifyStepUp",
  "VerifyStepUpChallenge",
]);

/** Internal details that no response contains. */
const PRIVATE: readonly RegExp[] = [
  /node_modules|\bat \w+ \(|ECONNREFUSED/u,
  /duplicate key value|syntax error at|invalid input syntax|\bselect .* from\b/u,
];

/** Why a response is not one that a caller may get; undefined when it is. */
function faultOf(request: FuzzRequest, seen: Seen): string | undefined {
  const { status, text, type } = seen;
  if (PRIVATE.some((detail) => detail.test(text))) return "contains internal details";
  if (status === 501)
    return built.has(request.rpc) &&
      request.headers["content-encoding"] === undefined &&
      !request.path.includes("compression=")
      ? "501 of an rpc that is built"
      : undefined;
  if (status === 504) return request.headers["connect-timeout-ms"] === undefined ? "504 without a deadline" : undefined;
  // No payment provider is configured here; Connect has the code in its details.
  if (status === 503 && /"provider_not_configured"/iu.test(text)) return undefined;
  if (status === 503) return queued.has(request.rpc.name) && seen.retryAfter !== undefined ? undefined : "503";
  if (status >= 500 || status < 200) return String(status);
  const printed = type.includes("json") && request.method !== "HEAD" && text !== "";
  if (status >= 400 && printed && typeof (JSON.parse(text) as { code?: unknown }).code !== "string")
    return "an error without a code";
  return undefined;
}

function describeRequest({ method, path, headers, body }: FuzzRequest): string {
  const { authorization = "none", ...others } = headers;
  const shown = JSON.stringify({ ...others, authorization: authorization.slice(0, 12) });
  return `${method} ${path.slice(0, 300)} ${shown} ${body?.slice(0, 500) ?? ""}`;
}

// FUZZ_SEED and FUZZ_REQUESTS change the run.
it(`each of ${REQUESTS} generated requests gets a response, none a 5xx (seed ${SEED})`, async () => {
  const dice = chance(SEED);
  const good = await app.login();
  const { body: me } = await app.call("GET", "/api/auth/me", { token: good });
  const known = {
    ids: [
      me.org_uuid as string,
      me.user_uuid as string,
      "0b1d2a3e-aaaa-4000-8000-00000000000f",
      "00000000-0000-0000-0000-000000000000",
    ],
    emails: [app.owner.email, "fuzz@example.test", "Fuzz+1@EXAMPLE.test"],
    words: ["Acme", "fuzz", "orbit-app", "admin", app.owner.password, "multi_tenant", "ed25519", "read:users"],
  };
  const tokens = [good, `${good}x`, good.split(".").slice(0, 2).join("."), "eyJhbGciOiJub25lIn0.e30.", "x"];
  const counts = new Map<number | "closed", number>();
  const faults: string[] = [];
  let left = REQUESTS;

  async function lane(): Promise<void> {
    while (left-- > 0 && faults.length < 10) {
      const request = fuzzRequest(dice, known, tokens);
      const seen = await send(request);
      const key = seen === "closed" ? seen : seen.status;
      counts.set(key, (counts.get(key) ?? 0) + 1);
      const fault = seen === "closed" ? "the connection was closed" : faultOf(request, seen);
      if (fault !== undefined)
        faults.push(`${fault}: ${describeRequest(request)} -> ${seen === "closed" ? "" : seen.text.slice(0, 300)}`);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane));

  expect(faults).toEqual([]);
  expect(complaints).toEqual([]);
  console.log(
    `fuzz: seed ${SEED}, answers by status: ${[...counts]
      .sort()
      .map(([status, count]) => `${status}: ${count}`)
      .join(", ")}`,
  );
  expect((await app.call("GET", "/readyz")).status).toBe(200);
  expect((await app.call("GET", "/api/auth/me", { token: good })).body).toEqual(me);
  expect(await app.login()).toBeTruthy();
});
