import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { callRest } from "../support/app.ts";
import type { Answer } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";

/** One write under an Idempotency-Key, sent until it has a response. */
interface Write {
  /** A unique name that the write gives to what it creates. */
  name: string;
  kind: "listing" | "role";
  /** The id of what was created, from the response. */
  id: string;
  /** Times it was sent. */
  sent: number;
}

/** Outcome of the writes. */
export interface KeyedWrites {
  writes: number;
  /** Sent more than once, since a response was lost. */
  repeated: number;
  /** Responses that were stored ones. */
  replayed: number;
  /** What is not as it has to be. */
  wrong: string[];
}

/**
 * Writes without a pause, each under a key of its own, which is sent again to the next instance as soon as its answer
 * is lost, while instances are killed. None may be refused, lost or made twice.
 */
export function startKeyedWrites(
  urls: readonly string[],
  databaseUrl: string,
  token: string,
  appId: string,
  lanes: number,
) {
  const done: Write[] = [];
  const wrong: string[] = [];
  let replayed = 0;
  let turn = 0;
  let on = true;

  async function write(): Promise<void> {
    const [name, key, kind] = [
      `n-${randomUUID()}`,
      randomUUID(),
      Math.random() < 0.5 ? ("listing" as const) : ("role" as const),
    ];
    const [path, body] =
      kind === "listing"
        ? [`/api/marketplace/apps/${appId}/listings`, { marketplace: "aws", external_product_id: name }]
        : ["/api/v2/products/main/roles", { name, permissions: [] }];
    for (let sent = 1; ; sent++) {
      const url = urls[turn++ % urls.length] ?? "";
      const answer: Answer | undefined = await callRest(url, "POST", path, {
        token,
        body,
        headers: { "idempotency-key": key },
      }).catch(() => undefined);
      if (answer?.status === 200 || answer?.status === 201) {
        if (answer.headers.has("idempotent-replayed")) replayed++;
        done.push({ name, kind, sent, id: String(kind === "listing" ? answer.body.listing_id : answer.body.data.id) });
        return;
      }
      if (answer !== undefined && answer.status !== 503) {
        wrong.push(`a ${kind} sent ${sent} times was answered ${answer.status}: ${answer.text.slice(0, 200)}`);
        return;
      }
      // An instance that is down refuses at once; the next one is tried.
      if (answer !== undefined) await sleep(50);
    }
  }

  const running = Promise.all(
    Array.from({ length: lanes }, async () => {
      while (on) await write();
    }),
  );

  return {
    /** Waits for every response and compares the responses with the database. */
    async report(): Promise<KeyedWrites> {
      on = false;
      await running;
      const rows = await runSql<{ name: string; id: string }>(
        databaseUrl,
        `select external_product_id as name, listing_id::text as id from app_listings
         union all select name, id::text from roles where org_uuid is not null`,
      );
      const made = new Map<string, string[]>();
      for (const { name, id } of rows) if (name.startsWith("n-")) made.set(name, [...(made.get(name) ?? []), id]);
      for (const { name, kind, id } of done) {
        const found = made.get(name) ?? [];
        if (found.length !== 1 || found[0] !== id)
          wrong.push(`a ${kind} answered as ${id} is there as ${found.join(", ") || "nothing"}`);
        made.delete(name);
      }
      if (made.size > 0) wrong.push(`${made.size} of what is there was never answered`);
      return { writes: done.length, repeated: done.filter(({ sent }) => sent > 1).length, replayed, wrong };
    },
  };
}
