import pg from "pg";

/** Rows of each table in the planner's statistics; all of them exist when `ATRIUM_TEST_ROWS` says so. */
const ROWS = 1_000_000;
/**
 * Rows that are made of each table otherwise: the plans are the same, and the suite has not the minutes for all of
 * them.
 */
export const FEW_ROWS = 20_000;
/** Rows inserted by one statement. */
const BATCH = 100_000;

/** What differs from row to row, as SQL over the row `t` that is copied and its number `n`. */
type Differences = Readonly<Record<string, string>>;

const uuid = "gen_random_uuid()";
const ago = "now() - n * interval '1 second'";
const email = "'seeded' || n || '@people.test'";
/** Nine of ten rows belong to the large organization, each other one to another organization. */
const mostly = (column: string): string => `case when n % 10 = 0 then gen_random_uuid() else t.${column} end`;
/**
 * One row of twenty is the organization's: lists of what an organization has few of, or that are over by themselves.
 */
const hardly = (column: string): string => `case when n % 20 = 0 then t.${column} else gen_random_uuid() end`;
/** Five rows are the organization's: what the service lets nobody have many of. */
const few = (column: string): string => `case when n <= 5 then t.${column} else gen_random_uuid() end`;
/** One of 1,000 organizations that exist. */
const someOrganization = "(array(select uuid from organizations order by uuid limit 1000))[1 + n % 1000]";
const oneOf = (...values: string[]): string =>
  `(array[${values.map((value) => `'${value}'`).join(", ")}])[1 + n % ${values.length}]`;

/** Every table that a list reads and that grows, with which of its rows is copied. Only what must differ is named. */
const tables: Readonly<Record<string, { like: string; differ: Differences }>> = {
  people: { like: "uuid = $user", differ: { uuid, email, email_key: email, username: "null", created_at: ago } },
  organizations: { like: "uuid = $org", differ: { uuid, name: "'Seeded ' || n", created_at: ago } },
  memberships: {
    like: "org_uuid = $org and user_uuid = $user",
    differ: {
      org_uuid: mostly("org_uuid"),
      user_uuid: uuid,
      is_owner: "false",
      email_key: email,
      status: oneOf("active", "active", "inactive", "removed"),
      created_at: ago,
    },
  },
  roles: { like: "org_uuid = $org", differ: { org_uuid: few("org_uuid"), name: "'seeded ' || n", created_at: ago } },
  invitations: {
    like: "org_uuid = $org",
    differ: {
      uuid,
      org_uuid: mostly("org_uuid"),
      token_hash: "decode(md5(n::text), 'hex')",
      email,
      email_key: email,
      created_at: ago,
    },
  },
  sessions: {
    like: "uuid = $session",
    differ: {
      uuid,
      user_uuid: few("user_uuid"),
      org_uuid: hardly("org_uuid"),
      device_uuid: few("device_uuid"),
      created_at: ago,
      revoked_at: `case when n % 2 = 0 then ${ago} end`,
    },
  },
  device_accounts: { like: "true", differ: { uuid, device_uuid: uuid, user_uuid: uuid, added_at: ago } },
  api_keys: { like: "org_uuid = $org", differ: { key_id: uuid, org_uuid: few("org_uuid"), created_at: ago } },
  scim_tokens: { like: "org_uuid = $org", differ: { token_id: uuid, org_uuid: few("org_uuid"), created_at: ago } },
  signing_keys: {
    like: "org_uuid = $org",
    differ: { kid: "'seeded' || n", org_uuid: few("org_uuid"), active: "false", valid_until: ago, created_at: ago },
  },
  mfa_factors: { like: "true", differ: { user_uuid: few("user_uuid"), created_at: ago } },
  audit_events: {
    like: "org_uuid = $org",
    differ: {
      event_id: uuid,
      org_uuid: mostly("org_uuid"),
      user_uuid: mostly("user_uuid"),
      type: oneOf("login.password", "login.magic_link", "session.revoked", "user.invited"),
      is_auth: "n % 3 > 0",
      outcome: oneOf("success", "success", "failure"),
      created_at: ago,
    },
  },
  apps: {
    like: "app_id = $app",
    differ: {
      app_id: uuid,
      org_uuid: `case when n % 10 = 0 then ${someOrganization} else t.org_uuid end`,
      slug: "'seeded-' || n",
      name: "'Seeded ' || n",
      status: oneOf("published", "published", "draft", "rejected", "archived"),
      published_at: ago,
      created_at: ago,
    },
  },
  app_admins: {
    like: "app_id = $app",
    differ: { grant_id: uuid, app_id: mostly("app_id"), user_uuid: uuid, created_at: ago },
  },
  app_listings: { like: "true", differ: { listing_id: uuid, app_id: mostly("app_id"), created_at: ago } },
  installs: {
    like: "install_id = $install",
    differ: {
      install_id: uuid,
      org_uuid: mostly("org_uuid"),
      app_id: "case when n % 7 > 2 then gen_random_uuid() else $app end",
      status: oneOf(
        "deprovisioned",
        "deprovisioned",
        "deprovisioned",
        "provisioning",
        "active",
        "suspended",
        "deprovisioning",
      ),
      step: "null",
      created_at: ago,
    },
  },
  install_timeline: { like: "true", differ: { install_id: uuid, at: ago } },
  cloud_targets: {
    like: "true",
    differ: {
      target_id: uuid,
      install_id: uuid,
      org_uuid: mostly("org_uuid"),
      status: oneOf("active", "revoked"),
      created_at: ago,
    },
  },
  webhooks: {
    like: "org_uuid = $org",
    differ: {
      webhook_id: uuid,
      org_uuid: few("org_uuid"),
      scope: "case when n % 5 = 0 then 'app' else 'org' end",
      app_id: "case when n = 5 then $app when n % 5 = 0 then gen_random_uuid() end",
      created_at: ago,
    },
  },
  webhook_events: { like: "true", differ: { event_id: "'evt_seeded' || n", created_at: ago } },
  webhook_deliveries: {
    like: "webhook_id = $webhook",
    differ: {
      delivery_id: uuid,
      event_id: "'evt_seeded' || n",
      webhook_id: mostly("webhook_id"),
      status: oneOf("delivered", "failed", "pending"),
      created_at: ago,
    },
  },
};

/** Seeded tables. */
export const seeded: readonly string[] = Object.keys(tables);

/** SQL with the ids of the large organization in place of their names; an id that is missing is nobody's. */
function named(sql: string, ids: Readonly<Record<string, string>>): string {
  return sql.replaceAll(
    /\$([a-z]+)/gu,
    (_, name: string) => pg.escapeLiteral(ids[name] ?? "") + (name === "n" ? "" : "::uuid"),
  );
}

/** Indexes of a table without a constraint: they are built after its rows, in a tenth of the time. */
async function withoutIndexes(client: pg.Client, table: string, fill: () => Promise<void>): Promise<void> {
  const { rows } = await client.query<{ name: string; definition: string }>(
    `select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
     where indrelid = $1::regclass and not indisunique`,
    [table],
  );
  for (const { name } of rows) await client.query(`drop index ${name}`);
  await fill();
  for (const { definition } of rows) await client.query(definition);
}

/**
 * Fills every table that a list reads: copies of a row that the service made, so that they are as its rows are. The
 * statistics of the planner say a million of each, however many are inserted: it decides by that number.
 */
export async function seed(databaseUrl: string, ids: Readonly<Record<string, string>>, made = FEW_ROWS): Promise<void> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    // Without foreign keys and triggers: the rows referred to do not matter here.
    await client.query("set session_replication_role = replica");
    await client.query("set synchronous_commit = off");
    await client.query("set maintenance_work_mem = '512MB'");
    for (const [table, { like, differ }] of Object.entries(tables)) {
      const { rows } = await client.query<{ name: string }>(
        `select column_name as name from information_schema.columns where table_schema = 'public' and table_name = $1
           and is_generated = 'NEVER' and is_identity = 'NO'`,
        [table],
      );
      const columns = rows.map(({ name }) => name);
      const values = columns.map((name) => named(differ[name] ?? `t.${name}`, ids));
      await client.query(`create temporary table model as select * from ${table} where ${named(like, ids)} limit 1`);
      const batch = `insert into ${table} (${columns.join(", ")}) select ${values.join(", ")}
        from model t, generate_series($1::int, $2::int) n`;
      await withoutIndexes(client, table, async () => {
        for (let from = 1; from <= made; from += BATCH) {
          const { rowCount } = await client.query(batch, [from, Math.min(made, from + BATCH - 1)]);
          if (rowCount === 0) throw new Error(`${table} has no row to copy`);
        }
      });
      await client.query("drop table model");
    }
    await client.query(`vacuum analyze ${seeded.join(", ")}`);
    await client.query(
      `update pg_class set reltuples = reltuples * ${ROWS / made} where reltuples > 0
         and oid in (select unnest(array[indrelid, indexrelid]) from pg_index where indrelid = any($1::regclass[]))`,
      [seeded],
    );
  } finally {
    await client.end();
  }
}
