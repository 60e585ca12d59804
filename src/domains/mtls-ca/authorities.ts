import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Sealer } from "../../platform/crypto/sealed.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Random } from "../../platform/random.ts";
import { createRoot } from "../../platform/x509/authority.ts";
import type { AuthorityAlgorithm } from "../../platform/x509/keys.ts";
import { commonNameOnly } from "../../platform/x509/names.ts";
import { wholeSeconds } from "../../platform/x509/validity.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import * as store from "./authority-store.ts";
import type { AuthorityRow } from "./authority-store.ts";
import { mtlsCaErrors } from "./errors.ts";
import { checkCommonName, DAY_MS, DEFAULT_DAYS } from "./rules.ts";
import { keyContext } from "./signers.ts";

/** Dependencies of authorities. */
export interface AuthoritiesDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "bytes" | "uuid">;
  /** Seals private keys with the instance key. */
  sealer: Sealer;
  events: Pick<Events, "emit">;
}

/** An authority to create. */
export interface AuthorityRequest {
  commonName: string;
  keyAlgorithm: AuthorityAlgorithm | undefined;
  validityDays: number | undefined;
}

/** The certificate authority of each organization (decisions 7.4). */
export function createAuthorities({ database, clock, random, sealer, events }: AuthoritiesDeps) {
  async function make({ commonName, keyAlgorithm = "rsa4096", validityDays }: AuthorityRequest) {
    const createdAt = dateOf(clock);
    const notBefore = wholeSeconds(clock.now());
    const expiresAt = new Date(notBefore.getTime() + (validityDays ?? DEFAULT_DAYS.authority) * DAY_MS);
    const caUuid = random.uuid();
    const root = await createRoot(random, {
      name: commonNameOnly(commonName),
      notBefore,
      notAfter: expiresAt,
      algorithm: keyAlgorithm,
    });
    const privateKey = sealer.seal(root.privateKey, keyContext(caUuid));
    root.privateKey.fill(0);
    const { certificate } = root;
    const row: AuthorityRow = { caUuid, commonName, keyAlgorithm, certificate, createdAt, expiresAt };
    return { row, privateKey };
  }

  return {
    /**
     * Creates the authority of an organization. Its key is generated before the transaction: an RSA key takes seconds.
     * @throws {validation_error} for a common name of control characters
     * @throws {conflict} when the organization has one
     */
    async create(context: CallerContext, orgUuid: string, request: AuthorityRequest): Promise<AuthorityRow> {
      const violation = checkCommonName(request.commonName);
      if (violation !== undefined) throw errors.validation({ fields: [violation] });
      if ((await store.activeAuthority(database, orgUuid)) !== undefined) throw mtlsCaErrors.exists();
      const { row, privateKey } = await make(request);
      return context.transaction(async (tx) => {
        if (!(await store.insertAuthority(tx, orgUuid, row, privateKey))) throw mtlsCaErrors.exists();
        await events.emit(tx, EVENTS["ca.created"], {
          by: causedBy(context),
          orgUuid,
          resourceId: row.caUuid,
          metadata: { common_name: row.commonName, key_algorithm: row.keyAlgorithm },
        });
        return row;
      });
    },

    /**
     * The active authority of an organization.
     * @throws {not_found} when there is none
     */
    async find(orgUuid: string): Promise<AuthorityRow> {
      const row = await store.activeAuthority(database, orgUuid);
      if (row === undefined) throw mtlsCaErrors.notFound();
      return row;
    },

    /**
     * Deletes the authority of an organization, with which everything it issued is revoked.
     * @throws {not_found} when there is none
     */
    remove: (context: CallerContext, orgUuid: string): Promise<void> =>
      context.transaction(async (tx) => {
        const row = await store.deleteAuthority(tx, orgUuid, dateOf(clock));
        if (row === undefined) throw mtlsCaErrors.notFound();
        await events.emit(tx, EVENTS["ca.deleted"], {
          by: causedBy(context),
          orgUuid,
          resourceId: row.caUuid,
          metadata: { common_name: row.commonName },
        });
      }),

    /** Locks what `endWithOrganization` changes. */
    lockForEnd: store.lockAuthority,

    /** Deletes the authority of an organization that ends. */
    async endWithOrganization(tx: Tx, orgUuid: string): Promise<void> {
      await store.deleteAuthority(tx, orgUuid, dateOf(clock));
    },
  };
}

/** Certificate authorities. */
export type Authorities = ReturnType<typeof createAuthorities>;
