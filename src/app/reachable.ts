import { connectionFailure } from "../platform/db/index.ts";
import type { Database } from "../platform/db/index.ts";
import { isUnavailable } from "../platform/db/failure.ts";
import { ServiceError } from "../platform/errors.ts";
import { StartError } from "../platform/start-error.ts";

/**
 * Asks the database of a command for a connection.
 * @throws {StartError} that names the database and why it cannot be used; for an embedded one, that it does not run
 */
export async function assertReachable(
  database: Pick<Database, "prepared">,
  url: string,
  isEmbedded: boolean,
): Promise<void> {
  try {
    await database.prepared("start_connect", "select 1 as one", []);
  } catch (error) {
    const cause = error instanceof ServiceError ? (error.cause ?? error) : error;
    if (cause instanceof StartError) throw cause;
    if (isEmbedded && isUnavailable(cause))
      throw new StartError("The database cannot be reached; start the service first.", cause);
    throw connectionFailure(url, cause, 0);
  }
}
