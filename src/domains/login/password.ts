import type { RequestInfo } from "../../platform/caller.ts";
import type { RequestContext } from "../../platform/context.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { foldName } from "../../platform/names.ts";
import { EVENTS, withoutActor } from "../event-catalogue/index.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { LoginRow } from "../people/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import type { LoginDeps } from "./deps.ts";

/** A password login. */
export interface PasswordLoginRequest {
  email: string;
  password: string;
  orgName: string;
}

/** The tokens and the person they stand for. */
export interface PasswordLogin extends OpenedPair {
  user: { id: number; email: string };
}

/** Sign-in by password. */
export function createPasswordLogin(deps: LoginDeps) {
  const { database, hasher, events, people, access, sessions, mfa, config } = deps;

  /** The person, if this login could be theirs: an active member of the organization that has that name now. */
  async function findMember({
    email,
    orgName,
  }: PasswordLoginRequest): Promise<{ row: LoginRow | undefined; org: string | null; member: boolean }> {
    const nameKey = foldName(orgName);
    const parsed = parseEmail(email) ?? { address: email, key: foldName(email), domain: "" };
    const row = await people.findForLogin(parsed, nameKey);
    const org = row?.org_name && foldName(row.org_name) === nameKey ? row.org_uuid : null;
    return { row, org, member: org !== null && row?.member === true };
  }

  /** Opens the session, or asks for the second factor; undefined when the membership or the password has changed. */
  async function open(
    tx: Tx,
    row: LoginRow,
    org: string,
    info: RequestInfo,
  ): Promise<PasswordLogin | SecondFactorNeeded | undefined> {
    const standing = await access.standing(tx, row.uuid, org);
    if (standing === undefined || standing.credentialsVersion !== row.credentials_version) return undefined;
    const event = { by: withoutActor(row.uuid, info), orgUuid: org };
    const needed = await mfa.requestSecondFactor(tx, { standing, amr: ["pwd"], info });
    if (needed !== undefined) {
      await events.emit(tx, EVENTS["login.password"], { ...event, metadata: { mfa_required: true } });
      return needed;
    }
    const opened = await sessions.open.pair(tx, { standing, amr: ["pwd"], info, accessTtlMs: config.accessMs });
    await events.emit(tx, EVENTS["login.password"], { ...event, metadata: { session_id: opened.sessionId } });
    return { ...opened, user: { id: standing.id, email: standing.email } };
  }

  return {
    /**
     * Signs in to a named organization with a password, or asks for the second factor. Neither the response nor its
     * cost shows whether the person, the organization or the membership exists.
     * @throws {unauthorized} when the combination is wrong
     */
    async login(context: RequestContext, request: PasswordLoginRequest): Promise<PasswordLogin | SecondFactorNeeded> {
      const { info } = context;
      const { row, org, member } = await findMember(request);
      const hash = member ? (row?.password_hash ?? null) : null;
      const { ok, rehash } = await hasher.verify(hash, request.password, info.address);
      if (ok && rehash && row !== undefined && hash !== null) {
        const stronger = await hasher.hash(request.password, info.address);
        await database.transaction((tx) => people.replaceHash(tx, row.uuid, hash, stronger));
      }
      const signedIn =
        ok && row !== undefined && org !== null
          ? await context.transaction((tx) => open(tx, row, org, info))
          : undefined;
      if (signedIn !== undefined) return signedIn;
      await events.recordFailure(EVENTS["login.password"], {
        by: withoutActor(row?.uuid ?? null, info),
        orgUuid: row?.known === true ? org : null,
        metadata: { code: "unauthorized", email: request.email.slice(0, 254) },
      });
      throw errors.unauthorized({ message: "Email, password or organization is wrong." });
    },
  };
}
