import { defineMigration } from "../platform/db/migrator.ts";

const differ = (...columns: string[]): string =>
  columns.map((column) => `old.${column} is distinct from new.${column}`).join(" or ");

const told = `
  -- Tells of a row that became less or other than it was, by the column that the trigger names.
  create function liveness_changed_row() returns trigger language plpgsql as $$
  begin
    insert into liveness_changes (subject)
    values ((to_jsonb(case when tg_op = 'INSERT' then new else old end) ->> tg_argv[0])::uuid);
    return null;
  end $$;

  -- A plan is of many organizations. More changes than an instance reads one by one have the same effect as all.
  create function liveness_changed_plan() returns trigger language plpgsql as $$
  begin
    insert into liveness_changes (subject) select uuid from organizations where plan = old.plan limit 5001;
    return null;
  end $$;
`;

/** A trigger for each event that changes what credentials depend on; `subject` is the column that names it. */
function onChange(table: string, subject: string, when: { update: string; insert?: string; delete?: string }): string {
  const trigger = (event: "insert" | "update" | "delete", condition: string | undefined): string =>
    condition === undefined
      ? ""
      : `create trigger liveness_row_${event} after ${event} on ${table} for each row when (${condition})
           execute function liveness_changed_row('${subject}');`;
  return ["update", "insert", "delete"].map((event) => trigger(event as "insert", when[event as "insert"])).join("\n");
}

const triggers = [
  onChange("api_keys", "key_id", {
    update: `${differ("key_id", "org_uuid", "hash", "scopes", "made_by", "revoked_at")}
      or new.expires_at < old.expires_at`,
    delete: "true",
  }),
  onChange("scim_tokens", "token_id", {
    update: `${differ("token_id", "org_uuid", "hash", "revoked_at")} or new.expires_at < old.expires_at`,
    delete: "true",
  }),
  onChange("automation_tokens", "token_id", {
    update: `${differ("token_id", "identity_id", "hash", "revoked_at")} or new.expires_at < old.expires_at`,
    delete: "true",
  }),
  onChange("svids", "svid_id", {
    update: `${differ("svid_id", "identity_id", "org_uuid", "serial", "spiffe_id", "revoked_at")}
      or new.not_after < old.not_after`,
    delete: "true",
  }),
  onChange("service_identities", "identity_id", {
    update: differ("identity_id", "org_uuid", "role_id", "version", "deleted_at"),
    delete: "true",
  }),
  onChange("spiffe_roots", "org_uuid", { update: differ("org_uuid", "certificate", "expires_at"), delete: "true" }),
  onChange("people", "uuid", { update: differ("is_platform_admin") }),
  onChange("organizations", "uuid", { update: differ("plan", "sandbox") }),
  onChange("app_admins", "user_uuid", { insert: "true", update: differ("app_id", "user_uuid"), delete: "true" }),
  onChange("installs", "org_uuid", {
    insert: "new.status = 'active'",
    update: "(old.status = 'active') is distinct from (new.status = 'active')",
    delete: "old.status = 'active'",
  }),
  `create trigger liveness_plan after update on plans for each row when (${differ("features")})
     execute function liveness_changed_plan();`,
];

const refuse = "if not found then raise exception 'the caller no longer stands' using errcode = 'AT401'; end if;";
const held = (row: string): string =>
  `if alone then perform 1 from ${row} for no key update; else perform 1 from ${row} for share; end if; ${refuse}`;

/** The identity first, then its credential: the order of whatever ends them. */
const judge = (name: string, credential: string): string => `
  create function ${name}(
    id_of_credential uuid, id_of_identity uuid, identity_version integer, now_at timestamptz, alone boolean
  ) returns void language plpgsql as $$
  begin
    ${held(`service_identities i
      where i.identity_id = id_of_identity and i.deleted_at is null and i.version = identity_version`)}
    ${held(credential)}
  end $$;
`;

const judges = [
  judge(
    "judge_automation_token",
    "automation_tokens t where t.token_id = id_of_credential and t.revoked_at is null and t.expires_at > now_at",
  ),
  judge("judge_svid", "svids s where s.svid_id = id_of_credential and s.revoked_at is null and s.not_after > now_at"),
];

/** Changes of what credentials of every kind depend on, and judging service identities in transactions. */
export const credentialChanges = defineMigration("0041-credential-changes", [told, ...triggers, ...judges]);
