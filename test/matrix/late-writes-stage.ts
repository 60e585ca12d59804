import { randomBytes } from "node:crypto";
import type { TestApp } from "../support/app.ts";
import { member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { done } from "./world.ts";
import type { Workload } from "./workloads.ts";
import type { Ids, Side } from "./world.ts";

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
