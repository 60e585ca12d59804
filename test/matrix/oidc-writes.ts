import { createHash } from "node:crypto";
import { runSql } from "../support/postgres.ts";
import { some } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import { connectionDraft, done } from "./world.ts";

async function connection({ app, side }: Stage): Promise<string> {
  const path = `/api/admin/organizations/${side.owner.org}/oidc-connections`;
  const { connection_uuid = "" } = done(await app.call("POST", path, { token: side.token, body: connectionDraft() }));
  return connection_uuid;
}

/** What the routes of single sign-on need to succeed. */
export const oidcWrites: Readonly<Record<string, (stage: Stage) => Promise<Write> | Write>> = {
  "POST /api/admin/organizations/{org_uuid}/oidc-connections": () => ({ body: connectionDraft() }),
  "PATCH /api/admin/organizations/{org_uuid}/oidc-connections/{connection_uuid}": () => ({ body: { name: some() } }),
  "DELETE /api/admin/organizations/{org_uuid}/oidc-connections/{connection_uuid}": async (stage) => ({
    ids: { connection_uuid: await connection(stage) },
  }),
  "POST /api/auth/oidc/link": async (stage) => {
    const [token, verifier] = [some(), some().repeat(5)];
    await runSql(
      stage.app.databaseUrl,
      `insert into oidc_session_tokens (hash, connection_uuid, subject, email, first_name, last_name, cookie_hash,
         code_challenge, created_at, expires_at)
       values (sha256($1::text::bytea), $2, $1, 'late@corp.test', '', '', '', $3, now(), $4)`,
      [
        token,
        await connection(stage),
        createHash("sha256").update(verifier).digest("base64url"),
        new Date(stage.app.clock.now() + 60_000),
      ],
    );
    return { body: { session_token: token, code_verifier: verifier } };
  },
};
