import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError } from "@connectrpc/connect";
import { CommandError } from "../output.ts";
import { createFeed } from "./feed.ts";
import type { Feed } from "./feed.ts";
import { issueSvid, whoami } from "./identity.ts";
import type { Svid } from "./identity.ts";
import type { Clocks } from "./life.ts";
import { connectServer, isRefusal, reasonOf } from "./server.ts";
import type { Credential, Server } from "./server.ts";
import { createTrustReader, isSameTrust } from "./trust.ts";
import type { Trust } from "./trust.ts";

/** What workloads receive. */
export interface Material {
  readonly svid: Svid;
  readonly trust: Trust;
}

/** Why there is none: the service could not be reached yet, or it refuses the identity. */
export type Missing = "unavailable" | "refused";

/** A wait after which an SVID is issued again where the last one was refused. */
const REISSUE_MS = 60_000;
/** Difference of clocks that SVIDs and other instances allow for. */
const MAX_SKEW_MS = 60_000;
/** Longest wait between two looks, while the service refuses them as too many. */
const MAX_WAIT_MS = 60_000;

/** Options of {@link createKeeper}. */
export interface KeeperOptions extends Clocks {
  /** The service's listener of mutual TLS, and the PEM of what its certificate is verified by. */
  server: string;
  ca: string;
  /** Reads the automation token; it may be replaced while the agent runs. */
  readToken(): Promise<string>;
  /** Prints a line; it never has a secret. */
  say(line: string): void;
  /** Wait between two looks at the service: a revocation is noticed after it, unless there are too many calls. */
  pollMs: number;
  /** Ends `run`, and the calls in flight. */
  stop: AbortSignal;
}

/** Keeps an SVID and what verifies others, until it is stopped. */
export interface Keeper {
  readonly feed: Feed<Material | Missing>;
  /** The service, called with the present SVID; undefined without one. */
  server(): Server | undefined;
  /** Runs until it is stopped. @throws {CommandError} when the first token is refused or no automation token */
  run(): Promise<void>;
}

/** An SVID, and the service called with it. */
interface Held {
  readonly svid: Svid;
  readonly server: Server;
}

/**
 * Obtains the first SVID with the automation token; renews it at half of its lifetime, over mutual TLS with the SVID it
 * has, and keeps that until the service has accepted the new one. Where it is refused or over, it uses the token again.
 */
export function createKeeper(options: KeeperOptions): Keeper {
  const { say, now, elapsed, stop } = options;
  const connect = (credential: Credential): Server => connectServer(options.server, options.ca, credential, stop);
  const feed = createFeed<Material | Missing>("unavailable");
  const reader = createTrustReader();
  /** The SVID that the service accepts, and one that it has issued but not accepted yet. */
  let held: Held | undefined;
  let fresh: Held | undefined;
  /** When an SVID may be issued again after one was refused. */
  let reissueAt = -Infinity;
  let problem: string | undefined;
  let isClockWrong = false;

  const tell = (line: string): void => {
    if (line !== problem) say(line);
    problem = line;
  };

  /** Says once that this machine's clock is wrong. Nothing here depends on it, but others verify SVIDs by theirs. */
  function compareClocks({ issuedAt }: Svid): void {
    const aheadMs = now() - issuedAt;
    const wasWrong = isClockWrong;
    isClockWrong = Math.abs(aheadMs) > MAX_SKEW_MS;
    if (!isClockWrong || wasWrong) return;
    const direction = aheadMs > 0 ? "ahead of" : "behind";
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    say(`The clock of this machine is ${seconds} seconds ${direction} the service's; workloads may refuse SVIDs`);
  }

  async function issue(server: Server, who: { identityId: string; orgUuid: string }): Promise<void> {
    const svid = await issueSvid(server, who, options);
    compareClocks(svid);
    fresh = { svid, server: connect(svid) };
  }

  async function obtain(): Promise<void> {
    if (elapsed() < reissueAt) throw refusedFresh();
    const server = connect({ token: await options.readToken() });
    try {
      await issue(server, await whoami(server));
    } finally {
      server.close();
    }
  }

  /** Replaces the SVID by the one that was issued, once the service accepts that. */
  async function accept(): Promise<void> {
    if (fresh === undefined) return;
    try {
      await fresh.server.access.getMe({});
    } catch (error) {
      if (!isRefusal(error)) throw error;
      fresh.server.close();
      fresh = undefined;
      reissueAt = elapsed() + REISSUE_MS;
      throw refusedFresh();
    }
    held?.server.close();
    held = fresh;
    fresh = undefined;
  }

  async function renewIfDue({ svid, server }: Held): Promise<void> {
    if (fresh === undefined) {
      if (!svid.life.isHalfOver() || elapsed() < reissueAt) return;
      await issue(server, svid);
    }
    await accept();
  }

  function drop(): void {
    held?.server.close();
    held = undefined;
  }

  /** Keeps up what is held. A renewal and the reading of bundles do not wait for each other's success. */
  async function keep(present: Held): Promise<void> {
    const failures: unknown[] = [];
    await renewIfDue(present).catch((error: unknown) => failures.push(error));
    publish();
    const { svid, server } = held ?? present;
    failures.push(...(await reader.read(server, svid.orgUuid)));
    publish();
    if (failures.length > 0) throw failures.find(isRefusal) ?? failures[0];
    problem = undefined;
  }

  /** Looks at the service once. A refusal of the SVID leads to the token; a refusal of both ends what was served. */
  async function look(): Promise<void> {
    if (held !== undefined) {
      try {
        return await keep(held);
      } catch (error) {
        if (!isRefusal(error)) throw error;
        say("The service refused the SVID");
        drop();
      }
    }
    if (fresh === undefined) await obtain();
    await accept();
    if (held !== undefined) await keep(held);
  }

  /** Gives workloads the SVID, unless it has expired, with what was last known to verify others. */
  function publish(): void {
    const trust = held === undefined ? undefined : reader.last(held.svid.orgUuid);
    if (held === undefined || trust === undefined || held.svid.life.isOver()) return;
    const { svid } = held;
    const before = feed.current();
    const isSame = typeof before === "object" && before.svid === svid && isSameTrust(before.trust, trust);
    if (!isSame) feed.set({ svid, trust });
    if (typeof before !== "object" || before.svid !== svid)
      say(`The SVID of ${svid.spiffeId} is valid until ${new Date(svid.notAfter).toISOString()}`);
  }

  /** What is served while the service cannot be asked: the SVID as long as it is valid. */
  function fail(error: unknown): void {
    const before = feed.current();
    if (error instanceof CommandError || isRefusal(error)) {
      if (before !== "refused") feed.set("refused");
      tell(error instanceof CommandError ? error.message : "The service refused the automation token");
      return;
    }
    if (typeof before === "object" && before.svid.life.isOver()) feed.set("unavailable");
    tell(`The service cannot be asked: ${reasonOf(error)}`);
  }

  return {
    feed,
    server: () => held?.server,
    async run() {
      let waitMs = options.pollMs;
      for (let isFirst = true; !stop.aborted; ) {
        try {
          await look();
          waitMs = options.pollMs;
        } catch (error) {
          if (stop.aborted) break;
          if (isFirst && error instanceof CommandError) throw error;
          if (isFirst && isRefusal(error)) throw new CommandError("The service refused the automation token.");
          fail(error);
          waitMs = isTooMany(error) ? Math.min(waitMs * 2, MAX_WAIT_MS) : options.pollMs;
        }
        if (held !== undefined) isFirst = false;
        await sleep(withJitter(waitMs), undefined, { signal: stop }).catch(() => undefined);
      }
      fresh?.server.close();
      drop();
    },
  };
}

const refusedFresh = (): Error => new Error("it refused the SVID that it had just issued");

const isTooMany = (error: unknown): boolean => ConnectError.from(error).code === Code.ResourceExhausted;

/** Between 80 % and 120 %: agents that start together do not ask together. */
const withJitter = (ms: number): number => ms * (0.8 + 0.4 * Math.random());
