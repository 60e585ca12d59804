import { admin, another, call, some, sql } from "./late-writes-stage.ts";
import type { Stage, Write } from "./late-writes-stage.ts";
import { publishApp } from "./world.ts";

/** Creates the organization's certificate authority where there is none. */
export async function authority({ app, side }: Stage): Promise<void> {
  const body = { common_name: "late", key_algorithm: "ecdsa-p256" };
  const path = `/api/admin/organizations/${side.owner.org}/mtls-ca`;
  const { status } = await app.call("POST", path, { token: side.token, body });
  if (status !== 201 && status !== 409) throw new Error(`creating a certificate authority answered ${status}`);
}

export const draft = async (stage: Stage): Promise<Write> => ({
  ids: { app_id: (await publishApp(stage.app, stage.side.token)).appId },
});

export async function factor(stage: Stage): Promise<{ id: string; secret: string }> {
  const { data } = (await call(
    stage,
    "POST",
    "/api/v1/me/mfa/factors",
    { factor_type: "totp" },
    stage.actor.token,
  )) as unknown as { data: { id: number; secret: string } };
  return { id: String(data.id), secret: data.secret };
}

export async function installOf(stage: Stage, status: string): Promise<Write> {
  await sql(
    stage,
    "update installs set status = $2, app_id = $3 where install_id = $1",
    stage.side.ids["install_id"],
    status,
    stage.side.ids["app_id"],
  );
  return {};
}

/**
 * Another session of the writer on their device; by then they have a second factor, so it is not for a password to
 * open.
 */
export async function session(stage: Stage): Promise<Write> {
  const [row] = await sql(
    stage,
    `insert into sessions (
       uuid, user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at, ip_address, user_agent,
       expires_at)
    select gen_random_uuid(), user_uuid, org_uuid, device_uuid, amr, auth_time, created_at, last_seen_at, ip_address,
       user_agent, expires_at
     from sessions where uuid = $1 returning uuid`,
    stage.sid,
  );
  return { ids: { session_id: row?.["uuid"] ?? "", device_uuid: stage.device } };
}

export async function secret(stage: Stage): Promise<string> {
  const name = some();
  await call(stage, "PUT", `${admin(stage)}/secrets/${name}`, { value: "x" });
  return name;
}

export async function account(stage: Stage): Promise<Write> {
  const added = await call(
    stage,
    "POST",
    `/api/devices/${stage.device}/accounts`,
    { access_token: (await another(stage)).token },
    stage.actor.token,
  );
  return { ids: { device_uuid: stage.device, account: added["id"] ?? "" } };
}
