import { defineMigration } from "../platform/db/migrator.ts";

// Locks rows in the order of whatever ends them: the connection before its tokens, and the person before their
// membership. Each statement sees what was committed before it began: the logout that the lock of the connection waited
// for, and the change of the membership that the last lock waited for.
const redeem = `
  create or replace function oidc_redeem(token_hash bytea, challenge text, cookie_hashes bytea[], at timestamptz)
  returns table (connection_uuid uuid, org_uuid uuid, allowed_domains text[], subject text, sid text, email text,
    first_name text, last_name text, created_at timestamptz, user_uuid uuid, is_active boolean)
  language plpgsql as $$
  #variable_conflict use_column
  declare
    token oidc_session_tokens;
    connection oidc_connections;
    linked uuid;
  begin
    select c.* into connection from oidc_connections c
      where uuid = (select t.connection_uuid from oidc_session_tokens t where hash = token_hash) for share;
    if not found then return; end if;
    update oidc_session_tokens t set used_at = at
      where hash = token_hash and used_at is null and expires_at > at
        and case when code_challenge is null then cookie_hash = any(cookie_hashes) else code_challenge = challenge end
      returning t.* into token;
    if not found or oidc_logged_out(token.connection_uuid, token.subject, token.sid, token.created_at) then
      return;
    end if;
    select i.user_uuid into linked from oidc_identities i
      where connection_uuid = token.connection_uuid and subject = token.subject;
    perform from people p where uuid = linked for share;
    perform from memberships m
      where org_uuid = connection.org_uuid and user_uuid = linked and status = 'active' for share;
    return query select token.connection_uuid, connection.org_uuid, connection.allowed_domains, token.subject,
      token.sid, token.email, token.first_name, token.last_name, token.created_at, linked, found;
  end $$`;

/** The redemption of a session token, which meets no deadlock. */
export const oidcRedeemOrder = defineMigration("0111-oidc-redeem-order", [redeem]);
