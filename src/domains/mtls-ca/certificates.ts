import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { FieldViolation } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { readCertificateRequest } from "../../platform/x509/certificate-request.ts";
import { DerError } from "../../platform/x509/der.ts";
import { fingerprint } from "../../platform/x509/fingerprint.ts";
import { generateLeafKeys } from "../../platform/x509/keys.ts";
import { issueLeaf } from "../../platform/x509/leaf.ts";
import type { JsonGeneralNames } from "../../platform/x509/library.ts";
import { commonNameOnly } from "../../platform/x509/names.ts";
import { toPem } from "../../platform/x509/pem.ts";
import { newSerial } from "../../platform/x509/serial.ts";
import { wholeSeconds } from "../../platform/x509/validity.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import type { Authorities } from "./authorities.ts";
import type { AuthorityRow } from "./authority-store.ts";
import * as store from "./certificate-store.ts";
import type { CertificateToStore } from "./certificate-store.ts";
import { mtlsCaErrors } from "./errors.ts";
import { checkCommonName, checkMetadata, DAY_MS, DEFAULT_DAYS, readSans } from "./rules.ts";
import type { Signers } from "./signers.ts";

/** Dependencies of certificates. */
export interface CertificatesDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "bytes" | "uuid">;
  events: Pick<Events, "emit">;
  authorities: Pick<Authorities, "find">;
  signers: Signers;
  /** Where the revocation list of an authority is published. */
  listUrl: (orgUuid: string, caUuid: string) => string;
}

/** A certificate to issue. */
export interface CertificateOrder {
  commonName: string;
  sans: string[];
  validityDays: number | undefined;
  metadata: Record<string, string>;
  /** PKCS #10, PEM. */
  csr: string | undefined;
}

/** A key to certify; the private half only where it is made here. */
interface KeyToCertify {
  publicKey: Buffer;
  /** PKCS #8, PEM. */
  privateKey?: string;
}

const refuse = (...fields: FieldViolation[]) => errors.validation({ fields });

/** Client certificates of organizations (decisions 7.4). */
export function createCertificates(deps: CertificatesDeps) {
  const { database, clock, random, events, authorities, signers, listUrl } = deps;

  /** @throws {validation_error} when a field is not acceptable */
  function check({ commonName, sans, metadata }: CertificateOrder): JsonGeneralNames {
    const read = readSans(sans);
    const common = checkCommonName(commonName);
    const violations = [
      ...(common === undefined ? [] : [common]),
      ...("violations" in read ? read.violations : []),
      ...checkMetadata(metadata),
    ];
    if (violations.length > 0) throw refuse(...violations);
    return "names" in read ? read.names : [];
  }

  /** @throws {validation_error} when the certificate would end after its authority */
  function validity({ validityDays }: CertificateOrder, ca: AuthorityRow): { notBefore: Date; notAfter: Date } {
    const notBefore = wholeSeconds(clock.now());
    const wanted = new Date(notBefore.getTime() + (validityDays ?? DEFAULT_DAYS.certificate) * DAY_MS);
    const isLate = wanted > ca.expiresAt;
    if (notBefore >= ca.expiresAt || (isLate && validityDays !== undefined)) {
      const message = `the certificate authority ends at ${ca.expiresAt.toISOString()}`;
      throw refuse({ field: "validity_days", code: "too_large", message });
    }
    return { notBefore, notAfter: isLate ? ca.expiresAt : wanted };
  }

  /** Generates a key to certify, with its private half. */
  async function newKey(): Promise<KeyToCertify> {
    const { publicKey, privateKey } = await generateLeafKeys();
    const pem = toPem(privateKey, "PRIVATE KEY");
    privateKey.fill(0);
    return { publicKey, privateKey: pem };
  }

  /**
   * The key of a certificate request; undefined without one.
   * @throws {validation_error} for a refused request
   */
  async function keyOf(csr: string | undefined): Promise<KeyToCertify | undefined> {
    if (csr === undefined) return undefined;
    try {
      return { publicKey: (await readCertificateRequest(csr)).publicKey };
    } catch (error) {
      if (error instanceof DerError) throw refuse({ field: "csr", code: "invalid", message: error.message });
      throw error;
    }
  }

  return {
    /**
     * Issues a certificate. The private key is returned only here, and only where it is made here.
     * @throws {not_found} when the organization has no authority
     * @throws {validation_error} when a field is not acceptable, or the end is after the authority's
     */
    async issue(context: CallerContext, orgUuid: string, order: CertificateOrder) {
      const names = check(order);
      // The body is refused before the authority is looked up (decisions 1.7); a key is generated only for a valid one.
      const given = await keyOf(order.csr);
      const ca = await authorities.find(orgUuid);
      const period = validity(order, ca);
      const { publicKey, privateKey } = given ?? (await newKey());
      const { commonName, sans, metadata } = order;
      const serial = newSerial(random);
      const certificate = await issueLeaf(await signers.open(ca.caUuid), {
        ...period,
        serial,
        subject: commonNameOnly(commonName),
        names,
        usages: ["client"],
        publicKey,
        crlUrl: listUrl(orgUuid, ca.caUuid),
      });
      const row: CertificateToStore = {
        ...period,
        certUuid: random.uuid(),
        caUuid: ca.caUuid,
        orgUuid,
        serial,
        commonName,
        sans,
        fingerprint: fingerprint(certificate),
        certificate,
        metadata,
        createdAt: dateOf(clock),
      };
      await context.transaction(async (tx) => {
        if (!(await store.insertCertificate(tx, row))) throw mtlsCaErrors.notFound();
        await events.emit(tx, EVENTS["certificate.issued"], {
          by: causedBy(context),
          orgUuid,
          resourceId: row.certUuid,
          metadata: { serial, common_name: commonName, fingerprint_sha256: row.fingerprint },
          data: { cert_uuid: row.certUuid, serial },
        });
      });
      return { ...row, revokedAt: null, privateKey };
    },

    /** Certificates, by default newest first. */
    list: (orgUuid: string, status: store.CertificateStatus | undefined, page: Page) =>
      store.certificatesOf(database, orgUuid, status, page, dateOf(clock)),

    /** @throws {not_found} when there is no such certificate */
    async find(orgUuid: string, certUuid: string) {
      const row = await store.certificateOf(database, orgUuid, certUuid);
      if (row === undefined) throw mtlsCaErrors.certificateNotFound();
      return row;
    },

    /**
     * Revokes a certificate.
     * @throws {not_found} when there is no such certificate
     * @throws {already_revoked} when it was revoked, by itself or with its authority
     */
    revoke: (context: CallerContext, orgUuid: string, certUuid: string): Promise<void> =>
      context.transaction(async (tx) => {
        const result = await store.revokeCertificate(tx, orgUuid, certUuid, dateOf(clock));
        if (result === "not_found") throw mtlsCaErrors.certificateNotFound();
        if (result === "already_revoked") throw mtlsCaErrors.alreadyRevoked();
        await events.emit(tx, EVENTS["certificate.revoked"], {
          by: causedBy(context),
          orgUuid,
          resourceId: certUuid,
          metadata: { serial: result.serial },
          data: { cert_uuid: certUuid, serial: result.serial },
        });
      }),
  };
}

/** Client certificates. */
export type Certificates = ReturnType<typeof createCertificates>;
