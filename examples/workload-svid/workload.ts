/**
 * A workload that authenticates by X.509-SVID. It gets its first SVID with an automation token and every further one
 * with the SVID it has, so that the token is needed once; it renews when half of the lifetime is over. It keeps the SVID
 * in files, which its connection follows.
 *
 * ATRIUM_URL              base URL of the service
 * ATRIUM_MTLS_URL         where the service serves mutual TLS
 * ATRIUM_MTLS_CA          file with the certificate by which the workload knows that listener, PEM
 * ATRIUM_AUTOMATION_TOKEN an automation token of the service identity
 * WORKLOAD_CALLS          number of calls before the workload ends; default 1
 * WORKLOAD_DIR            folder for the SVID; default: a new one
 */
import { mkdtempSync, renameSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { apiKey, createAtrium, svid, timestampMs } from "@atrium/client";
import type { Atrium } from "@atrium/client";
import { svidTransport } from "@atrium/client/node";

/** A setting of the environment. @throws Error when it is not set */
function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

const folder = process.env["WORKLOAD_DIR"] ?? mkdtempSync(path.join(tmpdir(), "workload-"));
const [cert, key] = [path.join(folder, "svid.pem"), path.join(folder, "svid-key.pem")];

/** Replaces a file in one step: nobody reads half of it. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

/** Issues an SVID for the identity of the caller, and keeps it. */
async function renew(atrium: Atrium): Promise<{ spiffeId: string; renewAtMs: number }> {
  const me = await atrium.access.getMe({});
  const issued = await atrium.spiffe.issueSvid({ serviceIdentityId: me.principal?.id ?? "" });
  if (issued.notBefore === undefined || issued.notAfter === undefined) throw new Error("the SVID has no validity");
  replace(cert, issued.certificatePem);
  replace(key, issued.privateKeyPem);
  const [from, to] = [timestampMs(issued.notBefore), timestampMs(issued.notAfter)];
  return { spiffeId: issued.spiffeId, renewAtMs: from + (to - from) / 2 };
}

const byToken = createAtrium({
  baseUrl: setting("ATRIUM_URL"),
  credential: apiKey(setting("ATRIUM_AUTOMATION_TOKEN")),
});
await renew(byToken);

const baseUrl = setting("ATRIUM_MTLS_URL");
const atrium = createAtrium({
  baseUrl,
  credential: svid(),
  transport: svidTransport({ baseUrl, cert, key, ca: setting("ATRIUM_MTLS_CA") }),
});
// The second one needs no token.
let { spiffeId, renewAtMs } = await renew(atrium);

for (let calls = Number(process.env["WORKLOAD_CALLS"] ?? "1"); calls > 0; calls--) {
  if (Date.now() >= renewAtMs) ({ spiffeId, renewAtMs } = await renew(atrium));
  const me = await atrium.access.getMe({});
  console.log(`${spiffeId} acts in ${me.orgName} as ${me.roles.join(", ")}`);
  if (calls > 1) await sleep(1_000);
}
process.exit(0);
