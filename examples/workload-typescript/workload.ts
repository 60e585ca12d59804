/**
 * A workload that authenticates by X.509-SVID. It gets its first SVID with an automation token and every further one
 * with the SVID it has, so that the token is needed once; it renews when half of the lifetime is over.
 *
 * ATRIUM_URL              base URL of the service
 * ATRIUM_MTLS_URL         where the service serves mutual TLS
 * ATRIUM_MTLS_CA          file with the certificate by which the workload knows that listener, PEM
 * ATRIUM_AUTOMATION_TOKEN an automation token of the service identity
 * WORKLOAD_CALLS          number of calls before the workload ends; default 1
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { access, spiffe } from "atrium/client";

interface Svid {
  cert: string;
  key: string;
  spiffeId: string;
  renewAtMs: number;
}

/** A setting of the environment. @throws Error when it is not set */
function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === "") throw new Error(`${name} is not set`);
  return value;
}

/** The connection to the listener of mutual TLS, with the SVID as client certificate. */
function connectBy({ cert, key }: Svid): Transport {
  const ca = readFileSync(setting("ATRIUM_MTLS_CA"), "utf8");
  return createGrpcTransport({ baseUrl: setting("ATRIUM_MTLS_URL"), nodeOptions: { ca, cert, key } });
}

/** Issues an SVID for the identity of the caller. */
async function issue(transport: Transport, headers: Record<string, string> = {}): Promise<Svid> {
  const me = await createClient(access.AccessService, transport).getMe({}, { headers });
  const serviceIdentityId = me.principal?.id ?? "";
  const svid = await createClient(spiffe.SpiffeService, transport).issueSvid({ serviceIdentityId }, { headers });
  if (svid.notBefore === undefined || svid.notAfter === undefined) throw new Error("the SVID has no validity");
  const [from, to] = [timestampMs(svid.notBefore), timestampMs(svid.notAfter)];
  return {
    cert: svid.certificatePem,
    key: svid.privateKeyPem,
    spiffeId: svid.spiffeId,
    renewAtMs: from + (to - from) / 2,
  };
}

const first = createConnectTransport({ baseUrl: setting("ATRIUM_URL"), httpVersion: "1.1" });
let svid = await issue(first, { authorization: `Bearer ${setting("ATRIUM_AUTOMATION_TOKEN")}` });
let transport = connectBy(svid);
// The second one needs no token.
svid = await issue(transport);
transport = connectBy(svid);

for (let calls = Number(process.env["WORKLOAD_CALLS"] ?? "1"); calls > 0; calls--) {
  if (Date.now() >= svid.renewAtMs) {
    svid = await issue(transport);
    transport = connectBy(svid);
  }
  const me = await createClient(access.AccessService, transport).getMe({});
  console.log(`${svid.spiffeId} acts in ${me.orgName} as ${me.roles.join(", ")}`);
  if (calls > 1) await sleep(1_000);
}
process.exit(0);
