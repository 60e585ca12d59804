import { createdAt, readList } from "../../../platform/db/list.ts";
import type { Listed } from "../../../platform/db/list.ts";
import type { Page } from "../../../platform/db/paging.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { PriceInRegion } from "./choice.ts";

/** A price. It never changes but for `active`. */
export interface PriceRow {
  priceId: number;
  product: string;
  plan: string | null;
  interval: string;
  currency: string;
  unitAmountCents: number;
  /** A decimal; null for no tax. */
  taxPercent: string | null;
  regions: PriceInRegion[];
  active: boolean;
  createdAt: Date;
}

type Reader = Pick<Database, "prepared">;
const terms = `price_id as "priceId", currency, unit_amount_cents as "unitAmountCents",
  tax_percent::text as "taxPercent", regions`;
const columns = `${terms}, product, plan, interval, active, created_at as "createdAt"`;

/** Stores a price; returns its id. */
export async function insertPrice(tx: Tx, price: Omit<PriceRow, "priceId" | "active">): Promise<number> {
  const [row] = await tx.query<{ priceId: number }>(
    `insert into prices (product, plan, interval, currency, unit_amount_cents, tax_percent, regions, created_at)
     values ($1, $2, $3, $4, $5, $6::text::numeric, $7, $8) returning price_id as "priceId"`,
    [
      price.product,
      price.plan,
      price.interval,
      price.currency,
      price.unitAmountCents,
      price.taxPercent,
      JSON.stringify(price.regions),
      price.createdAt,
    ],
  );
  if (row === undefined) throw new Error("insert … returning returned no row");
  return row.priceId;
}

/** Makes a price inactive; false when there is no such active price. */
export async function deactivatePrice(tx: Tx, priceId: number): Promise<boolean> {
  const sql = "update prices set active = false where price_id = $1::bigint and active returning 1 as one";
  return (await tx.query(sql, [priceId])).length > 0;
}

/** What a price costs. */
export type PriceTerms = Pick<PriceRow, "priceId" | "currency" | "unitAmountCents" | "taxPercent" | "regions">;

/** Prices that can be bought, of these ids, in no order. */
export function findActivePrices(database: Reader, priceIds: readonly number[]): Promise<PriceTerms[]> {
  const sql = `select ${terms} from prices where price_id = any ($1::bigint[]) and active`;
  return database.prepared<PriceTerms>("prices-read", sql, [priceIds]);
}

/** Prices, newest first. */
export function pricesWhere(
  database: Reader,
  { active, product }: { active?: boolean | undefined; product?: string | undefined },
  page: Page,
): Promise<Listed<PriceRow>> {
  const from = "from prices where ($1::boolean is null or active = $1) and ($2::text is null or product = $2)";
  const sort = { created_at: createdAt() };
  const id = { sql: "price_id", type: "integer" } as const;
  const list = { name: "prices", columns, from, params: [active, product], id, q: ["product"], sort };
  return readList(database, { ...list, order: "-created_at", ties: "with" }, page);
}
