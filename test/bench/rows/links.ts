import type { FigureRow } from "./row.ts";

/** Addresses that are written to in turn. */
const addresses = 20_000;

/** Magic links a second, the mails waiting in the outbox: the service serves only, on one core. */
export const magicLinks: FigureRow = {
  kind: "figure",
  name: "magic-links",
  title: "POST /api/auth/magic-link/send, dispatcher off, one core",
  unit: "1/s",
  target: 1_000,
  at: "least",
  async measure(environment, seconds) {
    const { port, pid } = await environment.service();
    const headers = { "content-type": "application/json" };
    const bodies = Array.from({ length: addresses }, (_, i) => JSON.stringify({ email: `reader${i}@links.test` }));
    const file = environment.requests(
      bodies.map((body) => ({ method: "POST", path: "/api/auth/magic-link/send", headers, body })),
    );
    const job = { protocol: "http1", port, connections: 32, file } as const;
    await environment.load({ ...job, seconds: 1 }, pid);
    return (await environment.load({ ...job, seconds }, pid)).value;
  },
};
