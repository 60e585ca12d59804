import { systemClock } from "../../src/platform/clock.ts";
import { silentLog } from "../../src/platform/log.ts";
import type { PollerDeps } from "../../src/platform/poller.ts";
import { systemRandom } from "../../src/platform/random.ts";

/** Dependencies of a poller under test. */
export const pollerDeps = { clock: systemClock, random: systemRandom, log: silentLog } satisfies PollerDeps;
