import { defineMigration } from "../platform/db/migrator.ts";

const refuse = "if not found then raise exception 'the caller no longer stands' using errcode = 'AT401'; end if;";

/**
 * A step that finds a row and locks it: against everybody else `alone`, else beside others who judge the same caller.
 */
const held = (row: string): string =>
  `if alone then perform 1 from ${row} for no key update; else perform 1 from ${row} for share; end if; ${refuse}`;

const member = held(`memberships m
      where m.org_uuid = in_org and m.user_uuid = person and m.status = 'active' and m.version = member_version`);

// Judge a caller in the transaction that writes for them. Rows are locked in the order membership, credential, signing
// key, which is the order of whatever ends them, and with the weakest lock that such an end waits for. The code of
// their error is AT401.
const judges = `
  create function judge_session(
    session_id uuid, key_of_token text, person uuid, in_org uuid, member_version integer,
    as_platform_admin boolean, as_superuser boolean, as_operator boolean, now_at timestamptz, alone boolean
  ) returns void language plpgsql as $$
  begin
    if in_org is not null then
      ${member}
    end if;
    ${held("sessions s where s.uuid = session_id and s.revoked_at is null and s.expires_at > now_at")}
    perform 1 from signing_keys k where k.kid = key_of_token for key share; ${refuse}
    perform 1 from people p where p.uuid = person and (p.is_platform_admin or not as_platform_admin)
      and (p.is_superuser or not as_superuser) and (p.is_operator or not as_operator); ${refuse}
  end $$;

  create function judge_api_key(
    id_of_key uuid, person uuid, in_org uuid, member_version integer, as_platform_admin boolean, now_at timestamptz,
    alone boolean
  ) returns void language plpgsql as $$
  begin
    ${member}
    ${held("api_keys k where k.key_id = id_of_key and k.revoked_at is null and k.expires_at > now_at")}
    perform 1 from people p where p.uuid = person and (p.is_platform_admin or not as_platform_admin); ${refuse}
  end $$;

  create function judge_scim_token(id_of_token uuid, now_at timestamptz, alone boolean)
  returns void language plpgsql as $$
  begin
    ${held("scim_tokens t where t.token_id = id_of_token and t.revoked_at is null and t.expires_at > now_at")}
  end $$;
`;

/** Judging callers again in the transactions that write for them (decisions 2.4). */
export const standing = defineMigration("0021-standing", [judges]);
