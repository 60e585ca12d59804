import type { Tx } from "../../../platform/db/types.ts";
import type { Fact } from "../providers/index.ts";
import type { TimedFact } from "./fold.ts";

// Providers may give times in whole seconds. Within one, creation comes first, then failures, other changes, and last
// what was paid, since a provider retries what failed and never what was paid; the id decides the rest.
const RANK = `case when type like '%.created' then 0 when type like '%failed' then 1
  when type in ('invoice.paid', 'transaction.completed', 'checkout.session.async_payment_succeeded') then 3 else 2 end`;
const IN_ORDER = `occurred_at, ${RANK}, event_id`;
const NEWEST_FIRST = `occurred_at desc, ${RANK} desc, event_id desc`;

/** What later events replace, and a buyer can repeat without paying. The end of a subscription is final. */
const PASSING = `(facts = '[]' or facts @> '[{"kind": "payment", "status": "failed"}]'
  or facts @> '[{"kind": "subscription"}]' and not facts @> '[{"kind": "subscription", "status": "canceled"}]')`;
/** Most events of a quote that are read: of those that last the oldest, of passing ones the newest. */
const [MOST_LASTING, MOST_PASSING] = [10_000, 1_000];

/** What all events of a quote say. */
export interface Said {
  /** In the order of their time. */
  facts: TimedFact[];
  /** The customers that they name, with the time of the last event of each; the newest last. */
  customers: ReadonlyMap<string, string>;
}

/** What all events of quotes say, by quote; of passing ones the newest. */
export async function saidOf(tx: Tx, quoteIds: readonly string[]): Promise<Map<string, Said>> {
  const rows = await tx.query<{ quoteId: string; events: { at: string; facts: Fact[]; customer: string | null }[] }>(
    `select q.id as "quoteId", array(
       select jsonb_build_object('at', occurred_at, 'facts', facts, 'customer', customer_id)
       from (
         (select * from provider_events where quote_id = q.id and not ${PASSING}
          order by ${IN_ORDER} limit ${MOST_LASTING})
         union all
         (select * from provider_events where quote_id = q.id and ${PASSING}
          order by ${NEWEST_FIRST} limit ${MOST_PASSING})
       ) said order by ${IN_ORDER}) as events
     from unnest($1::uuid[]) as q (id)`,
    [quoteIds],
  );
  return new Map(
    rows.map(({ quoteId, events }) => {
      const facts = events.flatMap(({ at, facts: said }) => said.map((fact) => ({ ...fact, at })));
      const customers = new Map<string, string>();
      for (const { customer, at } of events) {
        if (customer === null) continue;
        customers.delete(customer);
        customers.set(customer, at);
      }
      return [quoteId, { facts, customers }];
    }),
  );
}
