import type { RequestInfo } from "../../platform/caller.ts";
import type { Tx } from "../../platform/db/types.ts";
import { parseEmail } from "../../platform/email.ts";
import { errors } from "../../platform/errors.ts";
import { foldName } from "../../platform/names.ts";
import type { SecondFactorNeeded } from "../mfa/index.ts";
import type { OpenedPair } from "../sessions/index.ts";
import type { LoginRow } from "../people/index.ts";
import type { LoginDeps } from "./deps.ts";

/** A password login. */
export interface PasswordLogin {
  email: string;
  password: string;
  orgName: string;
}

/** The tokens and the person behind them. */
export interface SignedIn extends OpenedPair {
  user: { id: number; email: string };
}

/** The door for passwords. */
export function createPasswordLogin({ database, hasher, audit, people, access, sessions, mfa, config }: LoginDeps) {
  /** The person, if this login could be theirs: an active member of the organization that has that name now. */
  async function candidate({
    email,
    orgName,
  }: PasswordLogin): Promise<{ row: LoginRow | undefined; org: string | null; member: boolean }> {
    const nameKey = foldName(orgName);
    const parsed = parseEmail(email) ?? { address: email, key: foldName(email), domain: "" };
    const row = await people.findForLogin(parsed, nameKey);
    const org = row?.org_name && foldName(row.org_name) === nameKey ? row.org_uuid : null;
    return { row, org, member: org !== null && row?.member === true };
  }

  async function open(
    tx: Tx,
    row: LoginRow,
    org: string,
    info: RequestInfo,
  ): Promise<SignedIn | SecondFactorNeeded | undefined> {
    const standing = await access.standing(tx, row.uuid, org);
    if (standing === undefined || standing.credentialsVersion !== row.credentials_version) return undefined;
    const event = {
      type: "login.password" as const,
      outcome: "success" as const,
      userUuid: row.uuid,
      orgUuid: org,
      info,
    };
    const needed = await mfa.gatekeeper.begin(tx, { standing, amr: ["pwd"], info });
    if (needed !== undefined) {
      await audit.record(tx, { ...event, metadata: { mfa_required: true } });
      return needed;
    }
    const opened = await sessions.open.pair(tx, { standing, amr: ["pwd"], info, accessTtlMs: config.accessMs });
    await audit.record(tx, { ...event, metadata: { session_id: opened.sessionId } });
    return { ...opened, user: { id: standing.id, email: standing.email } };
  }

  return {
    /**
     * Signs in with a password into a named organization, or asks for the second factor. Throws `unauthorized` for
     * any wrong combination; whether the person, the organization or the membership exists shows neither in the
     * answer nor in its cost.
     */
    async login(request: PasswordLogin, info: RequestInfo): Promise<SignedIn | SecondFactorNeeded> {
      const { row, org, member } = await candidate(request);
      const hash = member ? (row?.password_hash ?? null) : null;
      const { ok, rehash } = await hasher.verify(hash, request.password, info.address);
      if (ok && rehash && row !== undefined && hash !== null) {
        const stronger = await hasher.hash(request.password, info.address);
        await database.transaction((tx) => people.replaceHash(tx, row.uuid, hash, stronger));
      }
      const signedIn =
        ok && row !== undefined && org !== null
          ? await database.transaction((tx) => open(tx, row, org, info), info)
          : undefined;
      if (signedIn !== undefined) return signedIn;
      const metadata = { code: "unauthorized", email: request.email.slice(0, 254) };
      await audit.recordFailure({
        type: "login.password",
        userUuid: row?.uuid ?? null,
        orgUuid: row?.known === true ? org : null,
        info,
        metadata,
      });
      throw errors.unauthorized({ message: "Email, password or organization is wrong." });
    },
  };
}
