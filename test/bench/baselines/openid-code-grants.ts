/**
 * Code exchanges by `openid-client` alone, at the provider of ISSUER: one configuration, so that discovery and keys are
 * fetched once, and every check that the service makes of an ID token: issuer, audience, nonce, times, signature.
 * Asked `{begin}`, prepares so many sign-ins; asked `{complete}`, exchanges their codes, so many at once.
 */
import * as client from "openid-client";
import { CLIENT, codeOf, inParallel, serveLogins, subjectOf } from "../openid.ts";

const issuer = process.env["ISSUER"] ?? "";
const configuration = await client.discovery(
  new URL(issuer),
  CLIENT.id,
  undefined,
  client.ClientSecretBasic(CLIENT.secret),
  { execute: [client.allowInsecureRequests, client.enableNonRepudiationChecks] },
);
let begun: { url: URL; nonce: string; state: string; verifier: string }[] = [];

async function begin(n: number): Promise<void> {
  const [nonce, state, verifier] = [client.randomNonce(), client.randomState(), client.randomPKCECodeVerifier()];
  const code = codeOf({ nonce, challenge: await client.calculatePKCECodeChallenge(verifier), subject: subjectOf(n) });
  const url = new URL("http://client.test/callback");
  for (const [name, value] of Object.entries({ code, state, iss: issuer })) url.searchParams.set(name, value);
  begun.push({ url, nonce, state, verifier });
}

async function complete({ url, nonce, state, verifier }: (typeof begun)[number]): Promise<void> {
  const tokens = await client.authorizationCodeGrant(configuration, url, {
    expectedNonce: nonce,
    expectedState: state,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  });
  if (tokens.claims()?.["email_verified"] !== true) throw new Error("an exchange gave no verified address");
}

serveLogins({
  begin(count) {
    begun = [];
    return inParallel(count, 1, begin);
  },
  complete: (atOnce) => inParallel(begun.length, atOnce, (n) => complete(begun[n] as (typeof begun)[number])),
});
