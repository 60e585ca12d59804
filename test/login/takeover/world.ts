import pg from "pg";
import { createSealer } from "../../../src/platform/crypto/sealed.ts";
import type { Mail } from "../../../src/platform/outgoing/mailbox.ts";
import { createMailHandler } from "../../../src/platform/outgoing/mail-outbox.ts";
import { startHostileProvider } from "../../oidc/hostile-provider.ts";
import type { HostileProvider } from "../../oidc/hostile-provider.ts";
import { directoryOf } from "../../scim/support.ts";
import type { Directory } from "../../scim/support.ts";
import { INSTANCE_KEY, startApp } from "../../support/app.ts";
import type { Answer, TestApp } from "../../support/app.ts";
import { password } from "../../support/people.ts";
import type { Random } from "../../support/random-of.ts";

/** What every walk uses. */
export interface Ground {
  app: TestApp;
  provider: HostileProvider;
  client: pg.Client;
  mailbox: Mailbox;
  close(): Promise<void>;
}

type MailedPage = "magic-link" | "confirm-email" | "disown" | "invite" | "reset-password";

/** Reads each mail of the outbox once. */
export interface Mailbox {
  /** The newest code, or token of a link to a page, in the mails to an address; empty when there is none. */
  newest(address: string, kind: "code" | MailedPage): Promise<string>;
}

export async function openGround(): Promise<Ground> {
  const app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  const provider = await startHostileProvider(() => app.clock.now());
  const client = new pg.Client(app.databaseUrl);
  client.on("error", () => undefined);
  await client.connect();
  const mails = new Map<string, Mail[]>();
  let last = "0";
  const open = createMailHandler(createSealer(INSTANCE_KEY), {
    send: async (mail) => void mails.set(mail.to.toLowerCase(), [...(mails.get(mail.to.toLowerCase()) ?? []), mail]),
  });
  const mailbox: Mailbox = {
    async newest(address, kind) {
      const sql = "select id, payload from outbox where id > $1 and topic in ('mail.send', 'mail.bulk') order by id";
      const { rows } = await client.query<{ id: string; payload: Record<string, unknown> }>(sql, [last]);
      for (const { id, payload } of rows) {
        await open(payload);
        last = id;
      }
      const texts = (mails.get(address.toLowerCase()) ?? []).map(({ text }) => text);
      const form = kind === "code" ? /^ {4}(\d{6})$/gmu : new RegExp(`/${kind}#token=([\\w-]+)`, "gu");
      return texts.flatMap((text) => [...text.matchAll(form)].map((found) => found[1] ?? "")).at(-1) ?? "";
    },
  };
  return {
    app,
    provider,
    client,
    mailbox,
    async close() {
      await client.end();
      await app.close();
      await provider.close();
    },
  };
}

/** An organization with a provider and a directory of its own. */
export interface House {
  org: string;
  name: string;
  ownerEmail: string;
  connection: string;
  directory: Directory;
}

/** What the hostile side holds. */
export interface Loot {
  tokens: string[];
  refresh: string[];
  mfa: string[];
  keys: string[];
  /** Secrets of second factors, by id of the factor. */
  factors: Map<number, string>;
  pending: { token: string; id: number; secret: string }[];
  redeemable: { token: string; cookie: string }[];
  passwords: Set<string>;
  /** Organizations founded with a token of theirs, and a connection there. */
  founded: Map<string, string>;
}

/** What the victim holds; they alone read their mailbox. */
export interface Victim {
  email: string;
  password: string | undefined;
  tokens: string[];
  /** Secrets of their own second factors, by id of the factor. */
  factors: Map<number, string>;
  /** Organizations they have founded. */
  own: Set<string>;
  /** They have linked an identity of the hostile provider themselves. */
  trusts: boolean;
  /** The hostile provider has added a second factor while its organization alone had a say. */
  hostage: boolean;
  founded: number;
}

/** One walk. */
export interface World extends Ground {
  random: Random;
  name: string;
  hostile: House;
  home: House;
  /** A hostile employee of both organizations. */
  insider: { email: string; userUuid: string };
  /** Addresses whose mails the hostile side reads. */
  theirs: string[];
  /** Other spellings of the victim's address. */
  aliases: string[];
  loot: Loot;
  victim: Victim;
}

export type Call = (method: string, path: string, token?: string, body?: unknown) => Promise<Answer>;

export const caller =
  ({ app }: Pick<World, "app">): Call =>
  (method, path, token, body) =>
    app.call(method, path, { token, body });

async function house(ground: Ground, name: string, domains: string[]): Promise<House> {
  const { app } = ground;
  const ownerEmail = `owner@${name}.test`;
  const sign = { name, email: ownerEmail, password, first_name: "Olga" };
  const { body } = await app.call("POST", "/api/organizations", { body: sign });
  const [org, token] = [body.org_uuid as string, body.access_token as string];
  const confirm = await ground.mailbox.newest(ownerEmail, "confirm-email");
  await app.call("POST", "/api/auth/email/confirm", { body: { token: confirm } });
  const connection = await connectionOf(ground, org, token, domains);
  return { org, name, ownerEmail, connection, directory: await directoryOf(app, { token, org }) };
}

/** A connection of an organization to the provider. */
export async function connectionOf(
  { app, provider }: Pick<Ground, "app" | "provider">,
  org: string,
  token: string,
  domains: string[],
): Promise<string> {
  const { status, body, text } = await app.call("POST", `/api/admin/organizations/${org}/oidc-connections`, {
    token,
    body: {
      name: "Sign-on",
      provider: "test",
      client_id: "atrium-client",
      client_secret: "a-client-secret",
      discovery_url: provider.discoveryUrl,
      allowed_domains: domains,
      redirect_uris: ["http://client.test/back"],
    },
  });
  if (status !== 201) throw new Error(`the connection answered ${status}: ${text}`);
  return body.connection_uuid as string;
}

/** A token of the owner of an organization. */
export async function ownerOf(world: World, { ownerEmail, name }: House): Promise<string> {
  return world.app.login(ownerEmail, password, name);
}

export async function openWorld(ground: Ground, random: Random, name: string): Promise<World> {
  const { app, mailbox } = ground;
  const mail = `${name}-corp.test`;
  const [hostile, home] = [
    await house(ground, `${name}-hostile`, [mail, `${name}-evil.test`]),
    await house(ground, `${name}-home`, [mail]),
  ];
  const email = `insider@${name}-evil.test`;
  let userUuid = "";
  for (const one of [hostile, home]) {
    const token = await app.login(one.ownerEmail, password, one.name);
    const body = { email, role_id: one === hostile ? 1 : 3 };
    await app.call("POST", `/api/admin/organizations/${one.org}/invitations`, { token, body });
    const invitation = await mailbox.newest(email, "invite");
    const newcomer = {
      token: invitation,
      first_name: "Ina",
      last_name: "Sider",
      username: `insider-${name}`,
      password,
    };
    const { status, body: accepted } = await app.call("POST", "/api/auth/invite/accept", { body: newcomer });
    if (status !== 200) throw new Error("the insider is not in");
    userUuid = accepted.data.user_uuid as string;
  }
  return {
    ...ground,
    random,
    name,
    hostile,
    home,
    insider: { email, userUuid },
    theirs: [1, 2].map((n) => `thief${n}@${name}-evil.test`),
    aliases: [`Victim@${mail}`, `victim+x@${mail}`, `victim@${mail.toUpperCase()}`, `vic.tim@${mail}`],
    loot: {
      tokens: [],
      refresh: [],
      mfa: [],
      keys: [],
      factors: new Map(),
      pending: [],
      redeemable: [],
      passwords: new Set(),
      founded: new Map(),
    },
    victim: {
      email: `victim@${mail}`,
      password: undefined,
      tokens: [],
      factors: new Map(),
      own: new Set(),
      trusts: false,
      hostage: false,
      founded: 0,
    },
  };
}

/** One step: its name, and what it did. */
export type Step = [name: string, weight: number, act: (world: World) => Promise<string>];

/** Status and code, for the story of a walk. */
export const said = ({ status, body }: Answer): string =>
  status < 300 ? (body?.mfa_required === true ? "mfa" : String(status)) : `${status} ${body?.code ?? ""}`;
