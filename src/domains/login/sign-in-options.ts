import type { LoginDeps } from "./deps.ts";

/** How members of an organization sign in. */
export interface SignInOptions {
  password: boolean;
  magicLink: boolean;
  code: boolean;
  /** Members other than owners use a connection. */
  ssoRequired: boolean;
  connections: { connectionUuid: string; name: string }[];
}

/** The id of no organization: an unknown name costs the same queries as a known one. */
const NIL = "00000000-0000-0000-0000-000000000000";

/** What the sign-in page offers (decisions 17.1). */
export function createSignInOptions({
  organizations,
  people,
  oidc,
}: Pick<LoginDeps, "organizations" | "people" | "oidc">) {
  /** Ways to sign in to the organization of a name; for an unknown one those of any without identity provider. */
  return async function signInOptions(orgName: string): Promise<SignInOptions> {
    const org = await organizations.findByName(orgName);
    const connections = await oidc.connections.offered(org?.uuid ?? NIL);
    const { isOn } = people.mails;
    return {
      password: true,
      magicLink: isOn,
      code: isOn,
      ssoRequired: org?.ssoRequired ?? false,
      connections: connections.map(({ uuid, name }) => ({ connectionUuid: uuid, name })),
    };
  };
}
