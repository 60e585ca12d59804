import { systemRandom } from "../../../src/platform/random.ts";
import { toPem } from "../../../src/platform/x509/pem.ts";
import { createServerCertificate } from "../../../src/platform/x509/server-certificate.ts";
import { issue } from "../../support/certificates.ts";
import type { Serving } from "../baselines/serve.ts";
import type { Environment } from "../environment.ts";
import type { TlsJob, TlsResult } from "../load/tls-peer.ts";
import { cpuSeconds, residentMiB } from "../processes.ts";
import type { Helper } from "../processes.ts";
import { lengthOfMe, seededRoots, withWorkload } from "../workload.ts";
import type { FigureRow, RatioRow, Sample, Side } from "./row.ts";

/** Organizations with roots in the database. */
const ORGANIZATIONS = 10_000;
const CONNECTIONS = 5_000;
const path = "/api/auth/me";
/** Services have a database each. */
let started = 0;

interface ServerCertificate {
  cert: string;
  key: string;
}

async function serverCertificate(): Promise<ServerCertificate> {
  const now = Math.floor(Date.now() / 1000) * 1000;
  const { certificate, privateKey } = await createServerCertificate(systemRandom, {
    hosts: ["localhost"],
    notBefore: new Date(now - 60_000),
    notAfter: new Date(now + 86_400_000),
  });
  return { cert: toPem(certificate, "CERTIFICATE"), key: toPem(privateKey, "PRIVATE KEY") };
}

async function run(peer: Helper<object>, job: TlsJob): Promise<TlsResult> {
  const result = await peer.ask<TlsResult>(job);
  if (result.failed > 0) throw new Error(`${result.failed} of ${result.completed + result.failed} clients failed`);
  return result;
}

/** A side whose load is made by clients of TLS. */
function side(name: string, peer: Helper<object>, serverPid: number, jobOf: (seconds: number) => TlsJob): Side {
  return {
    name,
    async measure(seconds) {
      const before = cpuSeconds(serverPid) ?? 0;
      const { completed, seconds: took, p50, p99 } = await run(peer, jobOf(seconds));
      const used = (cpuSeconds(serverPid) ?? 0) - before;
      const sample: Sample = { value: completed / took, ...(p50 && { p50 }), ...(p99 && { p99 }) };
      return used > 0 ? { ...sample, serverCpu: used / took, perCpuSecond: completed / used } : sample;
    },
  };
}

/** `GET /api/auth/me` of a workload against that of a person, over the same kind of connection. */
const me: RatioRow = {
  kind: "ratio",
  name: "me-mtls",
  title: "GET /api/auth/me by SVID over mutual TLS, open h2 connections, against bearer over TLS on h2",
  unit: "req/s",
  target: 0.9,
  at: "least",
  async sides(environment) {
    const service = await withWorkload(environment, "mtls_me", { organizations: ORGANIZATIONS });
    const peer = await environment.peer<object>("load/tls-peer.ts");
    const headers = { authorization: `Bearer ${service.tokens[0] ?? ""}` };
    const [bySvid, byBearer] = [service.meOfSvid.answerBytes, await lengthOfMe(service.mtlsPort, {}, headers)];
    const shared = { run: "requests", connections: 8, streams: 16 } as const;
    const svid = { port: service.mtlsPort, cert: service.svid.cert, key: service.svid.key };
    return [
      side("Atrium, SVID", peer, service.pid, (seconds) => ({
        ...shared,
        targets: [svid],
        get: { path, headers: {}, answerBytes: bySvid },
        seconds,
      })),
      side("Atrium, bearer", peer, service.pid, (seconds) => ({
        ...shared,
        targets: [{ port: service.mtlsPort }],
        get: { path, headers, answerBytes: byBearer },
        seconds,
      })),
    ];
  },
};

/** Full handshakes, the client's certificate verified. */
const handshakes: RatioRow = {
  kind: "ratio",
  name: "mtls-handshakes",
  title: "full mutual TLS handshakes, roots of 10,000 organizations, against bare node:tls with one CA",
  unit: "req/s",
  target: 0.7,
  at: "least",
  async sides(environment) {
    const service = await withWorkload(environment, "mtls_handshakes", { organizations: ORGANIZATIONS });
    const { cert, key } = await serverCertificate();
    const ca = service.root.certificate.toString("pem");
    const bare = await environment.server<Serving>("baselines/bare-tls.ts", { CERT: cert, KEY: key, CA: ca });
    const peer = await environment.peer<object>("load/tls-peer.ts");
    const client = { cert: service.svid.cert, key: service.svid.key };
    const jobOn = (port: number) => (seconds: number) =>
      ({ run: "handshakes", targets: [{ ...client, port }], concurrency: 32, seconds }) as const;
    return [
      side("Atrium", peer, service.pid, jobOn(service.mtlsPort)),
      side("bare node:tls", peer, bare.pid, jobOn(bare.ready.port)),
    ];
  },
};

/** Clients who open connections and keep them. */
interface Holder {
  port: number;
  client: { cert: string; key: string };
  answerBytes: number;
}

/** Opens connections from several addresses of this machine: one address may have 1,000. */
async function hold(environment: Environment, { port, client, answerBytes }: Holder, connections: number) {
  const targets = Array.from({ length: 6 }, (_, i) => ({ port, ...client, localAddress: `127.0.0.${i + 2}` }));
  const job = { run: "hold", targets, get: { path, headers: {}, answerBytes }, connections } as const;
  return run(await environment.peer<object>("load/tls-peer.ts"), job);
}

/** Returns the memory of each open connection of a process, in KiB. */
async function memoryOfEach(environment: Environment, pid: number, holder: Holder): Promise<number> {
  // The first ones load and compile what all of them use.
  await hold(environment, holder, 500);
  const before = memoryOf(pid);
  await hold(environment, holder, CONNECTIONS);
  const used = memoryOf(pid) - before;
  await environment.endRow();
  return (used * 1024) / CONNECTIONS;
}

function memoryOf(pid: number): number {
  const found = residentMiB(pid);
  if (found === undefined) throw new Error("the memory of the service cannot be read here");
  return found;
}

/** Memory of open connections that have each made a request. */
const connections: FigureRow = {
  kind: "figure",
  name: "mtls-connections",
  title: "memory of each of 5,000 open h2 connections of mutual TLS",
  unit: "KiB",
  target: 60,
  async measure(environment) {
    const service = await withWorkload(environment, `mtls_connections_${++started}`, { organizations: 0 });
    const { mtlsPort: port, svid: client, meOfSvid } = service;
    return memoryOfEach(environment, service.pid, { port, client, ...meOfSvid });
  },
};

/** What Node alone takes of that. */
const bareConnections: FigureRow = {
  kind: "figure",
  name: "mtls-connections-bare",
  title: "the same of a bare node:http2 server, whose TLS and HTTP/2 the service uses",
  unit: "KiB",
  target: 60,
  async measure(environment) {
    const { cert, key } = await serverCertificate();
    const answerBytes = 500;
    const bare = await environment.server<Serving>("baselines/bare-mtls-h2.ts", {
      CERT: cert,
      KEY: key,
      BYTES: String(answerBytes),
    });
    const client = await issue(Date.now(), undefined);
    return memoryOfEach(environment, bare.pid, { port: bare.ready.port, client, answerBytes });
  },
};

/** What the roots of organizations add to the memory of the process. */
const memory: FigureRow = {
  kind: "figure",
  name: "mtls-memory",
  title: "memory of the process after 3,000 handshakes, roots of 10,000 organizations, 1,000 of them used, against one",
  unit: "MiB more",
  target: 40,
  async measure(environment) {
    const after = async (organizations: number): Promise<number> => {
      const service = await withWorkload(environment, `mtls_memory_${++started}`, { organizations });
      const issuers = organizations === 0 ? [{}] : await seededRoots(service, 1_000);
      const leaves = await Promise.all(issuers.map((options) => issue(Date.now(), service.root, options)));
      const targets = leaves.map(({ cert, key }) => ({ port: service.mtlsPort, cert, key }));
      const peer = await environment.peer<object>("load/tls-peer.ts");
      // As many on both sides: what handshakes leave to be collected is far more than what roots take.
      await run(peer, { run: "handshakes", targets, concurrency: 8, seconds: 120, count: 3_000 });
      const used = memoryOf(service.pid);
      await environment.endRow();
      return used;
    };
    return (await after(ORGANIZATIONS)) - (await after(0));
  },
};

/** Rows about mutual TLS. */
export const mutualTls = [me, handshakes, connections, bareConnections, memory] as const;
