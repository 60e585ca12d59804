import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { outcome } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";
import { begin, comeBack, granted, signIn, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
let issued: unknown[];
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());
beforeEach(() => {
  issued = [];
  realm.provider.claims = (claims) => {
    issued.push(claims["nonce"]);
    return claims;
  };
});

const nonceOf = ({ url }: { url: string }): string => new URL(url).searchParams.get("nonce") ?? "";

/** Brings the code of one sign-in, as `sub`, back with the state and the cookie of another one. */
async function inject(sub: string) {
  const { provider } = realm;
  const victim = await begin(realm);
  provider.subject = subject(sub);
  const stolen = granted(realm, victim);
  const attacker = await begin(realm);
  const own = granted(realm, attacker);
  const answer = await comeBack(realm, attacker.cookie, { ...own, code: stolen["code"] ?? "" });
  return { answer, victim, attacker, own };
}

async function expectNobody(sub: string): Promise<void> {
  const people = await runSql(realm.app.databaseUrl, "select 1 from people where email = $1", [`${sub}@corp.test`]);
  expect(people).toEqual([]);
}

it("a sign-in sends the verifier of its challenge to a provider that checks it", async () => {
  expect(outcome(await signIn(realm, subject("ann")))).toBe("200");
});

it("the code of another sign-in is refused by a provider that checks the verifier", async () => {
  const { answer } = await inject("bob");
  expect(outcome(answer)).toBe("401 token_exchange_failed");
  expect(answer.headers.get("location")).toBeNull();
  expect(issued).toEqual([]);
  await expectNobody("bob");
});

it("the code of another sign-in is refused by its nonce where the provider ignores the verifier", async () => {
  realm.provider.checksVerifier = false;
  try {
    const { answer, victim, attacker, own } = await inject("cal");
    expect(outcome(answer)).toBe("401 token_exchange_failed");
    expect(answer.headers.get("location")).toBeNull();
    // The provider has exchanged the code: nothing but the nonce tells the two sign-ins apart.
    expect(issued).toEqual([nonceOf(victim)]);
    await expectNobody("cal");
    // The state is used up, for the code of its own sign-in too.
    expect(outcome(await comeBack(realm, attacker.cookie, own))).toBe("400 invalid_state");
    expect(issued).toHaveLength(1);
    expect(outcome(await signIn(realm, subject("dan")))).toBe("200");
  } finally {
    realm.provider.checksVerifier = true;
  }
});
