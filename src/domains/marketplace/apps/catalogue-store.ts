import type { EntityManager } from "@mikro-orm/postgresql";
import { MAX_EXACT, totalOf } from "../../../platform/db/total.ts";
import type { Total } from "../../../platform/db/total.ts";

/** One row of the public catalogue. */
export interface CatalogueRow {
  appId: string;
  slug: string;
  name: string;
  description: string;
  pricingModel: string;
  basePriceCents: number;
  deploymentModes: string[];
  currency: string;
}

/** A page of the catalogue. */
export type CataloguePage = { rows: CatalogueRow[] } & Total;

const columns = `app_id as "appId", slug, name, description, pricing_model as "pricingModel",
  base_price_cents as "basePriceCents", deployment_modes as "deploymentModes", currency`;
/** The same columns of a subquery. */
const names = '"appId", slug, name, description, "pricingModel", "basePriceCents", "deploymentModes", currency';

/** All published apps, newest first. The total is stored; pages far behind read only an index. */
export async function wholeCatalogue(em: EntityManager, limit: number, offset: number): Promise<CataloguePage> {
  const connection = em.getConnection();
  const [count] = await connection.execute<{ total: number }[]>("select published::int as total from catalogue_size");
  const total = count?.total ?? 0;
  if (offset >= total) return { rows: [], total };
  const sql = `select ${columns} from apps where app_id in (
      select app_id from apps where status = 'published' order by published_at desc, app_id limit ? offset ?
    ) order by published_at desc, app_id`;
  return { rows: await connection.execute<CatalogueRow[]>(sql, [limit, offset]), total };
}

/**
 * Published apps, best match first, then the newest. Every word of the search must begin a word of name, slug or
 * description; a search without any word finds nothing. Of more than 10,000 matches as many are ranked.
 */
export async function searchCatalogue(
  em: EntityManager,
  search: string,
  limit: number,
  offset: number,
): Promise<CataloguePage> {
  // The words are parsed once and not for every row, and the matches are counted in the same statement.
  const sql = `with matches as materialized (
      select ${columns}, published_at, ts_rank(search, (select catalogue_query(?))) as rank
      from apps where status = 'published' and search @@ (select catalogue_query(?)) limit ${MAX_EXACT + 1}
    )
    select ${names}, (select count(*) from matches)::int as counted from matches
    order by rank desc, published_at desc, "appId" limit ? offset ?`;
  const connection = em.getConnection();
  const rows = await connection.execute<(CatalogueRow & { counted: number })[]>(sql, [search, search, limit, offset]);
  if (rows.length > 0 || offset === 0) return { rows, ...totalOf(rows) };
  const first = await connection.execute<{ counted: number }[]>(sql, [search, search, 1, 0]);
  return { rows: [], ...totalOf(first) };
}
