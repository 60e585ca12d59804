import { createAtrium, session } from "../../src/clients/typescript/index.ts";
import type {
  Atrium,
  AtriumOptions,
  Session,
  SessionOptions,
  SessionStore,
  Tokens,
} from "../../src/clients/typescript/index.ts";
import type { TestApp } from "../support/app.ts";
import { runSql } from "../support/postgres.ts";

/** A `fetch` that counts the calls of each rpc by its name, and may fail instead of passing one on. */
export interface CountingFetch {
  fetch: typeof globalThis.fetch;
  count(rpc: string): number;
  /** Called before each request; what it throws or returns is the outcome. */
  before: (rpc: string, request: Request) => Promise<Response | undefined> | Response | undefined;
  /** Called with each response; what it throws or returns is the outcome. */
  after: (rpc: string, response: Response) => Promise<Response> | Response;
}

export function countingFetch(): CountingFetch {
  const counts = new Map<string, number>();
  const counting: CountingFetch = {
    async fetch(input, init) {
      const request = new Request(input, init);
      const rpc = request.url.split("/").at(-1) ?? "";
      counts.set(rpc, (counts.get(rpc) ?? 0) + 1);
      return (await counting.before(rpc, request)) ?? counting.after(rpc, await globalThis.fetch(request));
    },
    count: (rpc) => counts.get(rpc) ?? 0,
    before: () => undefined,
    after: (_rpc, response) => response,
  };
  return counting;
}

/** A client of an app, with what it sends counted. */
export function clientOf(
  app: Pick<TestApp, "url">,
  options: Partial<AtriumOptions> = {},
): {
  atrium: Atrium;
  network: CountingFetch;
} {
  const network = countingFetch();
  return { atrium: createAtrium({ baseUrl: app.url, fetch: network.fetch, timeoutMs: 60_000, ...options }), network };
}

/** A client in which the owner of the app is signed in. */
export async function signedIn(
  app: TestApp,
  options: SessionOptions = {},
  others: Partial<AtriumOptions> = {},
): Promise<{ atrium: Atrium; network: CountingFetch; credential: Session }> {
  const credential = session(options);
  const client = clientOf(app, { credential, ...others });
  await credential.signIn(await client.atrium.login.login(ownerOf(app)));
  return { ...client, credential };
}

/** The owner's password login. */
export function ownerOf({ owner }: TestApp): { email: string; password: string; orgName: string } {
  return { email: owner.email, password: owner.password, orgName: owner.org };
}

/** A store whose tokens can be read and changed. */
export function openStore(): SessionStore & { tokens: Tokens | undefined } {
  const store: SessionStore & { tokens: Tokens | undefined } = {
    tokens: undefined,
    get: () => store.tokens,
    set: (tokens) => {
      store.tokens = tokens;
    },
  };
  return store;
}

/** Makes the access token look expired to the client. */
export function expire(store: { tokens: Tokens | undefined }): void {
  if (store.tokens !== undefined) store.tokens = { ...store.tokens, expiresAtMs: Date.now() - 1 };
}

/**
 * Adds members to an organization of one until it has `total`, of which `tied` each have been members for as long.
 */
export async function addMembers({ databaseUrl }: TestApp, orgUuid: string, total: number, tied = total + 1) {
  await runSql(
    databaseUrl,
    `with made as (
       insert into people (uuid, email, email_key, created_at, updated_at)
       select gen_random_uuid(), 'p' || n || '@many.test', 'p' || n || '@many.test', made, made
       from (select n, now() - n / $3::int * interval '1 second' as made
         from generate_series(2, $2::int) n) as numbers returning uuid, email_key, created_at)
     insert into memberships (org_uuid, user_uuid, role_id, email_key, created_at, updated_at)
     select $1, uuid, 3, email_key, created_at, created_at from made`,
    [orgUuid, total, tied],
  );
}
