import { defineMigration } from "../platform/db/migrator.ts";

// Whether the provider has ended a sign-in there: its session for good, or all of the person's up to a moment.
const loggedOut = `
  create function oidc_logged_out(connection uuid, subject text, sid text, signed_in_at timestamptz) returns boolean
  language sql stable as $$
    select exists (select from oidc_logouts l
      where l.connection_uuid = $1 and (l.subject = $2 or l.sid = $3) and (l.subject is null or l.subject = $2)
        and (l.sid = $3 or ((l.sid is null or $3 is null) and l.created_at >= $4)))
  $$`;

// Each of its statements sees what was committed before it began: the logout that the lock of the connection waited
// for, and the change of the membership that the last lock waited for.
const redeem = `
  create function oidc_redeem(token_hash bytea, challenge text, cookie_hashes bytea[], at timestamptz)
  returns table (connection_uuid uuid, org_uuid uuid, allowed_domains text[], subject text, sid text, email text,
    first_name text, last_name text, created_at timestamptz, user_uuid uuid, is_active boolean)
  language plpgsql as $$
  #variable_conflict use_column
  declare
    token oidc_session_tokens;
    connection oidc_connections;
    linked uuid;
  begin
    update oidc_session_tokens t set used_at = at
      where hash = token_hash and used_at is null and expires_at > at
        and case when code_challenge is null then cookie_hash = any(cookie_hashes) else code_challenge = challenge end
      returning t.* into token;
    if not found then return; end if;
    select c.* into connection from oidc_connections c where uuid = token.connection_uuid for share;
    if not found or oidc_logged_out(token.connection_uuid, token.subject, token.sid, token.created_at) then
      return;
    end if;
    select i.user_uuid into linked from oidc_identities i
      where connection_uuid = token.connection_uuid and subject = token.subject;
    perform from memberships m
      where linked is not null and org_uuid = connection.org_uuid and user_uuid = linked and status = 'active'
      for share;
    return query select token.connection_uuid, connection.org_uuid, connection.allowed_domains, token.subject,
      token.sid, token.email, token.first_name, token.last_name, token.created_at, linked, found;
  end $$`;

/** The redemption of a session token in one call. */
export const oidcRedeem = defineMigration("0095-oidc-redeem", [loggedOut, redeem]);
