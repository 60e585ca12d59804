import type { NewKeyPair } from "../../platform/crypto/jwk.ts";
import type { Tx } from "../../platform/db/types.ts";
import type { PersonToMake } from "../people/index.ts";
import type { LoginDeps } from "./deps.ts";

/** Who will own a new organization: somebody who is here, or a person to be made. */
export type Founder = { userUuid: string } | PersonToMake;

/** What was founded. */
export interface Founded {
  org: { uuid: string; name: string };
  userUuid: string;
}

/** Makes an organization with all that each one has from its first moment. */
export function createFounding({ organizations, people, keys }: Pick<LoginDeps, "organizations" | "people" | "keys">) {
  return {
    /** The key of an organization to be; made before the transaction, off the event loop. */
    prepare: (): Promise<NewKeyPair> => keys.signing.generate("ed25519"),

    /** Organization, owner and signing key. Throws 409 `conflict` for the name, 409 `email_taken` for a new person. */
    async found(tx: Tx, name: string, founder: Founder, key: NewKeyPair): Promise<Founded> {
      const org = await organizations.create(tx, name);
      const userUuid = "userUuid" in founder ? founder.userUuid : (await people.create(tx, founder)).uuid;
      await people.memberships.addOwner(tx, org.uuid, userUuid);
      await keys.signing.insertFirst(tx, org.uuid, key);
      return { org, userUuid };
    },
  };
}

/** The making of organizations. */
export type Founding = ReturnType<typeof createFounding>;
