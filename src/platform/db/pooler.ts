import { DatabaseStartError, WrongRoleError } from "./failure.ts";

// Errors for connections that get other settings than requested, because of a connection pooler or proxy. `database` is
// a name and an address, without credentials.

const REMEDY = 'Configure it to pass start-up parameters, "options" included, or connect to the database directly.';

/** The connection does not have the restricted role. */
export function wrongRole(database: string, role: string, wanted: string): DatabaseStartError {
  return new WrongRoleError(
    `The database ${database} runs statements as ${role} and not as ${wanted}, because a connection pooler or proxy ` +
      `drops the start-up option that sets the role. ${REMEDY}`,
  );
}

/** The connection has the role and nothing else that was asked for. */
export function droppedOptions(database: string): DatabaseStartError {
  return new DatabaseStartError(
    `The database ${database} does not get the settings that the service depends on, because a connection pooler or ` +
      `proxy drops the start-up parameter that has them. ${REMEDY}`,
  );
}

/** The pooler does not accept a parameter; `reason` is what it says. */
export function refusedParameter(database: string, reason: string): DatabaseStartError {
  return new DatabaseStartError(
    `The database ${database} refuses the connection: a connection pooler in between says "${reason}". ${REMEDY}`,
  );
}
