import { callerOrg } from "../../platform/caller.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Page } from "../../platform/db/paging.ts";
import type { Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import { generateLeafKeys } from "../../platform/x509/keys.ts";
import { issueLeaf } from "../../platform/x509/leaf.ts";
import { toPem } from "../../platform/x509/pem.ts";
import { newSerial } from "../../platform/x509/serial.ts";
import { wholeSeconds } from "../../platform/x509/validity.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import { identityErrors } from "../service-identities/index.ts";
import type { SvidFilter, SvidRow } from "../service-identities/index.ts";
import type { SpiffeDeps } from "./deps.ts";
import { spiffeErrors } from "./errors.ts";
import { demandMayObtain, isIdentity } from "./own-identity.ts";
import type { Roots } from "./roots.ts";
import type { TrustDomains } from "./trust-domain.ts";

/** An SVID to issue. */
export interface SvidRequest {
  identityId: string;
  /** Lifetime; 1 when absent. */
  ttlHours: number | undefined;
  /** The SPIFFE id, if it is not the identity's own. */
  spiffeId: string | undefined;
}

/** A new SVID with what is shown once. */
export interface IssuedSvid extends SvidRow {
  certificatePem: string;
  privateKeyPem: string;
}

/** X.509-SVIDs of service identities (decisions 7.5). */
export function createSvids(
  { clock, random, events, serviceIdentities, config }: SpiffeDeps,
  { roots, trustDomains }: { roots: Pick<Roots, "signer">; trustDomains: TrustDomains },
) {
  const { identities, svids } = serviceIdentities;

  /** @throws {validation_error} when the identity may not have the id */
  function readId(orgUuid: string, identityId: string, wanted: string | undefined): string {
    if (wanted === undefined) return trustDomains.idOfIdentity(orgUuid, identityId);
    if (trustDomains.isAllowed(orgUuid, identityId, wanted)) return wanted;
    const message = `must be a SPIFFE id below ${trustDomains.idOf(orgUuid)}/, and below /svc/ only the identity's own`;
    throw errors.validation({ fields: [{ field: "san_uris[0]", code: "pattern", message }] });
  }

  /**
   * Checks the id that an identity wants for itself: its own, or one that an administrator's SVID of it has.
   * @throws {forbidden} for any other
   */
  async function demandGranted(tx: Tx, orgUuid: string, identityId: string, spiffeId: string): Promise<void> {
    if (spiffeId === trustDomains.idOfIdentity(orgUuid, identityId)) return;
    if (!(await svids.hasFromAdmin(tx, identityId, spiffeId))) throw spiffeErrors.idNotGranted();
  }

  return {
    /**
     * Issues an SVID. Certificate and private key are returned only here.
     * @throws {validation_error} when the identity may not have the SPIFFE id
     * @throws {not_found} when the organization has no such identity
     * @throws {forbidden} {step_up_required} when the caller may not obtain such SVIDs of the identity, or its role
     * goes beyond their present power
     */
    async issue(context: CallerContext, { identityId, ttlHours, spiffeId: wanted }: SvidRequest): Promise<IssuedSvid> {
      const orgUuid = callerOrg(context.caller);
      demandMayObtain(context.caller, identityId);
      const spiffeId = readId(orgUuid, identityId, wanted);
      const { authority } = await roots.signer(orgUuid);
      const { publicKey, privateKey } = await generateLeafKeys();
      const privateKeyPem = toPem(privateKey, "PRIVATE KEY");
      privateKey.fill(0);
      const serial = newSerial(random);
      const validity = validityOf(clock.now(), (ttlHours ?? 1) * config.svidHourMs, authority.notAfter);
      // Signed before the transaction, so that it holds no connection meanwhile.
      const certificate = await issueLeaf(authority, {
        ...validity,
        serial,
        subject: [{ O: ["Atrium"] }, { CN: [identityId] }],
        names: [{ type: "url", value: spiffeId }],
        usages: ["client", "server"],
        publicKey,
        crlUrl: `${config.baseUrl}/orgs/${orgUuid}/.well-known/ca.crl?issuer=spiffe`,
      });
      const record = { svidId: random.uuid(), identityId, spiffeId, serial, ...validity, createdAt: dateOf(clock) };
      const byAdmin = !isIdentity(context.caller, identityId);
      return context.transaction(async (tx) => {
        if (!byAdmin) await demandGranted(tx, orgUuid, identityId, spiffeId);
        // Sent at once; the record of an identity that is not there fails, which only follows from that.
        const kept = identities.keep(tx, orgUuid, identityId);
        const recorded = Promise.all([
          svids.recordSvid(tx, orgUuid, { ...record, byAdmin }),
          events.emit(tx, EVENTS["svid.issued"], {
            by: causedBy(context),
            orgUuid,
            resourceId: record.svidId,
            metadata: { svid_id: record.svidId, spiffe_id: spiffeId, identity_id: identityId, serial, kind: "x509" },
            data: { svid_id: record.svidId, spiffe_id: spiffeId },
          }),
        ]);
        recorded.catch(() => undefined);
        const identity = await kept;
        if (identity === undefined) throw identityErrors.notFound();
        if (byAdmin) await identities.demandRole(tx, context.caller, orgUuid, identity.roleId);
        await recorded;
        return {
          ...record,
          revokedAt: null,
          certificatePem: toPem(certificate, "CERTIFICATE"),
          privateKeyPem,
        };
      });
    },

    /** SVIDs of the caller's organization, newest first. */
    list: ({ caller }: CallerContext, filter: SvidFilter, page: Page) =>
      svids.listSvids(callerOrg(caller), filter, page),

    /**
     * Revokes an SVID; it is refused from the next request on.
     * @throws {not_found} when the organization has no such SVID
     * @throws {already_revoked} when it is revoked
     */
    revoke: (context: CallerContext, svidId: string): Promise<void> =>
      context.transaction(async (tx) => {
        const orgUuid = callerOrg(context.caller);
        const found = await svids.revokeSvid(tx, orgUuid, svidId);
        if (found === undefined) throw spiffeErrors.svidNotFound();
        if (found.outcome === "already") throw spiffeErrors.alreadyRevoked();
        const { spiffeId, identityId, serial } = found.svid;
        await events.emit(tx, EVENTS["svid.revoked"], {
          by: causedBy(context),
          orgUuid,
          resourceId: svidId,
          metadata: { svid_id: svidId, spiffe_id: spiffeId, identity_id: identityId, serial },
          data: { svid_id: svidId, spiffe_id: spiffeId },
        });
      }),
  };
}

/** Validity in whole seconds, as certificates have it; never past the issuer's. */
function validityOf(nowMs: number, ttlMs: number, issuerEnds: Date): { notBefore: Date; notAfter: Date } {
  const notBefore = wholeSeconds(nowMs);
  const end = wholeSeconds(notBefore.getTime() + ttlMs);
  return { notBefore, notAfter: end < issuerEnds ? end : issuerEnds };
}

/** X.509-SVIDs. */
export type Svids = ReturnType<typeof createSvids>;
