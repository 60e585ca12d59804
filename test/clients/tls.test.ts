import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { systemClock } from "../../src/platform/clock.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { openWorkbench } from "../support/openssl.ts";
import { languages } from "./driver.ts";
import type { Driver } from "./driver.ts";

/** A private authority, and a certificate of it for `localhost` and `::1`. */
interface Authority {
  caFile: string;
  ca: string;
  cert: string;
  key: string;
}

async function makeAuthority(folder: string): Promise<Authority> {
  const { openssl, close } = await openWorkbench();
  const file = (name: string): string => join(folder, name);
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const root = ["-x509", "-subj", "/CN=Private root", "-addext", "basicConstraints=critical,CA:TRUE"];
  const leaf = [
    ...["-x509", "-subj", "/CN=service", "-CA", file("ca.pem"), "-CAkey", file("ca.key")],
    ...["-addext", "subjectAltName=DNS:localhost,IP:::1", "-addext", "basicConstraints=critical,CA:FALSE"],
    ...["-addext", "extendedKeyUsage=serverAuth"],
  ];
  const outcomes = [
    await openssl("req", ...key, ...root, "-days", "2", "-keyout", file("ca.key"), "-out", file("ca.pem")),
    await openssl("req", ...key, ...leaf, "-days", "2", "-keyout", file("leaf.key"), "-out", file("leaf.pem")),
  ];
  await close();
  for (const { ok, output } of outcomes) if (!ok) throw new Error(output);
  const [ca = "", cert = "", leafKey = ""] = ["ca.pem", "leaf.pem", "leaf.key"].map((name) =>
    readFileSync(file(name), "utf8"),
  );
  return { caFile: file("ca.pem"), ca, cert, key: leafKey };
}

/** Ends TLS in front of the service, over HTTP/1.1 and HTTP/2, and counts connections. */
async function startTls(app: TestApp, { cert, key }: Authority) {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ cert, key, ALPNProtocols: ["h2", "http/1.1"] }, (socket) => {
    front.connections++;
    const onward = connect(Number(new URL(app.url).port), "127.0.0.1");
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy());
      one.on("close", () => sockets.delete(one) && other.destroy());
      one.pipe(other);
    }
  });
  server.on("tlsClientError", () => undefined);
  const front = {
    connections: 0,
    port: 0,
    /** Ends connections as a server does that has kept them long enough. */
    endAll() {
      for (const socket of sockets) socket.end();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
  // Any address: `localhost` may be either of the two.
  server.listen(0, "::");
  await once(server, "listening");
  front.port = (server.address() as AddressInfo).port;
  return front;
}

const folder = mkdtempSync(join(tmpdir(), "atrium-tls-"));
let app: TestApp;
let token: string;
let authority: Authority;
let front: Awaited<ReturnType<typeof startTls>>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" }, clock: systemClock });
  token = await app.login();
  authority = await makeAuthority(folder);
  front = await startTls(app, authority);
});
afterAll(async () => {
  front.close();
  await app.close();
  rmSync(folder, { recursive: true });
});

for (const language of languages())
  describe.skipIf(language.missing !== undefined)(`the client in ${language.name}`, () => {
    let trusting: Driver;
    let stranger: Driver;
    beforeAll(async () => {
      trusting = await language.start({ SSL_CERT_FILE: authority.caFile });
      stranger = await language.start();
    });
    afterAll(async () => {
      await trusting.stop();
      await stranger.stop();
    });
    const at = (host: string) => ({ url: `https://${host}:${front.port}`, token, retries: 0 });

    it.each(["localhost", "[::1]"])("calls over TLS by the certificate of a private authority, at %s", async (host) => {
      expect(await trusting.run("me", at(host))).toMatchObject({ email: app.owner.email });
      const { secret } = await trusting.run("create_key", { ...at(host), org_uuid: await orgUuid(), name: host });
      expect(await trusting.run("me", { ...at(host), token: secret })).toMatchObject({ principal: "api_key" });
    });

    it("sends nothing to a server whose authority it does not know, or of another name", async () => {
      const before = (await ownKeys()).length;
      const args = { org_uuid: await orgUuid(), name: "never" };
      for (const [driver, host] of [
        [stranger, "localhost"],
        [trusting, "127.0.0.1"],
      ] as const)
        expect(await driver.fail("create_key", { ...at(host), ...args })).toMatchObject({
          error_code: "unavailable",
          status: 0,
        });
      expect((await ownKeys()).length).toBe(before);
    });

    it("uses a connection of TLS again, and opens another when the server has ended it", async () => {
      const args = at("localhost");
      await trusting.run("me", args);
      const before = front.connections;
      for (let nth = 0; nth < 5; nth++) await trusting.run("me", args);
      expect(front.connections - before).toBeLessThanOrEqual(language.name === "Go" ? 5 : 0);
      front.endAll();
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await trusting.run("me", args)).toMatchObject({ email: app.owner.email });
    });

    it("makes 150 calls at once", async () => {
      expect(await trusting.run("many", { ...at("localhost"), count: 150 })).toEqual({ answers: 150 });
    });

    it("sends and receives text beyond ASCII", async () => {
      const name = `Zoë 漢字 \u{1F600} ${language.name}`;
      await trusting.run("update_profile", { ...at("localhost"), first_name: name });
      expect((await app.call("GET", "/api/profile", { token })).body.first_name).toBe(name);
    });

    it("verifies tokens with keys that it fetches over TLS", async () => {
      const base = `https://localhost:${front.port}`;
      const job = { key: "tls", issuer: "http://atrium.test", base_url: base, token };
      expect(await trusting.run("verify", job)).toMatchObject({ org_name: "Acme" });
      expect(await stranger.fail("verify", job)).toMatchObject({ kind: "token", status: 503 });
    });
  });

const orgUuid = async (): Promise<string> => (await app.call("GET", "/api/auth/me", { token })).body.org_uuid;

async function ownKeys(): Promise<unknown[]> {
  const path = `/api/admin/organizations/${await orgUuid()}/api-keys?limit=100`;
  return (await app.call("GET", path, { token })).body.data;
}
