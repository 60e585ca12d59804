/** Posts at once for an endpoint that answers, and for one that has left any unanswered for long. */
const PER_ENDPOINT = 32;
const PER_SILENT_ENDPOINT = 4;
/** A post that is unanswered for longer, milliseconds, is silence. */
const SILENT_MS = 500;
/** Endpoints whose pace is remembered. */
const REMEMBERED = 256;

/** A post in flight. */
export interface Post {
  readonly webhookId: string;
  readonly since: number;
}

/**
 * How many posts at once each endpoint may have. It begins with one, gets one more with every success and falls back to one
 * with a failure. One that is silent gets one at a time beside what it keeps waiting, and few in all, however much it has earned:
 * endpoints that stop answering must not fill the places of those that do. `now` counts milliseconds.
 */
export function createPace(now: () => number = () => performance.now()) {
  /** How many at once an endpoint has earned, where that is more than one. */
  const earned = new Map<string, number>();
  /** Oldest first. */
  const posts = new Set<Post>();

  /** Remembers what an endpoint has earned; those heard of longest ago are forgotten first. */
  function learn(webhookId: string, ok: boolean): void {
    const next = ok ? Math.min((earned.get(webhookId) ?? 1) + 1, PER_ENDPOINT) : 1;
    earned.delete(webhookId);
    if (next > 1) earned.set(webhookId, next);
    if (earned.size > REMEMBERED) earned.delete(earned.keys().next().value ?? "");
  }

  return {
    /** A post begins. */
    begin(webhookId: string): Post {
      const post = { webhookId, since: now() };
      posts.add(post);
      return post;
    },
    /** The endpoint is done with a post; told again, nothing changes. */
    answered(post: Post, ok: boolean): void {
      if (posts.delete(post)) learn(post.webhookId, ok);
    },
    /** Posts that are met with silence. */
    silent(): number {
      const before = now() - SILENT_MS;
      let count = 0;
      for (const { since } of posts) {
        if (since > before) break;
        count++;
      }
      return count;
    },
    /** What each endpoint of which something is known may begin now; every other may begin one. */
    allowances(): Map<string, number> {
      const before = now() - SILENT_MS;
      const busy = new Map<string, { running: number; silent: number }>();
      for (const { webhookId, since } of posts) {
        const { running = 0, silent = 0 } = busy.get(webhookId) ?? {};
        busy.set(webhookId, { running: running + 1, silent: since > before ? silent : silent + 1 });
      }
      const allowed = new Map(earned);
      for (const [webhookId, { running, silent }] of busy) {
        const most = earned.get(webhookId) ?? 1;
        allowed.set(webhookId, silent === 0 ? most - running : Math.min(1 + silent, most, PER_SILENT_ENDPOINT) - running);
      }
      return allowed;
    },
  };
}
