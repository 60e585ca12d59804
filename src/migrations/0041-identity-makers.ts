import { defineConcurrentMigration } from "../platform/db/migrator.ts";

const judge = `
  create or replace function judge_identity_key(
    id_of_key uuid, id_of_identity uuid, identity_version integer, now_at timestamptz, alone boolean
  ) returns void language plpgsql as $$
  begin
    if alone then
      perform 1 from service_identities i
      where i.identity_id = id_of_identity and i.deleted_at is null and i.version = identity_version for no key update;
    else
      perform 1 from service_identities i
      where i.identity_id = id_of_identity and i.deleted_at is null and i.version = identity_version for share;
    end if;
    if not found then raise exception 'the caller no longer stands' using errcode = 'AT401'; end if;
    if alone then
      perform 1 from api_keys k where k.key_id = id_of_key and k.revoked_at is null and k.expires_at > now_at
      for no key update;
    else
      perform 1 from api_keys k where k.key_id = id_of_key and k.revoked_at is null and k.expires_at > now_at for share;
    end if;
    if not found then raise exception 'the caller no longer stands' using errcode = 'AT401'; end if;
  end $$;
`;

/** API keys that service identities make: they have the present power of their identity, and end with it. */
export const identityMakers = defineConcurrentMigration("0041-identity-makers", [
  "alter table api_keys alter column made_by drop not null",
  `alter table api_keys
     add column if not exists made_by_identity uuid references service_identities (identity_id)`,
  "alter table api_keys drop constraint if exists api_keys_one_maker",
  "alter table api_keys add constraint api_keys_one_maker check (num_nonnulls(made_by, made_by_identity) = 1)",
  { index: "api_keys_identity", on: "api_keys (made_by_identity) where made_by_identity is not null" },
  judge,
]);
