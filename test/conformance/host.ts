import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createSocketServer } from "node:net";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { DescService, FileRegistry } from "@bufbuild/protobuf";
import { errors } from "../../src/platform/errors.ts";
import { silentLog } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { registration } from "../../src/platform/rpc.ts";
import { createServer } from "../../src/server/index.ts";
import type { Server } from "../../src/server/index.ts";
import { messageType } from "./contract.ts";
import { conformanceService } from "./service.ts";

/** What the suite wants of a server, a ServerCompatRequest. */
interface Wanted {
  useTls: boolean;
  messageReceiveLimit: number;
  serverCreds?: { cert: Uint8Array; key: Uint8Array };
}

const unauthorized = () => Promise.reject(errors.unauthorized());

/** The listener, gate, pipeline and protocols of the service, with the suite's contract in place of Atrium's. */
function serverFor({ useTls, messageReceiveLimit, serverCreds }: Wanted, service: DescService, types: FileRegistry) {
  const tls =
    useTls && serverCreds !== undefined
      ? { cert: Buffer.from(serverCreds.cert), key: Buffer.from(serverCreds.key) }
      : undefined;
  const server = createServer({
    host: "127.0.0.1",
    port: 0,
    tls,
    services: [registration(service, conformanceService(types) as never)],
    authenticators: {
      bearer: unauthorized,
      recheck: unauthorized,
      svid: unauthorized,
      recheckSvid: unauthorized,
      scim: unauthorized,
      appAdmin: unauthorized,
    },
    idempotency: { begin: unauthorized },
    limiter: { take: () => 0 },
    rateLimits: false,
    corsOrigins: [],
    reflection: false,
    ready: () => true,
    addressOf: (request) => request.socket.remoteAddress ?? "",
    isTrusted: () => false,
    metrics: createMetrics(),
    log: silentLog,
    limits: messageReceiveLimit === 0 ? {} : { messageBytes: messageReceiveLimit },
  });
  return { server, pemCert: tls?.cert };
}

/** Reads a message with its length before it. */
async function readMessage(socket: Socket): Promise<Buffer> {
  let bytes = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    bytes = Buffer.concat([bytes, chunk as Buffer]);
    if (bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE(0)) break;
  }
  return bytes.subarray(4);
}

/**
 * Serves the programs that `connectconformance` starts as servers under test: each sends its ServerCompatRequest over a
 * Unix socket, and gets a server of its own until it ends. Programs that loaded the service themselves would not start
 * within the ten seconds that the suite allows on a busy machine.
 */
export async function startHost({ service, registry }: { service: DescService; registry: FileRegistry }) {
  const folder = mkdtempSync(join(tmpdir(), "atrium-conformance-"));
  const path = join(folder, "host");
  const running = new Set<Server>();

  async function serve(socket: Socket): Promise<void> {
    const request = fromBinary(messageType(registry, "ServerCompatRequest"), await readMessage(socket));
    const { server, pemCert } = serverFor(request as unknown as Wanted, service, registry);
    await server.listen();
    running.add(server);
    socket.once("close", () => {
      running.delete(server);
      void server.close(100);
    });
    const response = messageType(registry, "ServerCompatResponse");
    const { port } = server.address();
    const bytes = toBinary(response, create(response, { host: "127.0.0.1", port, ...(pemCert && { pemCert }) }));
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    socket.write(Buffer.concat([length, bytes]));
  }

  const host = createSocketServer((socket) => {
    socket.on("error", () => socket.destroy());
    void serve(socket);
  }).listen(path);
  await new Promise((resolve) => host.once("listening", resolve));
  return {
    /** The program to give to the suite. */
    command: [process.execPath, "-e", RELAY, path],
    async close() {
      host.close();
      await Promise.all([...running].map((server) => server.close(100)));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Connects the standard streams of a program with the host. */
const RELAY = `
  const socket = require("node:net").connect(process.argv[1]);
  process.stdin.pipe(socket, { end: false });
  socket.pipe(process.stdout);
  process.on("SIGTERM", () => process.exit());
`;
