import type { Domains } from "../domains/order.ts";
import type { Infrastructure } from "./app.ts";
import { checkInstanceKey } from "../platform/crypto/key-check.ts";
import type { Sealer } from "../platform/crypto/sealed.ts";
import { isAway } from "../platform/db/failure.ts";
import { connectionFailure } from "../platform/db/index.ts";
import type { OpenDatabase } from "../platform/db/index.ts";
import { retryWhileUnavailable } from "../platform/retry.ts";
import { StartError } from "../platform/start-error.ts";

/** Sources of {@link createPreparation}. */
export interface PreparationParts {
  infrastructure: Pick<Infrastructure, "databaseUrl" | "bootstrap" | "clock" | "log">;
  database: OpenDatabase;
  sealer: Sealer;
  domains: Domains;
}

/** How long a start waits for a database that is away (decisions 16.1), milliseconds. */
const START_MS = 30_000;

const EMPTY =
  "The database has no organization: set SERVICE_BOOTSTRAP_ORG, SERVICE_BOOTSTRAP_EMAIL and " +
  "SERVICE_BOOTSTRAP_PASSWORD, and start once to create the first one";

/**
 * Creates the function that a start calls before anybody else does: it checks the keys and writes what has to be in the
 * database. It resolves to whether it made the first organization and its owner.
 * @throws {StartError} when the database refuses connections or stays away, or does not fit the keys
 */
export function createPreparation({ infrastructure, database, sealer, domains }: PreparationParts) {
  const { databaseUrl, bootstrap, clock, log } = infrastructure;
  const { signingKeys, vault, login } = domains;
  /** Whether the database has accepted a connection. */
  let connected = false;

  /** Can be done again. */
  async function once(): Promise<boolean> {
    await database.prepared("start_connect", "select 1 as one", []);
    connected = true;
    await checkInstanceKey({ database, clock, sealer, opensStored: signingKeys.signing.opensInstanceKey });
    await signingKeys.signing.ensureInstanceKey();
    await vault.seal.checkMasterKey();
    if (bootstrap !== undefined)
      return login.bootstrap({ orgName: bootstrap.org, email: bootstrap.email, password: bootstrap.password });
    if (await login.isEmpty()) log.warn(EMPTY);
    return false;
  }

  return async function prepare(): Promise<boolean> {
    try {
      return await retryWhileUnavailable(once, START_MS);
    } catch (error) {
      if (error instanceof StartError) throw error;
      if (isAway(error)) throw connectionFailure(databaseUrl, (error as Error).cause ?? error, START_MS);
      throw connected ? error : connectionFailure(databaseUrl, error, 0);
    }
  };
}
