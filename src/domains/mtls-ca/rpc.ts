import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { MtlsCaService } from "../../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import type { Clock } from "../../platform/clock.ts";
import type { RequestContexts } from "../../platform/context.ts";
import { pageOf } from "../../platform/db/paging.ts";
import type { AuthorityAlgorithm } from "../../platform/x509/keys.ts";
import { toPem } from "../../platform/x509/pem.ts";
import type { AuthorityRow } from "./authority-store.ts";
import type { CertificateRow, CertificateStatus } from "./certificate-store.ts";
import type { MtlsCa } from "./mtls-ca.ts";
import { statusOf } from "./rules.ts";

/** Implements `atrium.mtls_ca.v1.MtlsCaService`. */
export function mtlsCaRpc(
  { authorities, certificates }: Pick<MtlsCa, "authorities" | "certificates">,
  contexts: RequestContexts,
  clock: Clock,
): ServiceImpl<typeof MtlsCaService> {
  return {
    createCa: async ({ orgUuid, commonName, keyAlgorithm, validityDays }, call) =>
      printCa(
        await authorities.create(contexts.authenticated(call), orgUuid, {
          commonName,
          // The contract allows no other values.
          keyAlgorithm: keyAlgorithm as AuthorityAlgorithm | undefined,
          validityDays,
        }),
      ),
    getCa: async ({ orgUuid }) => printCa(await authorities.find(orgUuid)),
    async deleteCa({ orgUuid }, call) {
      await authorities.remove(contexts.authenticated(call), orgUuid);
      return {};
    },
    async issueCertificate({ orgUuid, commonName, sans, validityDays, metadata, csr }, call) {
      const context = contexts.authenticated(call);
      const order = { commonName, sans, validityDays, metadata, csr };
      const issued = await certificates.issue(context, orgUuid, order);
      return {
        ...print(issued, clock),
        certificate: toPem(issued.certificate, "CERTIFICATE"),
        ...(issued.privateKey === undefined ? {} : { privateKey: issued.privateKey }),
      };
    },
    async listCertificates({ orgUuid, status, ...request }) {
      const page = pageOf(request);
      // The contract names the statuses.
      const wanted = status as CertificateStatus | undefined;
      const { rows, ...total } = await certificates.list(orgUuid, wanted, page);
      return { data: rows.map((row) => print(row, clock)), ...total, ...page };
    },
    async getCertificate({ orgUuid, certUuid }) {
      const row = await certificates.find(orgUuid, certUuid);
      return { ...print(row, clock), certificate: toPem(row.certificate, "CERTIFICATE") };
    },
    async revokeCertificate({ orgUuid, certUuid }, call) {
      await certificates.revoke(contexts.authenticated(call), orgUuid, certUuid);
      return {};
    },
  };
}

function printCa({ caUuid, commonName, keyAlgorithm, certificate, expiresAt, createdAt }: AuthorityRow) {
  return {
    caUuid,
    commonName,
    keyAlgorithm,
    certificate: toPem(certificate, "CERTIFICATE"),
    expiresAt: timestampFromDate(expiresAt),
    createdAt: timestampFromDate(createdAt),
  };
}

function print(row: CertificateRow, clock: Clock) {
  const { certUuid, serial, commonName, sans, fingerprint, notBefore, notAfter, revokedAt, metadata } = row;
  return {
    certUuid,
    serial,
    commonName,
    sans,
    fingerprintSha256: fingerprint,
    notBefore: timestampFromDate(notBefore),
    notAfter: timestampFromDate(notAfter),
    status: statusOf(row, clock.now()),
    metadata,
    ...(revokedAt === null ? {} : { revokedAt: timestampFromDate(revokedAt) }),
  };
}
