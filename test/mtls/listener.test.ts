import { createHash, randomUUID, X509Certificate } from "node:crypto";
import { connect as connectTls } from "node:tls";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { readConfig } from "../../src/platform/config.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { get, open, opened, target } from "./client.ts";
import { issue, rootOf } from "../support/certificates.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
});
afterAll(() => app.close());

const bearer = () => ({ authorization: `Bearer ${owner.token}` });

describe("the listener of mutual TLS", () => {
  test("it serves REST over HTTP/1.1 and HTTP/2 to a bearer without a client certificate", async () => {
    expect(await get(app, "/api/auth/me", {}, bearer())).toMatchObject({ status: 200, body: { email: owner.email } });
    const connection = await open(app);
    expect(await connection.get("/api/auth/me", bearer())).toMatchObject({ status: 200, body: { email: owner.email } });
    connection.close();
  });

  test("it serves gRPC, Connect and gRPC-Web", async () => {
    const { url, ca } = target(app);
    const nodeOptions = { ca, servername: "localhost" };
    for (const transport of [
      createGrpcTransport({ baseUrl: url, nodeOptions }),
      createConnectTransport({ baseUrl: url, nodeOptions, httpVersion: "2" }),
      createGrpcWebTransport({ baseUrl: url, nodeOptions, httpVersion: "1.1" }),
    ]) {
      const me = await createClient(AccessService, transport).getMe({}, { headers: bearer() });
      expect(me.email).toBe(owner.email);
    }
  });

  test("a request without bearer and without client certificate is 401 with a challenge", async () => {
    const { status, body, headers } = await get(app, "/api/auth/me");
    expect({ status, code: body.code }).toEqual({ status: 401, code: "unauthorized" });
    expect(headers["www-authenticate"]).toContain("Bearer");
    expect((await get(app, "/healthz")).status).toBe(200);
  });

  test("a TLS version below 1.3 is refused", async () => {
    const { port, ca } = target(app);
    const failed = await new Promise<boolean>((resolve) => {
      const socket = connectTls({ port, ca, host: "127.0.0.1", servername: "localhost", maxVersion: "TLSv1.2" });
      socket.on("secureConnect", () => resolve(false));
      socket.on("error", () => resolve(true));
    });
    expect(failed).toBe(true);
  });

  test("a session is never resumed, although the client offers the one it has", async () => {
    const { port, ca } = target(app);
    const options = { port, ca, host: "127.0.0.1", servername: "localhost", ALPNProtocols: ["http/1.1"] };
    const session = await new Promise<Buffer>((resolve) => {
      const socket = connectTls(options);
      socket.on("session", (ticket: Buffer) => {
        socket.destroy();
        resolve(ticket);
      });
      socket.on("secureConnect", () => socket.write("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"));
    });
    const resumed = await new Promise<boolean>((resolve) => {
      const socket = connectTls({ ...options, session });
      socket.on("secureConnect", () => {
        resolve(socket.isSessionReused());
        socket.destroy();
      });
    });
    expect(resumed).toBe(false);
  });

  test("its certificate names the host of the base URL and localhost, and stays over a restart", async () => {
    const [one, other] = await Promise.all([
      startApp({ databaseUrl: app.databaseUrl }),
      startApp({ databaseUrl: app.databaseUrl }),
    ]);
    const fingerprint = (pem: string) => createHash("sha256").update(pem).digest("hex");
    for (const instance of [one, other]) expect(fingerprint(target(instance).ca)).toBe(fingerprint(target(app).ca));
    expect((await get(one, "/api/auth/me", {}, bearer())).status).toBe(200);
    await Promise.all([one.close(), other.close()]);
    const certificate = new X509Certificate(target(app).ca);
    expect(certificate.checkHost("atrium.test")).toBe("atrium.test");
    expect(certificate.checkHost("localhost")).toBe("localhost");
  });

  test("development has such a listener by default, and production only with SERVICE_MTLS_PORT", () => {
    expect(readConfig({}).mtlsPort).toBe(0);
    const production = {
      SERVICE_PROFILE: "production",
      SERVICE_BASE_URL: "https://atrium.test",
      DATABASE_URL: "postgres://localhost/atrium",
      TEMPORAL_ADDRESS: "localhost:7233",
      SERVICE_MAIL: "off",
      SERVICE_INSTANCE_KEY: Buffer.alloc(32, 7).toString("base64"),
    };
    expect(readConfig(production).mtlsPort).toBeUndefined();
    expect(readConfig({ ...production, SERVICE_MTLS_PORT: "8443" }).mtlsPort).toBe(8443);
  });
});

describe("a client certificate", () => {
  test("an SVID without a record is 401, and a bearer beside it is the only credential", async () => {
    const leaf = await issue(app.clock.now(), await rootOf(opened(app), owner.org), {
      uris: [`spiffe://${owner.org}.atrium.local/svc/${randomUUID()}`],
    });
    expect(await get(app, "/api/auth/me", leaf)).toMatchObject({ status: 401, body: { code: "unauthorized" } });
    expect((await get(app, "/api/auth/me", leaf, bearer())).status).toBe(200);
  });
});
