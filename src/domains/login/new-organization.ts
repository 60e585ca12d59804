import type { NewKeyPair } from "../../platform/crypto/jwk.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { PersonToMake } from "../people/index.ts";
import type { LoginDeps } from "./deps.ts";

/** The owner of a new organization: an existing person, or one to create. */
export type Founder = { userUuid: string } | PersonToMake;

/** A new organization and its owner. */
export interface Founded {
  org: { uuid: string; name: string };
  userUuid: string;
}

/** Creates organizations with everything each one has from the start. */
export function createNewOrganization({
  organizations,
  people,
  keys,
  spiffe,
}: Pick<LoginDeps, "organizations" | "people" | "keys" | "spiffe">) {
  return {
    /** The signing key of a new organization; generated before the transaction, off the event loop. */
    generateKey: (): Promise<NewKeyPair> => keys.signing.generate("ed25519"),

    /**
     * Creates organization, owner, signing key and SPIFFE root.
     * @throws {conflict} when the name is or was in use
     * @throws {email_taken} when a person to create exists
     */
    async create(tx: Tx, name: string, founder: Founder, key: NewKeyPair): Promise<Founded> {
      const org = await organizations.create(tx, name);
      const userUuid = "userUuid" in founder ? founder.userUuid : (await people.create(tx, founder)).uuid;
      await people.memberships.addOwner(tx, org.uuid, userUuid);
      await keys.signing.insertFirst(tx, org.uuid, key);
      await spiffe.roots.insertFirst(tx, org.uuid);
      return { org, userUuid };
    },
  };
}

/** Creates organizations. */
export type NewOrganization = ReturnType<typeof createNewOrganization>;
