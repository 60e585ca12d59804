import { createHmac } from "node:crypto";
import { info, opened } from "../support/identity.ts";
import type { Identity } from "../support/identity.ts";
import type { Caller, RequestInfo } from "../../src/platform/caller.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The code an authenticator shows (RFC 6238), `steps` from now; independent of the service's implementation. */
export function codeAt(secret: string, nowMs: number, steps = 0): string {
  const bits = [...secret].map((character) => alphabet.indexOf(character).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from((bits.match(/.{8}/gu) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(nowMs / 30_000) + steps));
  const digest = createHmac("sha1", key).update(counter).digest();
  const at = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).padStart(6, "0");
}

/** A code that is not valid for a secret now. */
export function wrongCode(secret: string, nowMs: number): string {
  const right = [-1, 0, 1].map((steps) => codeAt(secret, nowMs, steps));
  return ["000000", "111111", "222222", "333333"].find((code) => !right.includes(code)) ?? "";
}

let people = 0;

/** A person with an organization of their own. */
export interface Somebody {
  email: string;
  password: string;
  orgName: string;
  caller: Caller;
}

/** Signs a new person up, with a confirmed address. */
export async function somebody(identity: Identity): Promise<Somebody> {
  people += 1;
  const who = { email: `person${people}@mfa.test`, password: "a long enough one", orgName: `Factors ${people}` };
  const made = await identity.login.signUp.signUp(identity.context(undefined), {
    name: who.orgName,
    email: who.email,
    password: who.password,
    firstName: "Ann",
  });
  await identity.sql("update people set email_confirmed_at = created_at where uuid = $1", [made.userUuid]);
  return { ...who, caller: await identity.me(made.accessToken) };
}

/** A person with an active factor; the clock has moved on, so that their codes are unused. */
export interface Enrolled extends Somebody {
  secret: string;
  factorId: number;
  /** An unused code; moves the clock on to the next step. */
  fresh(): string;
  /** The first step of a password login. */
  pass(from?: RequestInfo): Promise<string>;
  /** Both steps of a login: the caller of a session in which the second factor was just proven. */
  login(): Promise<Caller>;
}

/** Signs a new person up and enrols a factor. */
export async function enrolled(identity: Identity): Promise<Enrolled> {
  const who = await somebody(identity);
  const { clock } = identity;
  const { id, secret } = await identity.mfa.factors.create(identity.context(who.caller), undefined);
  await identity.mfa.factors.verify(identity.context(who.caller), id, codeAt(secret, clock.now()));
  const fresh = (): string => {
    clock.advance(30_000);
    return codeAt(secret, clock.now());
  };
  const pass = async (from = info): Promise<string> => {
    const answer = await identity.login.password.login(identity.anonymous(from), who);
    if (!("mfaRequired" in answer)) throw new Error("no second factor is asked for");
    return answer.mfaToken;
  };
  return {
    ...who,
    secret,
    factorId: id,
    fresh,
    pass,
    login: async () =>
      identity.me(
        opened(await identity.login.completeSignIn(identity.anonymous(), { mfaToken: await pass(), code: fresh() }))
          .accessToken,
      ),
  };
}

/** Outcomes of calls: `ok`, or the status and code of the error. */
export async function endings(calls: readonly Promise<unknown>[]): Promise<string[]> {
  return (await Promise.allSettled(calls)).map((call) => (call.status === "fulfilled" ? "ok" : endingOf(call.reason)));
}

/** Outcome of one call. */
export async function ending(call: Promise<unknown>): Promise<string> {
  return (await endings([call]))[0] ?? "";
}

function endingOf(reason: unknown): string {
  const { status, code, message } = reason as { status?: number; code?: string; message: string };
  return status === undefined ? message : `${status} ${code}`;
}

/** Outcomes of a person's events of some types, oldest first: `type outcome code`. */
export async function eventsOf(identity: Identity, userUuid: string | null, types: string): Promise<string[]> {
  const rows = await identity.sql<{ type: string; outcome: string; metadata: { code?: string } }>(
    "select type, outcome, metadata from auth_events where user_uuid = $1 and type like $2 order by sequence",
    [userUuid, types],
  );
  return rows.map(({ type, outcome, metadata }) => [type, outcome, metadata.code].filter(Boolean).join(" "));
}
