import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { systemActor } from "../audit-record/index.ts";
import type { LoginDeps } from "./deps.ts";
import type { Founding } from "./founding.ts";
import { lockBootstrap } from "./store.ts";

/** The first organization and its owner. */
export interface BootstrapRequest {
  orgName: string;
  email: string;
  password: string;
}

/** The first start on an empty database (decisions 2.1). */
export function createBootstrap({ database, hasher, organizations, audit }: LoginDeps, founding: Founding) {
  return {
    /** Whether the database has no organization yet. */
    isEmpty: async (): Promise<boolean> => !(await database.transaction((tx) => organizations.any(tx))),

    /**
     * On an empty database, makes the organization and its owner, who is also platform admin, operator and superuser.
     * Answers whether it did: several instances may start at once, one of them makes it. The operator's choice of
     * password is taken as it is. Throws 400 `validation_error`.
     */
    async bootstrap({ orgName, email: address, password }: BootstrapRequest): Promise<boolean> {
      if (await database.transaction((tx) => organizations.any(tx))) return false;
      const email = parseEmail(address);
      if (email === undefined)
        throw errors.validation({ fields: [{ field: "email", code: "format", message: "must be an email address" }] });
      const [passwordHash, key] = await Promise.all([hasher.hash(password), founding.prepare()]);
      return database.transaction(async (tx) => {
        await lockBootstrap(tx);
        if (await organizations.any(tx)) return false;
        const { org, userUuid } = await founding.found(
          tx,
          orgName,
          { email, passwordHash, confirmed: true, powerful: true },
          key,
        );
        const resource = { type: "organization", id: org.uuid };
        const metadata = { name: org.name, bootstrap: true };
        const info = { address: "", userAgent: "" };
        await audit.record(tx, {
          type: "organization.created",
          outcome: "success",
          userUuid,
          orgUuid: org.uuid,
          info,
          actor: systemActor,
          resource,
          metadata,
        });
        return true;
      });
    },
  };
}
