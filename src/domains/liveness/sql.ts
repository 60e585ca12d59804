/** Epoch milliseconds of a time. */
export const ended = (time: string): string => `(extract(epoch from ${time}) * 1000)::bigint`;

/** The organization of a uuid as `o`, where it lives. */
export const organization = (uuid: string): string => `
      cross join lateral (
        select org.name, org.sandbox, plans.features from organizations org join plans using (plan)
        where org.uuid = ${uuid} and org.deleted_at is null limit 1) o`;

/** The entitlements of an organization (decisions 3.12): features of its plan, and its active installs. */
export const entitlements = (orgUuid: string, features: string): string => `${features} || array(
          select 'app:' || a.slug from installs i join apps a using (app_id)
          where i.org_uuid = ${orgUuid} and i.status = 'active' order by a.slug)`;

/** A living service identity as `i`, with its role and its organization. */
export const identity = {
  columns: `i.identity_id, i.version as identity_version, i.org_uuid, o.name as org_name, r.name as role, o.sandbox,
        ${entitlements("i.org_uuid", "o.features")} as entitlements`,
  joins: (identityId: string): string => `
      cross join lateral (
        select identity_id, version, org_uuid, role_id from service_identities
        where identity_id = ${identityId} and deleted_at is null limit 1) i
      cross join lateral (select name from roles where id = i.role_id limit 1) r
      ${organization("i.org_uuid")}`,
} as const;
