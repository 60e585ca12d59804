import { runSql } from "../../support/postgres.ts";
import type { Environment } from "../environment.ts";
import { p50Side } from "./latency.ts";
import type { RatioRow, Side } from "./row.ts";

const small = 1_000;
const large = 100_000;

/** Apps about lighthouses, as many at either size: two pages full. */
const special = 40;

/** Some 2,000 words that can be spoken; a text takes the first of them far more often than the last, as people do. */
const seed = (count: number): string => `
  create temporary table words as
    select row_number() over () as n, a || b || c as word
    from unnest(array['ka','lo','mi','nu','ra','se','ti','vo','za','be','du','fi','go']) a,
         unnest(array['lan','mer','nix','por','qua','rus','sol','tan','vel','wix','yor','zen']) b,
         unnest(array['a','o','um','is','ex','ar','in','ot','us','el','ya','on','ic']) c;
  create unique index on words (n);
  create temporary table texts as
    select i, (
          select string_agg(w.word, ' ') from generate_series(1, 12) k
          join words w on w.n = 1 + floor(2000 * power(abs(sin(i * 12.9898 + k * 78.233)) , 3))::int
        )
        || case when i % ${count / special} = 0 then ' lighthouse' else '' end as description
    from generate_series(1, ${count}) i;
  insert into app_slugs (slug) select 'app-' || i from texts;
  insert into apps (
      app_id, org_uuid, slug, name, description, deployment_modes, pricing_model, base_price_cents, currency, plans,
      provision_webhook, webhook_secret, status, created_by, key_id, published_at, created_at, updated_at)
    select gen_random_uuid(), o.uuid, 'app-' || i,
      initcap(split_part(description, ' ', 1 + i % 12)) || ' ' || to_char(i, 'FM000000'), description,
      '{multi_tenant}', 'free', 0, 'usd', '[]',
      'https://publisher.example/', '', 'published', p.uuid, gen_random_uuid(),
      now() - i * interval '1 minute', now(), now()
    from texts, (select uuid from organizations limit 1) o, (select uuid from people limit 1) p;
  analyze apps`;

const seeded = new Set<string>();

async function catalogue(environment: Environment, apps: number, query: string): Promise<Side> {
  const service = await environment.keptService(`catalogue_${apps}`, { seededPeople: { people: 1, sessions: 1 } });
  if (!seeded.has(service.databaseUrl)) await runSql(service.databaseUrl, seed(apps));
  seeded.add(service.databaseUrl);
  return p50Side(environment, `${apps} apps`, service, `/api/marketplace?${query}`, service.tokens.slice(0, 1));
}

function row(name: string, what: string, query: string): RatioRow {
  return {
    kind: "ratio",
    name: `browse-${name}`,
    title: `p50 of ${what} in 100 thousand apps, against one thousand`,
    unit: "ms",
    target: 1.5,
    at: "most",
    sides: async (environment) => [
      await catalogue(environment, large, query),
      await catalogue(environment, small, query),
    ],
  };
}

/**
 * Typical looks into the catalogue; a search finds the same apps at either size. What finds more takes longer, as all
 * of it is counted and ranked: a beginning that 6,000 of 100 thousand apps have takes some 20 ms.
 */
export const browse: readonly RatioRow[] = [
  row("all", "browsing without a search", ""),
  row("page", "page 50 without a search", "page=50"),
  row("name", "searching one app by its name", "q=000321"),
  row("word", "searching a word of 40 apps", "q=lighthouse"),
  row("prefix", "searching the beginning of a word of 40 apps", "q=lighth"),
];
