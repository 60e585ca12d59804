import { connect } from "node:http2";
import pg from "pg";
import { create, toBinary } from "@bufbuild/protobuf";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SendMagicLinkRequestSchema } from "../../gen/atrium/login/v1/login_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { draftOf, signUp } from "../support/market.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let publisher: string;
let blocker: pg.Client;
beforeAll(async () => {
  app = await startApp();
  publisher = (await signUp(app)).token;
});
afterAll(() => app.close());
beforeEach(async () => {
  blocker = new pg.Client({ connectionString: app.databaseUrl });
  await blocker.connect();
  await blocker.query("begin");
  // Inserts wait.
  await blocker.query("lock table mail_tokens, apps in exclusive mode");
});
afterEach(() => blocker.end());

const deadline = "250";
const procedure = "/atrium.login.v1.LoginService/SendMagicLink";

/** Releases the statements that wait, and waits until their transactions have ended. */
async function release(): Promise<void> {
  await blocker.query("rollback");
  const busy = `select 1 from pg_stat_activity where datname = current_database() and usename is not null
     and pid <> pg_backend_pid() and state <> 'idle' and application_name <> 'atrium-holder'`;
  await expect.poll(() => runSql(app.databaseUrl, busy)).toEqual([]);
}

/** Number of links and mails stored for an address. */
async function left(email: string): Promise<number> {
  const rows = await runSql(app.databaseUrl, "select 1 from mail_tokens where email = $1", [email]);
  return rows.length;
}

/** A unary gRPC call without a client library, whose own deadline would end the call before the server does. */
function grpc(email: string, timeout: string): Promise<string> {
  const message = toBinary(SendMagicLinkRequestSchema, create(SendMagicLinkRequestSchema, { email }));
  const frame = Buffer.alloc(5 + message.length);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return new Promise((resolve, reject) => {
    const session = connect(app.url);
    session.on("error", reject);
    const stream = session.request({
      ":method": "POST",
      ":path": procedure,
      "content-type": "application/grpc",
      te: "trailers",
      "grpc-timeout": timeout,
    });
    const seen = ({ "grpc-status": status }: Record<string, unknown>): void => {
      if (typeof status !== "string" && typeof status !== "number") return;
      session.destroy();
      resolve(String(status));
    };
    stream.on("response", seen);
    stream.on("trailers", seen);
    stream.on("error", reject);
    stream.resume();
    stream.end(frame);
  });
}

describe("A deadline that passes inside a transaction", () => {
  it("a deadline that passes inside a transaction returns 504 over REST and leaves nothing", async () => {
    const answer = await app.call("POST", "/api/auth/magic-link/send", {
      body: { email: "rest@people.test" },
      headers: { "connect-timeout-ms": deadline },
    });
    expect([answer.status, answer.body.code]).toEqual([504, "deadline_exceeded"]);
    await release();
    expect(await left("rest@people.test")).toBe(0);
  });

  it("a deadline that passes inside a transaction is deadline_exceeded over Connect and leaves nothing", async () => {
    const answer = await app.call("POST", procedure, {
      body: { email: "connect@people.test" },
      headers: { "connect-timeout-ms": deadline, "connect-protocol-version": "1" },
    });
    expect([answer.status, answer.body.code]).toEqual([504, "deadline_exceeded"]);
    await release();
    expect(await left("connect@people.test")).toBe(0);
  });

  it("a deadline that passes inside a transaction is DEADLINE_EXCEEDED over gRPC and leaves nothing", async () => {
    expect(await grpc("grpc@people.test", `${deadline}m`)).toBe("4");
    await release();
    expect(await left("grpc@people.test")).toBe(0);
  });

  it("a deadline that passes releases the Idempotency-Key, and the next try takes effect once", async () => {
    const publish = (headers: Record<string, string>) =>
      app.call("POST", "/api/marketplace/apps", {
        token: publisher,
        body: draftOf("late", "https://orbit.example/hook"),
        headers: { "idempotency-key": "late-1", ...headers },
      });
    expect((await publish({ "connect-timeout-ms": deadline })).status).toBe(504);
    await release();
    expect(await runSql(app.databaseUrl, "select 1 from apps where slug = 'late'")).toEqual([]);
    expect((await publish({})).status).toBe(201);
    expect((await publish({ "connect-timeout-ms": "20000" })).headers.get("idempotent-replayed")).toBe("true");
  });

  it("a deadline that is met does not change the response", async () => {
    await release();
    expect(await grpc("met@people.test", "20S")).toBe("0");
    expect(await left("met@people.test")).toBe(1);
  });

  it("a deadline beyond the longest timer is none over every protocol", async () => {
    await release();
    const send = async (path: string, milliseconds: string) => {
      const headers = { "connect-timeout-ms": milliseconds };
      return (await app.call("POST", path, { body: { email: "far@people.test" }, headers })).status;
    };
    expect(await send("/api/auth/magic-link/send", "9999999999")).toBe(200);
    expect(await send(procedure, "9999999999")).toBe(200);
    for (const timeout of ["99999999H", "99999999S"]) {
      expect(await grpc("far@people.test", timeout)).toBe("0");
      const web = { "content-type": "application/grpc-web+json", "grpc-timeout": timeout };
      const body = Buffer.concat([Buffer.from([0, 0, 0, 0, 27]), Buffer.from('{"email":"web@people.test"}')]);
      const response = await fetch(`${app.url}${procedure}`, { method: "POST", headers: web, body });
      expect(await response.text()).toContain("grpc-status: 0");
    }
  });
});
