import { Resolver, lookup } from "node:dns/promises";

/** Returns all addresses of a host name; rejects or returns none when there are none. */
export type Resolve = (host: string, signal: AbortSignal) => Promise<readonly string[]>;

const loopback = ["127.0.0.1", "::1"];

/**
 * Queries the name servers directly, so that slow ones do not block the thread pool that files and the system's
 * resolver use, and so that neither a search domain nor the hosts file maps a tenant's host name to a private address.
 */
export const resolvePublic: Resolve = async (host, signal) => {
  if (host === "localhost" || host.endsWith(".localhost")) return loopback;
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  const cancel = (): void => resolver.cancel();
  signal.addEventListener("abort", cancel, { once: true });
  try {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = [v4, v6].flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (found.length === 0 && v4.status === "rejected") throw v4.reason;
    return found;
  } finally {
    signal.removeEventListener("abort", cancel);
  }
};

/** Uses the system's resolver, hosts file included: only for hosts that the operator has allowed. */
export const resolveSystem: Resolve = async (host) => (await lookup(host, { all: true })).map(({ address }) => address);
