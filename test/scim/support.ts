import type { Answer, TestApp } from "../support/app.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

/** URN of the core schema of users. */
export const USER_URN = "urn:ietf:params:scim:schemas:core:2.0:User";
/** URN of the core schema of groups. */
export const GROUP_URN = "urn:ietf:params:scim:schemas:core:2.0:Group";
/** URN of the Enterprise extension. */
export const ENTERPRISE_URN = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";
/** URN of a PATCH body. */
export const PATCH_URN = "urn:ietf:params:scim:api:messages:2.0:PatchOp";

/** Adds many members to an organization, past the service. */
export async function addMembers(app: TestApp, org: string, count: number): Promise<void> {
  await runSql(
    app.databaseUrl,
    `with made as (
       insert into people (uuid, email, email_key, created_at, updated_at)
       select gen_random_uuid(), 'p' || n || '@many.test', 'p' || n || '@many.test', now(), now()
       from generate_series(1, $2::int) n returning uuid, email_key)
     insert into memberships (org_uuid, user_uuid, role_id, email_key, created_at, updated_at)
     select $1, uuid, 3, email_key, now(), now() from made`,
    [org, count],
  );
}

/** The directory of an organization: a client with a SCIM token. */
export interface Directory {
  token: string;
  base: string;
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>;
  /** Creates a user; resolves to the resource. */
  // oxlint-disable-next-line typescript/no-explicit-any -- resources of every shape
  user(body: Record<string, unknown>): Promise<any>;
  /** A PATCH of operations. */
  patch(path: string, ...operations: object[]): Promise<Answer>;
}

/** A SCIM client of the organization of somebody with the admin scope. */
export async function directoryOf(app: TestApp, by: Pick<Somebody, "token" | "org">): Promise<Directory> {
  const made = await app.call("POST", `/api/admin/organizations/${by.org}/scim-tokens`, {
    token: by.token,
    body: { name: "directory" },
  });
  const token = made.body.token as string;
  const base = `/scim/v2/organizations/${by.org}`;
  const call: Directory["call"] = (method, path, body, headers = {}) =>
    app.call(method, `${base}${path}`, {
      token,
      body,
      headers: { ...(body === undefined ? {} : { "content-type": "application/scim+json" }), ...headers },
    });
  return {
    token,
    base,
    call,
    async user(body) {
      const answer = await call("POST", "/Users", { schemas: [USER_URN], ...body });
      if (answer.status !== 201) throw new Error(`creation answered ${answer.status}: ${answer.text}`);
      return answer.body;
    },
    patch: (path, ...operations) => call("PATCH", path, { schemas: [PATCH_URN], Operations: operations }),
  };
}

/** Status, keyword and code of a refusal. */
export function refusal({ status, body }: Answer): string {
  return status < 300 ? String(status) : [status, body?.scimType, body?.code].filter(Boolean).join(" ");
}
