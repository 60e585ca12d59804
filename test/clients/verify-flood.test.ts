import { expect, it } from "vitest";
import { createVerifier } from "../../src/clients/typescript/verify/index.ts";
import { ISSUER, makeIssuer, ORG } from "./issuer.ts";
import { countingFetch } from "./support.ts";

/** More than a verifier keeps key sets. */
const INVENTED = 1_500;
/** 100 at once, then 5 a second: only a run of two minutes makes this many. */
const MOST_REQUESTS = 700;

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** A token that nobody signed, of an organization that does not exist. */
const invented = (kid = "x"): string => {
  const claims = { iss: ISSUER, org: crypto.randomUUID() };
  return `${encoded({ alg: "EdDSA", typ: "at+jwt", kid })}.${encoded(claims)}.x`;
};

/** An issuer that knows one organization. */
async function issuer(orgs?: string[]) {
  const { sign, publish } = await makeIssuer();
  const requests: string[] = [];
  const network = countingFetch();
  network.before = (_rpc, { url }) => {
    requests.push(url);
    if (!url.includes(ORG)) return new Response("{}", { status: 404 });
    return new Response(publish.body, { headers: { "cache-control": "max-age=300" } });
  };
  const options = { issuer: ISSUER, fetch: network.fetch, ...(orgs !== undefined && { orgs }) };
  return { sign, requests, verifier: createVerifier(options) };
}

it("unsigned tokens of invented organizations cost few requests, and no known key set", async () => {
  const { sign, requests, verifier } = await issuer();
  await verifier.verify(await sign());
  const statuses = new Set<number>();
  for (let nth = 0; nth < INVENTED; nth++)
    await verifier.verify(invented()).catch(({ status }: { status: number }) => statuses.add(status));
  expect([...statuses].sort()).toEqual([401, 503]);
  expect(requests.length).toBeLessThanOrEqual(MOST_REQUESTS);
  expect(new Set(requests).size).toBe(requests.length);
  await expect(verifier.verify(await sign({ jti: "2" }))).resolves.toMatchObject({ orgUuid: ORG });
  expect(requests.filter((url) => url.includes(ORG))).toHaveLength(1);
});

it("an organization that does not exist is asked for once in a while", async () => {
  const { requests, verifier } = await issuer();
  const token = invented();
  for (let nth = 0; nth < 5; nth++) await expect(verifier.verify(token)).rejects.toMatchObject({ status: 401 });
  expect(requests).toHaveLength(1);
});

it("a verifier that names its organizations asks for no other", async () => {
  const { sign, requests, verifier } = await issuer([ORG]);
  for (let nth = 0; nth < 5; nth++) await expect(verifier.verify(invented())).rejects.toMatchObject({ status: 401 });
  expect(requests).toEqual([]);
  await expect(verifier.verify(await sign())).resolves.toMatchObject({ orgUuid: ORG });
});
