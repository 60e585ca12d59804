import { createSealer } from "../../src/platform/crypto/sealed.ts";
import type { Mail } from "../../src/platform/outgoing/mailbox.ts";
import { createMailHandler } from "../../src/platform/outgoing/mail-outbox.ts";
import { INSTANCE_KEY } from "./app.ts";
import type { Answer, TestApp } from "./app.ts";
import { persistently } from "./persistently.ts";
import { runSql } from "./postgres.ts";

/** Password of every person these helpers create. */
export const password = "a long enough one";

/** Mails to an address in the outbox, oldest first; for services without a worker. */
export async function mailsTo(app: TestApp, email: string): Promise<Mail[]> {
  const rows = await runSql<{ payload: Record<string, unknown> }>(
    app.databaseUrl,
    "select payload from outbox where topic in ('mail.send', 'mail.bulk') order by id",
  );
  const mails: Mail[] = [];
  const open = createMailHandler(createSealer(INSTANCE_KEY), { send: async (mail) => void mails.push(mail) });
  for (const row of rows) await open(row.payload);
  return mails.filter(({ to }) => to.toLowerCase() === email.toLowerCase());
}

/** The token in the newest mail to an address. */
export async function tokenTo(app: TestApp, email: string): Promise<string> {
  const mail = (await mailsTo(app, email)).at(-1);
  return /token=([\w-]+)/u.exec(mail?.text ?? "")?.[1] ?? "";
}

/** A person who may act in an organization. */
export interface Somebody {
  email: string;
  userUuid: string;
  org: string;
  orgName: string;
  token: string;
  refreshToken: string;
}

let made = 0;

/** Signs up a person with an organization of their own. Requires a service with open sign-up. */
export async function founder(app: TestApp, orgName = `Org ${++made}`): Promise<Somebody> {
  const email = `founder${++made}@people.test`;
  const { status, body } = await persistently(() =>
    app.call("POST", "/api/organizations", { body: { name: orgName, email, password, first_name: "Fay" } }),
  );
  if (status !== 201) throw new Error(`sign-up answered ${status}`);
  return {
    email,
    userUuid: body.user_uuid,
    org: body.org_uuid,
    orgName,
    token: body.access_token,
    refreshToken: body.refresh_token,
  };
}

/** Invites an email address; resolves to the invitation with the mailed token. */
export async function invite(
  app: TestApp,
  by: Pick<Somebody, "token" | "org">,
  email: string,
  roleId = 3,
): Promise<{ id: string; token: string; answer: Answer }> {
  const answer = await app.call("POST", `/api/admin/organizations/${by.org}/invitations`, {
    token: by.token,
    body: { email, role_id: roleId },
  });
  return {
    id: answer.body?.invitation_id as string,
    token: answer.status === 201 ? await tokenTo(app, email) : "",
    answer,
  };
}

/** Profile of a new person. */
export function newcomer(username = `person${++made}`) {
  return { first_name: "Nia", last_name: "Nu", username, password };
}

/** Invites a new person, who accepts. */
export async function member(app: TestApp, by: Somebody, roleId = 3): Promise<Somebody> {
  const email = `member${++made}@people.test`;
  const { token, answer } = await invite(app, by, email, roleId);
  if (answer.status !== 201) throw new Error(`the invitation answered ${outcome(answer)}`);
  const { status, body } = await app.call("POST", "/api/auth/invite/accept", { body: { token, ...newcomer() } });
  if (status !== 200) throw new Error(`acceptance answered ${status}`);
  const { user_uuid: userUuid, access_token, refresh_token: refreshToken } = body.data as Record<string, string>;
  return {
    email,
    userUuid: userUuid ?? "",
    org: by.org,
    orgName: by.orgName,
    token: access_token ?? "",
    refreshToken: refreshToken ?? "",
  };
}

/** The elevated token of a step-up by password. */
export async function elevated(app: TestApp, token: string): Promise<string> {
  const { body: challenge } = await app.call("POST", "/api/auth/step-up/challenge", {
    token,
    body: { method: "password" },
  });
  const { body } = await app.call("POST", "/api/auth/step-up/verify", {
    token,
    body: { challenge_id: challenge.challenge_id, password },
  });
  return body.elevated_token as string;
}

/** Status and code of a response. */
export function outcome({ status, body }: Answer): string {
  return status < 300 ? String(status) : `${status} ${body?.code}`;
}

/** Audit events of an organization of one type, newest first. */
export async function auditOf(
  app: TestApp,
  by: Pick<Somebody, "token" | "org">,
  type: string,
): Promise<{ outcome: string; metadata: Record<string, unknown>; actor: unknown; resource_id: string | null }[]> {
  const { body } = await app.call("GET", `/api/organizations/${by.org}/audit-events?type=${type}`, { token: by.token });
  return body.data as never;
}
