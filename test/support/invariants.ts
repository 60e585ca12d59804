import { runSql } from "./postgres.ts";

const ended = "org_uuid in (select uuid from organizations where deleted_at is not null)";
const endedIdentity = "identity_id in (select identity_id from service_identities where deleted_at is not null)";

/**
 * SELECTs of rows that no order of requests may leave behind, by what is wrong with them. Not among them is what
 * background work ends after an organization: deliveries, cards, connections, cloud targets, subscriptions,
 * invitations, and the session of a sign-in that commits during the deletion, which is refused by the organization.
 */
const violations: Readonly<Record<string, string>> = {
  "An API key of a deleted organization is not revoked.": `
    select key_id from api_keys where ${ended} and revoked_at is null`,
  "A SCIM token of a deleted organization is not revoked.": `
    select * from scim_tokens where ${ended} and revoked_at is null`,
  "A service identity of a deleted organization is not deleted.": `
    select identity_id from service_identities where ${ended} and deleted_at is null`,
  "An app of a deleted organization is not archived.": `
    select app_id from apps where ${ended} and status <> 'archived'`,
  "An install of a deleted organization is not being deprovisioned.": `
    select install_id, status from installs where ${ended} and status not in ('deprovisioning', 'deprovisioned')`,
  "A webhook of a deleted organization has not ended.": `
    select webhook_id from webhooks where ${ended} and ended_at is null`,
  "A secret of a deleted organization is not deleted.": `
    select name from vault_secrets where ${ended} and deleted_at is null`,
  "A certificate authority of a deleted organization is not deleted.": `
    select ca_uuid from mtls_cas where ${ended} and deleted_at is null`,
  "An SVID of a deleted organization is not revoked.": `
    select svid_id from svids where ${ended} and revoked_at is null`,
  "An SVID of a deleted service identity is not revoked.": `
    select svid_id from svids where ${endedIdentity} and revoked_at is null`,
  "An automation token of a deleted service identity is not revoked.": `
    select token_id from automation_tokens where ${endedIdentity} and revoked_at is null`,
  "An API key of somebody who is no active member is not revoked.": `
    select k.key_id, m.status from api_keys k
    left join memberships m on m.org_uuid = k.org_uuid and m.user_uuid = k.made_by
    where k.made_by is not null and k.revoked_at is null and m.status is distinct from 'active'`,
  "An administrator of an app is no member of its organization.": `
    select a.app_id, a.user_uuid from app_admins a join apps using (app_id)
    left join memberships m on m.org_uuid = apps.org_uuid and m.user_uuid = a.user_uuid
    where coalesce(m.status, 'removed') = 'removed'`,
  "An organization has no active owner.": `
    select uuid from organizations o where deleted_at is null and not exists (
      select from memberships m where m.org_uuid = o.uuid and m.is_owner and m.status = 'active')`,
  "The stored number of members differs from the members.": `
    select o.uuid, c.active, c.inactive, x.active, x.inactive from organizations o
    left join membership_counts c on c.org_uuid = o.uuid,
    lateral (select count(*) filter (where status = 'active') as active,
        count(*) filter (where status = 'inactive') as inactive
      from memberships where org_uuid = o.uuid) x
    where coalesce(c.active, 0) <> x.active or coalesce(c.inactive, 0) <> x.inactive`,
  "A state, session or identity belongs to a deleted OIDC connection.": `
    select from (select connection_uuid from oidc_states union select connection_uuid from oidc_session_tokens
      union select connection_uuid from oidc_identities) used
    where connection_uuid is not null and connection_uuid not in (select uuid from oidc_connections)`,
  "An organization requires single sign-on without a connection.": `
    select uuid from organizations o where sso_required and deleted_at is null and not exists (
      select from oidc_connections c where c.org_uuid = o.uuid)`,
  "A directory shows a user who is neither a member nor invited.": `
    select u.org_uuid, u.user_uuid, m.status from scim_users u left join memberships m using (org_uuid, user_uuid)
    where m.status = 'removed' or (m.status is null and not u.invited)`,
  "A directory shows a member as active who is not, or the other way round.": `
    select u.user_uuid, u.active, m.status from scim_users u join memberships m using (org_uuid, user_uuid)
    where not u.invited and u.active <> (m.status = 'active')`,
  "The cards of somebody have no default card or several.": `
    select org_uuid, user_uuid from cards group by 1, 2 having count(*) filter (where is_default) <> 1`,
  "An organization has no active signing key.": `
    select uuid from organizations o where deleted_at is null and not exists (
      select from signing_keys k where k.org_uuid = o.uuid and k.active)`,
  "Recovery codes are left without an active factor.": `
    select c.user_uuid from mfa_recovery_codes c where c.used_at is null and not exists (
      select from mfa_factors f where f.user_uuid = c.user_uuid and f.status = 'active')`,
  "The stored size of the catalogue differs from the published apps.": `
    select * from catalogue_size where published <> (select count(*) from apps where status = 'published')`,
  "A secret has no value of its newest version.": `
    select s.name from vault_secrets s left join vault_versions v on v.secret_id = s.secret_id and v.version = s.version
    where s.deleted_at is null and v.secret_id is null`,
  "A secret is encrypted with another key than that of its organization.": `
    select s.name from vault_versions v join vault_secrets s using (secret_id)
    join vault_keyrings k on k.org_uuid = s.org_uuid where v.key_id <> k.key_id`,
  "A session goes on although the one it came from is revoked.": `
    select c.uuid from sessions c join sessions p on p.uuid = c.source_uuid
    where p.revoked_at is not null and c.revoked_at is null`,
  "A revocation list counts more revocations than its certificate authority.": `
    select c.ca_uuid from mtls_crls c join mtls_cas a using (ca_uuid) where c.revocations > a.revocations`,
  "The creation of one object is recorded twice.": `
    select type, resource_id from audit_events
    where type in ('api_key.created', 'webhook.created', 'app.published') and outcome = 'success'
    group by type, resource_id having count(*) > 1`,
};

/** Sentences about rows of a database that must not exist, with a few of the rows; none is right. */
export async function violatedInvariants(databaseUrl: string): Promise<string[]> {
  const found: string[] = [];
  for (const [sentence, sql] of Object.entries(violations)) {
    const rows = await runSql(databaseUrl, sql);
    if (rows.length > 0) found.push(`${sentence} ${rows.length} rows: ${JSON.stringify(rows.slice(0, 3))}`);
  }
  return found;
}
