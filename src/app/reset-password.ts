import { createCursors } from "../platform/cursors.ts";
import { DOMAINS } from "../domains/order.ts";
import { entities } from "./entities.ts";
import { assertReachable } from "./reachable.ts";
import { migrations } from "../migrations/index.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { createPasswordHasher } from "../platform/crypto/password.ts";
import { createSealer } from "../platform/crypto/sealed.ts";
import { openDatabase } from "../platform/db/index.ts";
import { StartError } from "../platform/start-error.ts";
import { createRequestContexts } from "../platform/context.ts";
import { noWorkflows } from "../platform/temporal/workflows.ts";
import { createLimiter } from "../platform/limits/index.ts";
import type { Log } from "../platform/log.ts";
import { createGuardedClient } from "../platform/outgoing/client.ts";
import { systemRandom } from "../platform/random.ts";

/** The installation in which {@link resetPassword} creates the link. */
export interface Installation {
  databaseUrl: string;
  instanceKey: Buffer;
  config: Config;
  log: Log;
}

/**
 * Creates a link with which a person sets a new password, in the database of a running installation.
 * @throws StartError when no account has the address, or the database cannot be used.
 */
export async function resetPassword(
  installation: Installation,
  email: string,
): Promise<{ link: string; expiresAt: Date }> {
  const { databaseUrl, instanceKey, config, log } = installation;
  const ground = { clock: systemClock, random: systemRandom, config, log };
  const database = await openDatabase({ url: databaseUrl, entities, migrations, ...ground });
  const hasher = createPasswordHasher(ground);
  const outgoing = createGuardedClient(config.outgoing);
  const sealer = createSealer(instanceKey, systemRandom, config.previousInstanceKey);
  const { login, sessions } = DOMAINS.build({
    ...ground,
    database,
    hasher,
    outgoing,
    sealer,
    cursors: createCursors({ clock: systemClock, sealer, cursorMs: config.ttl.cursorMs }),
    masterKey: undefined,
    limiter: createLimiter({ ...ground, database }),
    workflows: noWorkflows,
    contexts: createRequestContexts(database),
  });
  try {
    await assertReachable(database, databaseUrl, config.database.url === undefined);
    const made = await login.createResetLink(email);
    if (made === undefined) throw new StartError(`No account has the address ${email}; check its spelling.`);
    return made;
  } finally {
    await Promise.all([hasher.close(), outgoing.close(0), sessions.close()]);
    await database.close();
  }
}
