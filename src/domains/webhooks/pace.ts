import type { Held, Shares } from "./places-store.ts";

/** Maximum concurrent posts to a responsive endpoint, and to a silent one. */
const PER_ENDPOINT = 32;
const PER_SILENT_ENDPOINT = 4;
/** An endpoint that has not responded for longer is silent; one that responds sooner is quick. */
const SILENT_MS = 500;
/** Endpoints whose pace is kept. */
const MAX_ENDPOINTS = 512;

/** Maximum first attempts in flight: in total, reserved for quick endpoints, and to endpoints that are not silent. */
const PLACES = 1_000;
const RESERVED_FOR_QUICK = 256;
const ACTIVE = 256;
/** Maximum places of one host: three quarters of those that are not reserved. */
const PER_HOST = ((PLACES - RESERVED_FOR_QUICK) * 3) / 4;

/** Endpoint of a post. */
export interface Target {
  webhookId: string;
  orgUuid: string;
  host: string;
}

/** A post in flight. */
export interface Post extends Target {
  readonly since: number;
}

/** Pace of an endpoint. */
interface Pace {
  /** Maximum concurrent posts. */
  limit: number;
  isQuick: boolean;
}

/**
 * Limits concurrent posts. An endpoint begins with one, gets one more with every success and falls back to one with a
 * failure. A silent endpoint gets one post beside those it has not responded to, and few in total, whatever its limit.
 * Places are counted by organization and host, and some are reserved for quick endpoints, so that endpoints that do not
 * respond cannot fill the places of those that do. `now` counts milliseconds.
 */
export function createPace(now: () => number = () => performance.now()) {
  const paces = new Map<string, Pace>();
  // Stands before the least recently adjusted: from the start it would pass all that were deleted since the map grew.
  const eldest = paces.keys();
  /** Oldest first. */
  const posts = new Set<Post>();

  /** Adjusts the pace of an endpoint; the least recently adjusted are dropped first. */
  function adjust({ webhookId, since }: Post, ok: boolean): void {
    const limit = ok ? Math.min((paces.get(webhookId)?.limit ?? 1) + 1, PER_ENDPOINT) : 1;
    paces.delete(webhookId);
    if (limit > 1) paces.set(webhookId, { limit, isQuick: now() - since <= SILENT_MS });
    if (paces.size > MAX_ENDPOINTS) paces.delete(eldest.next().value ?? "");
  }

  function endpoints(before: number): Shares["endpoints"] {
    const busy = new Map<string, { running: number; silent: number }>();
    for (const { webhookId, since } of posts) {
      const { running = 0, silent = 0 } = busy.get(webhookId) ?? {};
      busy.set(webhookId, { running: running + 1, silent: since > before ? silent : silent + 1 });
    }
    const allowed = new Map([...paces].map(([webhookId, { limit, isQuick }]) => [webhookId, { free: limit, isQuick }]));
    for (const [webhookId, { running, silent }] of busy) {
      const { limit, isQuick } = paces.get(webhookId) ?? { limit: 1, isQuick: false };
      const free = silent === 0 ? limit - running : Math.min(1 + silent, limit, PER_SILENT_ENDPOINT) - running;
      allowed.set(webhookId, { free, isQuick: isQuick && silent === 0 });
    }
    return allowed;
  }

  function heldBy(holderOf: (post: Post) => string, before: number): Map<string, Held> {
    const held = new Map<string, Held>();
    for (const post of posts) {
      const { all = 0, active = 0 } = held.get(holderOf(post)) ?? {};
      held.set(holderOf(post), { all: all + 1, active: post.since > before ? active + 1 : active });
    }
    return held;
  }

  function silentPosts(before: number): number {
    let count = 0;
    for (const { since } of posts) {
      if (since > before) break;
      count++;
    }
    return count;
  }

  return {
    /** Counts a post that begins. */
    begin({ webhookId, orgUuid, host }: Target): Post {
      const post = { webhookId, orgUuid, host, since: now() };
      posts.add(post);
      return post;
    },
    /** Counts the end of a post: the endpoint has responded, or failed. Idempotent. */
    end(post: Post, ok: boolean): void {
      if (posts.delete(post)) adjust(post, ok);
    },
    /** The present shares. `recording` posts have ended and still use a place while their outcome is recorded. */
    shares(recording: number): Shares {
      const before = now() - SILENT_MS;
      const known = endpoints(before);
      const silent = silentPosts(before);
      const quick = [...posts].filter(
        ({ webhookId, since }) => since > before && known.get(webhookId)?.isQuick === true,
      ).length;
      const used = posts.size + recording;
      return {
        endpoints: known,
        organizations: heldBy((post) => post.orgUuid, before),
        hosts: heldBy((post) => post.host, before),
        free: {
          quick: PLACES - used,
          other: Math.min(PLACES - RESERVED_FOR_QUICK - (used - quick), PLACES - used),
          active: ACTIVE - (used - silent),
        },
        maxPerHost: PER_HOST,
      };
    },
    /** Posts in flight, for metrics. */
    counts(): { active: number; silent: number } {
      const silent = silentPosts(now() - SILENT_MS);
      return { active: posts.size - silent, silent };
    },
  };
}
