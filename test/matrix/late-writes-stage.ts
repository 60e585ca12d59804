import { randomBytes, randomUUID } from "node:crypto";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { apiKey, done, platformAdmin, populate, publishApp, signIn } from "./world.ts";
import type { Ids, Side } from "./world.ts";
import { workload } from "./workloads.ts";
import type { Workload } from "./workloads.ts";

/** An organization with one object of each kind, and the person who writes in it. */
export interface Stage {
  app: TestApp;
  side: Side;
  /** Has every permission: owner, elevated, platform admin, operator. */
  actor: Somebody;
  sid: string;
  key: { id: string; key: string };
  automation: Workload;
  device: string;
}

/** An organization with one object of each kind and an owner who has every permission. */
export async function openStage(app: TestApp): Promise<Stage> {
  const shop = await publishApp(app, (await signIn(app, await founder(app))).token, (await platformAdmin(app)).token);
  const side = await populate(app, shop.slug);
  const ann = await member(app, { ...side.owner, token: side.token }, 1);
  await runSql(app.databaseUrl, "update memberships set is_owner = true where user_uuid = $1", [ann.userUuid]);
  await runSql(
    app.databaseUrl,
    "update people set is_platform_admin = true, is_superuser = true, is_operator = true where uuid = $1",
    [ann.userUuid],
  );
  const device = randomUUID();
  const { token, sid } = await signIn(app, ann, device);
  const key = await apiKey(app, { org: ann.org, token }, ["admin", "vault:write"]);
  const automation = await workload(app, { org: ann.org, token });
  return { app, side, actor: { ...ann, token: await elevated(app, token) }, sid, key, automation, device };
}

/** A write that succeeds unless its caller loses their permission meanwhile. */
export interface Write {
  ids?: Ids;
  body?: unknown;
  headers?: Record<string, string>;
}

/** Some letters and digits, never the same. */
export const some = (): string => randomBytes(5).toString("hex");

/** Creates what the writer needs, as the first owner of the organization. */
export async function call(
  stage: Stage,
  method: string,
  path: string,
  body?: unknown,
  token = stage.side.token,
): Promise<Record<string, string>> {
  return done(await stage.app.call(method, path, { token, ...(body === undefined ? {} : { body }) }));
}

/** Another member of the organization. */
export const another = (stage: Stage): Promise<Somebody> =>
  member(stage.app, { ...stage.side.owner, token: stage.side.token });
/** Path of what administrators do in the organization. */
export const admin = (stage: Stage): string => `/api/admin/organizations/${stage.side.owner.org}`;
/** Path of the organization's service identities. */
export const identities = (stage: Stage): string => `/api/organizations/${stage.side.owner.org}/service-identities`;
/** Runs SQL as the owner of the schema. */
export const sql = (stage: Stage, text: string, ...params: unknown[]) =>
  runSql<Record<string, string>>(stage.app.databaseUrl, text, params);
