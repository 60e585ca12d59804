import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import type { Transport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { createCredentialWatch, whileValid } from "../../src/server/credential-watch.ts";
import { waitingInstall } from "../marketplace/stage.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

let app: TestApp;
let second: TestApp;
let install: string;
beforeAll(async () => {
  app = await startApp();
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  install = await waitingInstall(app, await app.login());
});
afterAll(async () => {
  await second.close();
  await app.close();
});

/** Ends the session of a token on the other instance. */
async function logout(token: string): Promise<void> {
  expect((await second.call("POST", "/api/auth/logout", { token })).status).toBe(204);
}

describe("an open stream", () => {
  it.each([
    ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
    ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
  ] satisfies [string, (baseUrl: string) => Transport][])("ends with its session: %s", async (_name, transport) => {
    const token = await app.login();
    const stream = createClient(BuyerService, transport(app.url))
      .watchInstall({ installId: install }, { headers: { authorization: `Bearer ${token}` } })
      [Symbol.asyncIterator]();
    expect((await stream.next()).value).toMatchObject({ installId: install });
    const end = stream.next().then(
      () => undefined,
      (error: unknown) => error,
    );
    await new Promise((resolve) => setTimeout(resolve, 700));
    await logout(token);
    const error = await end;
    expect(error).toBeInstanceOf(ConnectError);
    expect((error as ConnectError).code).toBe(Code.Unauthenticated);
  });

  it("an open REST stream ends with its session", async () => {
    const token = await app.login();
    const response = await fetch(`${app.url}/api/installs/${install}/watch`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(response.status).toBe(200);
    const lines: string[] = [];
    const end = (async () => {
      for await (const chunk of response.body ?? [])
        lines.push(
          ...Buffer.from(chunk as Uint8Array)
            .toString()
            .trim()
            .split("\n"),
        );
    })();
    await new Promise((resolve) => setTimeout(resolve, 700));
    await logout(token);
    await end;
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ install_id: install });
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ error: { code: "unauthorized", status: 401 } });
  });

  it("an open stream continues while its session lives", async () => {
    const token = await app.login();
    const transport = createConnectTransport({ baseUrl: app.url, httpVersion: "1.1" });
    const stop = new AbortController();
    const stream = createClient(BuyerService, transport)
      .watchInstall({ installId: install }, { headers: { authorization: `Bearer ${token}` }, signal: stop.signal })
      [Symbol.asyncIterator]();
    await stream.next();
    const next = stream.next().then(
      () => "said something",
      () => "ended",
    );
    const quiet = new Promise((resolve) => setTimeout(resolve, 1_700, "quiet"));
    expect(await Promise.race([next, quiet])).toBe("quiet");
    stop.abort();
    expect(await next).toBe("ended");
  });
});

describe("the check of a stream's credential", () => {
  async function* numbers(log: string[]): AsyncIterable<number> {
    try {
      for (let n = 0; ; n++) yield n;
    } finally {
      log.push("closed");
    }
  }

  async function* quiet(): AsyncIterable<number> {
    yield 1;
    await new Promise(() => undefined);
  }

  /** Watches streams of one credential that accept whoever holds it. */
  function acceptingWatch() {
    const credentials = createCredentialWatch<void>();
    return (check: () => Promise<void>) => (end: (reason: unknown) => void) =>
      credentials.watch("one", check, { accept: () => undefined, end });
  }

  it("the check stops with its consumer and leaves no timer", async () => {
    const log: string[] = [];
    let asked = 0;
    const watching = acceptingWatch();
    for await (const n of whileValid(
      numbers(log),
      watching(async () => void asked++),
    ))
      if (n === 3) break;
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(log).toEqual(["closed"]);
    expect(asked).toBe(0);
  });

  it("one check serves all streams of a credential, and ends all of them", async () => {
    const watching = acceptingWatch();
    let asked = 0;
    const check = async (): Promise<void> => {
      if (++asked === 2) throw new Error("revoked");
    };
    const ended = await Promise.allSettled(
      Array.from({ length: 300 }, async () => {
        for await (const n of whileValid(quiet(), watching(check))) expect(n).toBe(1);
      }),
    );
    expect(ended.every((one) => one.status === "rejected" && (one.reason as Error).message === "revoked")).toBe(true);
    expect(asked).toBe(2);
  });

  it("a stream that refuses the present holder ends, and others of the credential go on", async () => {
    const credentials = createCredentialWatch<string>();
    const read = async (accepted: readonly string[], signal: AbortSignal): Promise<void> => {
      const watch = (end: (reason: unknown) => void) => {
        signal.addEventListener("abort", () => end(signal.reason), { once: true });
        const accept = (holder: string): void => {
          if (!accepted.includes(holder)) throw new Error(`not for ${holder}`);
        };
        return credentials.watch("one", async () => "observer", { accept, end });
      };
      for await (const n of whileValid(quiet(), watch)) expect(n).toBe(1);
    };
    const stop = new AbortController();
    const other = read(["admin", "observer"], stop.signal);
    await expect(read(["admin"], stop.signal)).rejects.toThrow("not for observer");
    stop.abort(new Error("stopped"));
    await expect(other).rejects.toThrow("stopped");
  });

  it("the check passes errors of the stream on", async () => {
    const failing = async function* (): AsyncIterable<number> {
      yield 1;
      throw new Error("broken");
    };
    const seen: number[] = [];
    await expect(
      (async () => {
        for await (const n of whileValid(failing(), () => () => undefined)) seen.push(n);
      })(),
    ).rejects.toThrow("broken");
    expect(seen).toEqual([1]);
  });
});
