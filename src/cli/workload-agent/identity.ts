import { createPrivateKey, X509Certificate } from "node:crypto";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { CommandError } from "../output.ts";
import { createLife } from "./life.ts";
import type { Clocks, Life } from "./life.ts";
import type { Server } from "./server.ts";

/** An X.509-SVID with its private key. */
export interface Svid {
  readonly spiffeId: string;
  readonly identityId: string;
  readonly orgUuid: string;
  /** PEM, for calls to the service. */
  readonly cert: string;
  readonly key: string;
  /** DER, for workloads. */
  readonly certDer: Uint8Array<ArrayBuffer>;
  readonly keyDer: Uint8Array<ArrayBuffer>;
  /** By the service's clock, milliseconds since the epoch. */
  readonly issuedAt: number;
  readonly notAfter: number;
  readonly life: Life;
}

/** A copy in a buffer of its own. */
export const bytesOf = (data: Uint8Array): Uint8Array<ArrayBuffer> => new Uint8Array(data);

/** Who the credential of a connection is. @throws {CommandError} when it is no service identity */
export async function whoami({ access }: Server): Promise<{ identityId: string; orgUuid: string }> {
  const { principal, orgUuid } = await access.getMe({});
  if (principal === undefined || !["automation_token", "svid"].includes(principal.type) || orgUuid === undefined)
    throw new CommandError("The token must be an automation token of a service identity.");
  return { identityId: principal.id, orgUuid };
}

/** Obtains an SVID for the service identity of the connection. */
export async function issueSvid(
  server: Server,
  { identityId, orgUuid }: { identityId: string; orgUuid: string },
  clocks: Clocks,
): Promise<Svid> {
  const issued = await server.spiffe.issueSvid({ serviceIdentityId: identityId });
  const certificate = new X509Certificate(issued.certificatePem);
  const keyDer = createPrivateKey(issued.privateKeyPem).export({ format: "der", type: "pkcs8" });
  const notAfter = certificate.validToDate.getTime();
  const { createdAt } = issued;
  const issuedAt = createdAt === undefined ? certificate.validFromDate.getTime() : timestampMs(createdAt);
  return {
    identityId,
    orgUuid,
    spiffeId: issued.spiffeId,
    cert: issued.certificatePem,
    key: issued.privateKeyPem,
    certDer: bytesOf(certificate.raw),
    keyDer: bytesOf(keyDer),
    issuedAt,
    notAfter,
    life: createLife(notAfter - issuedAt, clocks),
  };
}
