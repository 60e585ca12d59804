import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { systemActor } from "../audit-record/index.ts";
import { EVENTS } from "../event-catalogue/index.ts";
import type { LoginDeps } from "./deps.ts";
import type { NewOrganization } from "./new-organization.ts";
import { lockBootstrap } from "./store.ts";

/** The first organization and its owner. */
export interface BootstrapRequest {
  orgName: string;
  email: string;
  password: string;
}

/** The first start on an empty database (decisions 2.1). */
export function createBootstrap(
  { database, hasher, organizations, events }: LoginDeps,
  newOrganization: NewOrganization,
) {
  return {
    /** Whether the database has no organization yet. */
    isEmpty: async (): Promise<boolean> => !(await database.transaction((tx) => organizations.any(tx))),

    /**
     * On an empty database, creates the organization and its owner, who is also platform admin, operator and superuser.
     * Accepts any password: the operator chooses it.
     * @returns whether this call created them; of several instances that start at once, one does
     * @throws {validation_error} when the address or the name is not valid
     */
    async bootstrap({ orgName, email: address, password }: BootstrapRequest): Promise<boolean> {
      if (await database.transaction((tx) => organizations.any(tx))) return false;
      const email = parseEmail(address);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      const [passwordHash, key] = await Promise.all([hasher.hash(password), newOrganization.generateKey()]);
      return database.transaction(async (tx) => {
        await lockBootstrap(tx);
        if (await organizations.any(tx)) return false;
        const founder = { email, passwordHash, confirmed: true, powerful: true };
        const { org, userUuid } = await newOrganization.create(tx, orgName, founder, key);
        await events.emit(tx, EVENTS["organization.created"], {
          by: { actor: systemActor, userUuid, info: { address: "", userAgent: "" } },
          orgUuid: org.uuid,
          resourceId: org.uuid,
          metadata: { name: org.name, bootstrap: true },
        });
        return true;
      });
    },
  };
}
