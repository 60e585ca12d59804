import { createdAt, readList } from "../../../platform/db/list.ts";
import type { Listed } from "../../../platform/db/list.ts";
import type { Database, Tx } from "../../../platform/db/types.ts";
import type { Page } from "../deps.ts";
import type { Install } from "./entities.ts";

/** Where a single-tenant install runs. */
export interface CloudTargetRow {
  targetId: string;
  installId: string;
  orgUuid: string;
  provider: string;
  region: string;
  status: string;
  createdAt: Date;
}

const columns = `target_id as "targetId", install_id as "installId", org_uuid as "orgUuid", provider, region, status,
  created_at as "createdAt"`;

/** Stores the cloud target that a publisher reports of a single-tenant install (decisions 9.7). */
export async function insertCloudTarget(
  tx: Tx,
  targetId: string,
  install: Install,
  target: { provider: string; region: string } | undefined,
  at: Date,
): Promise<void> {
  if (target === undefined || install.deploymentMode !== "single_tenant") return;
  await tx.query(
    `insert into cloud_targets (target_id, install_id, org_uuid, provider, region, status, created_at)
     values ($1, $2, $3, $4, $5, 'active', $6) on conflict (install_id) do nothing`,
    [targetId, install.installId, install.orgUuid, target.provider, target.region, at],
  );
}

/** Revokes the cloud target of a locked install that has ended, if it has one. */
export async function endCloudTarget(tx: Tx, installId: string): Promise<void> {
  await tx.query("update cloud_targets set status = 'revoked' where install_id = $1 and status = 'active'", [
    installId,
  ]);
}

/** Cloud targets of every organization, newest first. */
export function cloudTargets(
  database: Pick<Database, "prepared">,
  status: string | undefined,
  page: Page,
): Promise<Listed<CloudTargetRow>> {
  const from = `from cloud_targets where ${status === undefined ? "true" : "status = $1"}`;
  const params = status === undefined ? [] : [status];
  const id = { sql: "target_id", type: "uuid" } as const;
  const list = { name: "cloud-targets", columns, from, params, id, q: ["provider", "region"] };
  return readList(database, { ...list, sort: { created_at: createdAt() }, order: "-created_at" }, page);
}

/**
 * Revokes a cloud target and returns it, with whether it was active; undefined for an unknown one. Locks its install
 * first, as the end of an install does.
 */
export async function revokeTarget(
  tx: Tx,
  targetId: string,
): Promise<{ target: CloudTargetRow; wasActive: boolean } | undefined> {
  const [row] = await tx.query<CloudTargetRow & { wasActive: boolean }>(
    `with install as materialized (
       select i.install_id from installs i join cloud_targets t using (install_id)
       where t.target_id = $1 for update of i),
     before as (
       select target_id as id, status = 'active' as was_active from cloud_targets
       where target_id = $1 and install_id in (select install_id from install) for update)
     update cloud_targets set status = 'revoked' from before where target_id = before.id
     returning ${columns}, before.was_active as "wasActive"`,
    [targetId],
  );
  if (row === undefined) return undefined;
  const { wasActive, ...target } = row;
  return { target, wasActive };
}
