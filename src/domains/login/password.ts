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
import { enteredEmail } from "./rules.ts";
import { createSsoRefusals } from "./sso-refusal.ts";

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

/** The person who a password login may be for, and the organization that it enters. */
interface Found {
  row: LoginRow | undefined;
  org: string | null;
  enters: boolean;
}

/** Sign-in by password. */
export function createPasswordLogin(deps: LoginDeps) {
  const { database, hasher, events, people, access, sessions, mfa, config } = deps;
  const ssoRefusals = createSsoRefusals(deps);

  /**
   * The person, if this login could be theirs: an active member of the organization that has that name now. Without a
   * name the login enters the organization they used last, or none.
   */
  async function findMember({ email, orgName }: PasswordLoginRequest): Promise<Found> {
    const nameKey = foldName(orgName);
    // What is not an address stays as it is, and so is nobody's: failures are counted by the address alone.
    const parsed = parseEmail(email) ?? { address: email, key: email, domain: "" };
    if (nameKey === "") {
      const row = await people.findForLoginAnywhere(parsed);
      return { row, org: row?.orgUuid ?? null, enters: row !== undefined };
    }
    const row = await people.findForLogin(parsed, nameKey);
    const org = row?.orgName && foldName(row.orgName) === nameKey ? row.orgUuid : null;
    return { row, org, enters: org !== null && row?.member === true };
  }

  /** Opens the session, or asks for the second factor; undefined when the membership or the password has changed. */
  async function open(
    tx: Tx,
    row: LoginRow,
    org: string | null,
    info: RequestInfo,
  ): Promise<PasswordLogin | SecondFactorNeeded | undefined> {
    const standing = await access.standing(tx, row.uuid, org);
    if (standing === undefined || standing.credentialsVersion !== row.credentialsVersion) return undefined;
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

  /**
   * Signs in whoever knows the password. Without a name of an organization, one that ends after the look-up is not
   * chosen again.
   */
  async function enter(
    context: RequestContext,
    request: PasswordLoginRequest,
    row: LoginRow,
    org: string | null,
  ): Promise<PasswordLogin | SecondFactorNeeded | undefined> {
    const { info } = context;
    const metadata = { email: enteredEmail(request.email) };
    const signedIn = await ssoRefusals(
      context.transaction((tx) => open(tx, row, org, info)),
      info,
      async () => ({ event: "login.password", userUuid: row.uuid, orgUuid: org, metadata }),
    );
    if (signedIn !== undefined || foldName(request.orgName) !== "") return signedIn;
    const { row: latest, org: chosen } = await findMember(request);
    if (latest?.uuid !== row.uuid || latest.credentialsVersion !== row.credentialsVersion) return undefined;
    return chosen === org ? undefined : enter(context, request, latest, chosen);
  }

  return {
    /**
     * Signs in with a password to a named organization, or to the one last used, or asks for the second factor. Neither
     * the response nor its cost shows whether the person, the organization or the membership exists.
     * @throws {unauthorized} when the combination is wrong
     */
    async login(context: RequestContext, request: PasswordLoginRequest): Promise<PasswordLogin | SecondFactorNeeded> {
      const { info } = context;
      const { row, org, enters } = await findMember(request);
      const hash = enters ? (row?.passwordHash ?? null) : null;
      const { ok, rehash } = await hasher.verify(hash, request.password, info.address);
      if (ok && rehash && row !== undefined && hash !== null) {
        const stronger = await hasher.hash(request.password, info.address);
        await database.transaction((tx) => people.replaceHash(tx, row.uuid, hash, stronger));
      }
      const signedIn = ok && row !== undefined && hash !== null ? await enter(context, request, row, org) : undefined;
      if (signedIn !== undefined) return signedIn;
      await events.recordFailure(EVENTS["login.password"], {
        by: withoutActor(row?.uuid ?? null, info),
        orgUuid: row?.known === true ? org : null,
        metadata: { code: "unauthorized", email: enteredEmail(request.email) },
      });
      throw errors.unauthorized({ message: "Email, password or organization is wrong." });
    },
  };
}
