import { createHash } from "node:crypto";
import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { PublicJwk } from "../../platform/crypto/jwk.ts";
import type { Database } from "../../platform/db/types.ts";
import type { Organizations } from "../organizations/index.ts";
import { keyErrors } from "./errors.ts";
import { publishedKeys } from "./store.ts";

/** A JWK Set with its headers for HTTP caches. */
export interface KeySet {
  keys: PublicJwk[];
  headers: { etag: string; "cache-control": string };
}

/** Dependencies of key sets. */
export interface JwksDeps {
  database: Pick<Database, "prepared">;
  clock: Clock;
  organizations: Pick<Organizations, "find">;
}

/** Public key sets (RFC 7517): every key that verifies something that has not expired. */
export function createJwks({ database, clock, organizations }: JwksDeps) {
  async function keySet(orgUuid: string | null): Promise<KeySet> {
    const keys = await publishedKeys(database, orgUuid, dateOf(clock));
    const digest = createHash("sha256")
      .update(keys.map((key) => key.kid).join(" "))
      .digest("base64url");
    return { keys, headers: { etag: `"${digest.slice(0, 22)}"`, "cache-control": "public, max-age=300" } };
  }

  return {
    /** Keys of the instance, which sign tokens that name no organization. */
    ofInstance: (): Promise<KeySet> => keySet(null),
    /**
     * Keys of an organization.
     * @throws {not_found} when there is no such organization
     */
    async ofOrganization(orgUuid: string): Promise<KeySet> {
      if ((await organizations.find(orgUuid)) === undefined) throw keyErrors.orgNotFound();
      return keySet(orgUuid);
    },
  };
}
