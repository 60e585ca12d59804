import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createGuardedClient, OutgoingError } from "../../src/platform/outgoing/client.ts";
import type { GuardedClient, GuardedClientOptions } from "../../src/platform/outgoing/client.ts";
import { makeIdentity } from "./identity.ts";
import { answering, ok, rawPeer, tlsPeer } from "./peers.ts";
import type { Peer } from "./peers.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function client(options: GuardedClientOptions = { allowLoopback: true }): GuardedClient {
  const made = createGuardedClient(options);
  cleanups.push(() => made.close(0));
  return made;
}
async function peer(behaviour: Parameters<typeof rawPeer>[0]): Promise<Peer> {
  const made = await rawPeer(behaviour);
  cleanups.push(() => made.close());
  return made;
}
const url = (port: number, path = "/"): string => `http://127.0.0.1:${port}${path}`;
const failure = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => new Error("it succeeded"),
    (reason: unknown) => reason,
  );
  return error instanceof OutgoingError ? error.reason : String(error);
};

describe("Responses", () => {
  test("a response has status, headers, body and duration, and the request carries what was passed", async () => {
    const seen: {
      method?: string | undefined;
      url?: string | undefined;
      headers?: NodeJS.Dict<string | string[]>;
      body?: string;
    } = {};
    const server = createServer((request, response) => {
      let body = "";
      request
        .on("data", (chunk: Buffer) => (body += chunk.toString()))
        .on("end", () => {
          Object.assign(seen, { method: request.method, url: request.url, headers: request.headers, body });
          response.writeHead(201, { "content-type": "text/plain", "x-two": ["a", "b"] }).end("done");
        });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => new Promise((resolve) => server.close(resolve)));
    const { port } = server.address() as AddressInfo;
    const answer = await client().request({
      method: "POST",
      url: url(port, "/hook?a=b%20c"),
      headers: { "content-type": "application/json" },
      body: '{"x":"ö"}',
    });
    expect(answer).toMatchObject({
      status: 201,
      truncated: false,
      headers: { "content-type": "text/plain", "x-two": "a, b" },
    });
    expect(answer.body.toString()).toBe("done");
    expect(answer.durationMs).toBeGreaterThanOrEqual(0);
    expect(seen).toMatchObject({
      method: "POST",
      url: "/hook?a=b%20c",
      body: '{"x":"ö"}',
      headers: {
        host: `127.0.0.1:${port}`,
        "user-agent": "Atrium/1",
        "accept-encoding": "identity",
        "content-type": "application/json",
      },
    });
  });

  test("a redirect is returned as the response and not followed", async () => {
    const target = await peer(ok("secret"));
    const from = await peer(answering(`HTTP/1.1 302 Found\r\nlocation: ${url(target.port)}\r\ncontent-length: 0`));
    expect(await client().request({ method: "GET", url: url(from.port) })).toMatchObject({
      status: 302,
      headers: { location: url(target.port) },
    });
    expect(target.connections()).toBe(0);
  });

  test("connections are reused", async () => {
    const server = await peer(ok("x"));
    const one = client();
    for (let call = 0; call < 20; call++) await one.request({ method: "GET", url: url(server.port) });
    // undici frees a connection a moment after the body's end, so a second may be opened meanwhile.
    expect(server.connections()).toBeLessThanOrEqual(2);
  });

  test("proxy environment variables are ignored", async () => {
    const proxy = await peer(ok("proxied"));
    const server = await peer(ok("direct"));
    for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) process.env[name] = url(proxy.port);
    cleanups.push(async () => {
      for (const name of ["HTTP_PROXY", "http_proxy", "ALL_PROXY"]) delete process.env[name];
    });
    expect((await client().request({ method: "GET", url: url(server.port) })).body.toString()).toBe("direct");
    expect(proxy.connections()).toBe(0);
  });
});

describe("Host names", () => {
  test("a name is refused when one of its resolved addresses is not allowed", async () => {
    const server = await peer(ok());
    for (const addresses of [
      ["10.0.0.1"],
      ["127.0.0.1", "10.0.0.1"],
      ["169.254.169.254", "127.0.0.1"],
      ["::ffff:127.0.0.1"],
      ["fd00::1"],
      ["not an address"],
      ["127.1"],
    ]) {
      const one = client({ allowLoopback: true, resolve: async () => addresses });
      expect(
        await failure(one.request({ method: "GET", url: `http://hooks.example:${server.port}/` })),
        String(addresses),
      ).toBe("refused_address");
    }
    expect(server.connections()).toBe(0);
  });

  test("a name is resolved once per connection, and the connection uses the address that was checked", async () => {
    const server = await peer((socket) =>
      answering("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2", "ok")(socket),
    );
    let asked = 0;
    const one = client({
      allowLoopback: true,
      resolve: async () => (asked++ % 2 === 0 ? ["127.0.0.1"] : ["10.0.0.1"]),
    });
    const call = () => one.request({ method: "GET", url: `http://rebind.example:${server.port}/` });
    expect((await call()).status).toBe(200);
    expect(asked).toBe(1);
    expect(await failure(call())).toBe("refused_address");
    expect(asked).toBe(2);
    expect((await call()).status).toBe(200);
    expect(server.connections()).toBe(2);
  });

  test("production refuses a name that resolves to loopback, except on the port of an exception", async () => {
    const server = await peer(ok("in"));
    const resolve = async (): Promise<string[]> => ["127.0.0.1"];
    const to = `http://internal.example:${server.port}/`;
    expect(await failure(client({ resolve }).request({ method: "GET", url: to }))).toBe("refused_address");
    const open = client({ resolve, allow: [{ host: "internal.example", port: server.port }] });
    expect((await open.request({ method: "GET", url: to })).body.toString()).toBe("in");
    expect(await failure(open.request({ method: "GET", url: `http://internal.example:${server.port + 1}/` }))).toBe(
      "refused_address",
    );
    expect(await failure(client({}).request({ method: "GET", url: `http://localhost:${server.port}/` }))).toBe(
      "refused_address",
    );
    expect((await client().request({ method: "GET", url: `http://localhost:${server.port}/` })).status).toBe(200);
  });

  test("a name that does not resolve and a port that does not accept fail with their own reasons", async () => {
    const none = client({
      resolve: () => Promise.reject(Object.assign(new Error("queryA ENOTFOUND"), { code: "ENOTFOUND" })),
    });
    expect(await failure(none.request({ method: "GET", url: "http://nowhere.example/" }))).toBe("dns");
    expect(
      await failure(client({ resolve: async () => [] }).request({ method: "GET", url: "http://nowhere.example/" })),
    ).toBe("dns");
    const gone = await rawPeer(() => undefined);
    await gone.close();
    expect(await failure(client().request({ method: "GET", url: url(gone.port) }))).toBe("connect");
  });

  test("a name server that never responds costs no more than the connect timeout", async () => {
    const stuck = client({ connectTimeoutMs: 100, resolve: () => new Promise(() => undefined) });
    expect(await failure(stuck.request({ method: "GET", url: "http://slow.example/" }))).toBe("timeout");
  });
});

describe("TLS", () => {
  test("the certificate must match the name and come from a trusted authority", async () => {
    const { ca, ...identity } = await makeIdentity("hooks.example");
    const server = await tlsPeer(identity, ok("safe"));
    cleanups.push(() => server.close());
    const resolve = async (): Promise<string[]> => ["127.0.0.1"];
    const trusting = client({ allowLoopback: true, resolve, ca });
    expect(
      (await trusting.request({ method: "GET", url: `https://hooks.example:${server.port}/` })).body.toString(),
    ).toBe("safe");
    expect(await failure(trusting.request({ method: "GET", url: `https://other.example:${server.port}/` }))).toBe(
      "tls",
    );
    expect(
      await failure(
        client({ allowLoopback: true, resolve }).request({
          method: "GET",
          url: `https://hooks.example:${server.port}/`,
        }),
      ),
    ).toBe("tls");
    const plain = await peer((socket) => socket.once("data", () => socket.write("HTTP/1.1 400 Bad Request\r\n\r\n")));
    expect(await failure(trusting.request({ method: "GET", url: `https://hooks.example:${plain.port}/` }))).toBe("tls");
  });

  test("a TLS handshake that never ends fails with a timeout", async () => {
    const mute = await peer(() => undefined);
    expect(
      await failure(
        client({ allowLoopback: true, connectTimeoutMs: 100 }).request({
          method: "GET",
          url: `https://127.0.0.1:${mute.port}/`,
        }),
      ),
    ).toBe("timeout");
  });
});

test("an aborted signal ends a call with its own reason, before and during the call", async () => {
  const mute = await peer(() => undefined);
  const reason = new Error("shutting down");
  await expect(
    client().request({ method: "GET", url: url(mute.port), signal: AbortSignal.abort(reason) }),
  ).rejects.toBe(reason);
  const stop = new AbortController();
  const call = client().request({ method: "GET", url: url(mute.port), signal: stop.signal });
  setTimeout(() => stop.abort(reason), 30);
  await expect(call).rejects.toBe(reason);
});

test("closing the client waits for calls in flight and refuses new ones", async () => {
  const slow = await peer((socket) =>
    socket.on("data", () => setTimeout(() => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), 50)),
  );
  const one = client();
  const call = one.request({ method: "GET", url: url(slow.port) });
  await new Promise((resolve) => setTimeout(resolve, 20));
  await one.close();
  expect((await call).status).toBe(200);
  expect(await failure(one.request({ method: "GET", url: url(slow.port) }))).toBe("reset");
});
