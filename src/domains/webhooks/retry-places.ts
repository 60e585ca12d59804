/**
 * Endpoints whose retries an instance attempts at the same time: fewer than its concurrent activities, so that those
 * that do not respond cannot keep other work waiting.
 */
const PLACES = 600;
/** For how long an endpoint without a place waits before it asks again, milliseconds. */
export const AGAIN_MS = { min: 60_000, max: 120_000 };

/** Endpoint of retries. */
export interface RetryingEndpoint {
  webhookId: string;
  orgUuid: string;
}

/**
 * Places of endpoints whose retries are attempted. An organization holds at most as many as it leaves free, so that
 * none can take the last. Those of its endpoints that were refused come before one that has just had a place. `now`
 * counts milliseconds.
 */
export function createRetryPlaces(now: () => number = () => performance.now()) {
  /** How many an organization holds. */
  const held = new Map<string, number>();
  let used = 0;
  /** Refused endpoints, least recently refused first, and how many an organization has. */
  const refused = new Map<string, { orgUuid: string; at: number }>();
  const waiting = new Map<string, number>();

  function change(counts: Map<string, number>, orgUuid: string, by: 1 | -1): void {
    const count = (counts.get(orgUuid) ?? 0) + by;
    if (count > 0) counts.set(orgUuid, count);
    else counts.delete(orgUuid);
  }

  function forget(webhookId: string, { orgUuid }: { orgUuid: string }): void {
    if (refused.delete(webhookId)) change(waiting, orgUuid, -1);
  }

  /** Forgets endpoints that did not ask again: another instance has served them, or they have no more retries. */
  function forgetServed(): void {
    for (const [webhookId, one] of refused) {
      if (one.at > now() - 1.5 * AGAIN_MS.max) return;
      forget(webhookId, one);
    }
  }

  function hasRoom({ webhookId, orgUuid }: RetryingEndpoint): boolean {
    forgetServed();
    const ahead = refused.has(webhookId) ? 0 : (waiting.get(orgUuid) ?? 0);
    if ((held.get(orgUuid) ?? 0) + ahead + 2 <= PLACES - used) return true;
    forget(webhookId, { orgUuid });
    refused.set(webhookId, { orgUuid, at: now() });
    change(waiting, orgUuid, 1);
    return false;
  }

  return {
    /**
     * Whether there is a place for an endpoint. A refusal is noted, so that others of the organization yield to it; the
     * endpoint is to ask again after {@link AGAIN_MS}.
     */
    hasRoom,
    /** Takes a place, which has to be left in the end; false when there is none. */
    enter(endpoint: RetryingEndpoint): boolean {
      if (!hasRoom(endpoint)) return false;
      forget(endpoint.webhookId, endpoint);
      change(held, endpoint.orgUuid, 1);
      used++;
      return true;
    },
    leave({ orgUuid }: RetryingEndpoint): void {
      change(held, orgUuid, -1);
      used--;
    },
  };
}
