import { setTimeout as sleep } from "node:timers/promises";
import { CommandError } from "../output.ts";
import { createFeed } from "./feed.ts";
import type { Feed } from "./feed.ts";
import { isSameTrust, issueSvid, readTrust, whoami } from "./identity.ts";
import type { Svid, Trust } from "./identity.ts";
import { connectServer, isRefusal, reasonOf } from "./server.ts";
import type { Server } from "./server.ts";

/** What workloads receive. */
export interface Material {
  readonly svid: Svid;
  readonly trust: Trust;
}

/** Why there is none: the service could not be reached yet, or it refuses the identity. */
export type Missing = "unavailable" | "refused";

/** Options of {@link createKeeper}. */
export interface KeeperOptions {
  /** The service's listener of mutual TLS, and the PEM of what its certificate is verified by. */
  server: string;
  ca: string;
  /** Reads the automation token; it may be replaced while the agent runs. */
  readToken(): Promise<string>;
  /** Prints a line; it never has a secret. */
  say(line: string): void;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Wait between two looks at the service: a revocation is noticed after it at the latest. */
  pollMs: number;
}

/** Keeps an SVID and what verifies others, until it is stopped. */
export interface Keeper {
  readonly feed: Feed<Material | Missing>;
  /** The service, called with the present SVID; undefined without one. */
  server(): Server | undefined;
  /** Runs until the signal. @throws {CommandError} when the first token is refused or no automation token */
  run(signal: AbortSignal): Promise<void>;
}

/**
 * Obtains the first SVID with the automation token; renews it at half of its lifetime, over mutual TLS with the SVID it
 * has. Where that is refused or over, it uses the token again.
 */
export function createKeeper(options: KeeperOptions): Keeper {
  const { say, now } = options;
  const feed = createFeed<Material | Missing>("unavailable");
  let held: { svid: Svid; server: Server } | undefined;
  let problem: string | undefined;

  const tell = (line: string): void => {
    if (line !== problem) say(line);
    problem = line;
  };

  function hold(svid: Svid): void {
    held?.server.close();
    held = { svid, server: connectServer(options.server, options.ca, svid) };
  }

  function drop(): void {
    held?.server.close();
    held = undefined;
  }

  async function obtain(): Promise<void> {
    const server = connectServer(options.server, options.ca, { token: await options.readToken() });
    try {
      hold(await issueSvid(server, await whoami(server)));
    } finally {
      server.close();
    }
  }

  async function renewIfDue({ svid, server }: { svid: Svid; server: Server }): Promise<void> {
    const half = svid.notBefore + (svid.notAfter - svid.notBefore) / 2;
    if (now() >= half) hold(await issueSvid(server, svid));
  }

  /** Looks at the service once. A refusal of the SVID leads to the token; a refusal of both ends what was served. */
  async function look(): Promise<void> {
    if (held !== undefined && now() >= held.svid.notAfter) drop();
    if (held !== undefined) {
      try {
        await renewIfDue(held);
        return await publish();
      } catch (error) {
        if (!isRefusal(error)) throw error;
        say("The service refused the SVID");
        drop();
      }
    }
    await obtain();
    await publish();
  }

  async function publish(): Promise<void> {
    if (held === undefined) return;
    const { svid, server } = held;
    const trust = await readTrust(server, svid.orgUuid);
    const before = feed.current();
    const isSame = typeof before === "object" && before.svid === svid && isSameTrust(before.trust, trust);
    if (!isSame) feed.set({ svid, trust });
    if (typeof before !== "object" || before.svid !== svid)
      say(`The SVID of ${svid.spiffeId} is valid until ${new Date(svid.notAfter).toISOString()}`);
    problem = undefined;
  }

  /** What is served while the service cannot be asked: the SVID as long as it is valid. */
  function fail(error: unknown): void {
    const before = feed.current();
    if (error instanceof CommandError || isRefusal(error)) {
      if (before !== "refused") feed.set("refused");
      tell(error instanceof CommandError ? error.message : "The service refused the automation token");
      return;
    }
    if (typeof before === "object" && now() >= before.svid.notAfter) feed.set("unavailable");
    tell(`The service cannot be asked: ${reasonOf(error)}`);
  }

  return {
    feed,
    server: () => held?.server,
    async run(signal) {
      for (let isFirst = true; !signal.aborted; ) {
        try {
          await look();
          isFirst = false;
        } catch (error) {
          if (isFirst && error instanceof CommandError) throw error;
          if (isFirst && isRefusal(error)) throw new CommandError("The service refused the automation token.");
          fail(error);
        }
        await sleep(options.pollMs, undefined, { signal }).catch(() => undefined);
      }
      drop();
    },
  };
}
