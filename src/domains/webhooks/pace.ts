import type { Held, Shares } from "./places-store.ts";

/** Posts at once for an endpoint that answers, and for one that has left any unanswered for long. */
const PER_ENDPOINT = 32;
const PER_SILENT_ENDPOINT = 4;
/** A post that is unanswered for longer, milliseconds, is silence; an endpoint that answers sooner is quick. */
const SILENT_MS = 500;
/** Endpoints whose pace is remembered. */
const REMEMBERED = 512;

/** Places for first attempts: in all, kept for quick endpoints, and of posts that are not met with silence. */
const PLACES = 1_000;
const KEPT_FOR_QUICK = 256;
const ACTIVE = 256;
/** Most of them for one host: three quarters of those that are nobody's in particular. */
const PER_HOST = ((PLACES - KEPT_FOR_QUICK) * 3) / 4;

/** Whom a post is for. */
export interface Target {
  webhookId: string;
  orgUuid: string;
  host: string;
}

/** A post in flight. */
export interface Post extends Target {
  readonly since: number;
}

/** What an endpoint has earned. */
interface Record {
  /** How many posts at once. */
  most: number;
  isQuick: boolean;
}

/**
 * Who may begin how many posts. An endpoint begins with one at once, gets one more with every success and falls back to
 * one with a failure. One that is silent gets one at a time beside what it keeps waiting, and few in all, however much
 * it has earned. The places of all are counted by organization and host, and some are kept for endpoints that answer
 * quickly: those that do not answer must not fill the places of those that do. `now` counts milliseconds.
 */
export function createPace(now: () => number = () => performance.now()) {
  const earned = new Map<string, Record>();
  /** Oldest first. */
  const posts = new Set<Post>();

  /** Remembers what an endpoint has earned; those heard of longest ago are forgotten first. */
  function learn({ webhookId, since }: Post, ok: boolean): void {
    const most = ok ? Math.min((earned.get(webhookId)?.most ?? 1) + 1, PER_ENDPOINT) : 1;
    earned.delete(webhookId);
    if (most > 1) earned.set(webhookId, { most, isQuick: now() - since <= SILENT_MS });
    if (earned.size > REMEMBERED) earned.delete(earned.keys().next().value ?? "");
  }

  function endpoints(before: number): Shares["endpoints"] {
    const busy = new Map<string, { running: number; silent: number }>();
    for (const { webhookId, since } of posts) {
      const { running = 0, silent = 0 } = busy.get(webhookId) ?? {};
      busy.set(webhookId, { running: running + 1, silent: since > before ? silent : silent + 1 });
    }
    const allowed = new Map([...earned].map(([webhookId, { most, isQuick }]) => [webhookId, { free: most, isQuick }]));
    for (const [webhookId, { running, silent }] of busy) {
      const { most, isQuick } = earned.get(webhookId) ?? { most: 1, isQuick: false };
      const free = silent === 0 ? most - running : Math.min(1 + silent, most, PER_SILENT_ENDPOINT) - running;
      allowed.set(webhookId, { free, isQuick: isQuick && silent === 0 });
    }
    return allowed;
  }

  function heldBy(whose: (post: Post) => string, before: number): Map<string, Held> {
    const held = new Map<string, Held>();
    for (const post of posts) {
      const { all = 0, active = 0 } = held.get(whose(post)) ?? {};
      held.set(whose(post), { all: all + 1, active: post.since > before ? active + 1 : active });
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
    /** A post begins. */
    begin({ webhookId, orgUuid, host }: Target): Post {
      const post = { webhookId, orgUuid, host, since: now() };
      posts.add(post);
      return post;
    },
    /** The endpoint is done with a post; told again, nothing changes. */
    answered(post: Post, ok: boolean): void {
      if (posts.delete(post)) learn(post, ok);
    },
    /** How the places are shared now; `noting` posts are answered and still take the place of an active one. */
    shares(noting: number): Shares {
      const before = now() - SILENT_MS;
      const known = endpoints(before);
      const silent = silentPosts(before);
      const quick = [...posts].filter(
        ({ webhookId, since }) => since > before && known.get(webhookId)?.isQuick === true,
      ).length;
      const used = posts.size + noting;
      return {
        endpoints: known,
        organizations: heldBy((post) => post.orgUuid, before),
        hosts: heldBy((post) => post.host, before),
        free: {
          quick: PLACES - used,
          other: Math.min(PLACES - KEPT_FOR_QUICK - (used - quick), PLACES - used),
          active: ACTIVE - (used - silent),
        },
        mostPerHost: PER_HOST,
      };
    },
    /** Posts in flight by what they are waiting for, for metrics. */
    counts(): { active: number; silent: number } {
      const silent = silentPosts(now() - SILENT_MS);
      return { active: posts.size - silent, silent };
    },
  };
}
