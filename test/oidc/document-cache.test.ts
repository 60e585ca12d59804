import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { callbackOf, startRealm, subject } from "./support.ts";
import type { Realm } from "./support.ts";

let realm: Realm;
beforeAll(async () => {
  realm = await startRealm();
});
afterAll(() => realm.close());
beforeEach(() => {
  // What is cached of the provider is fetched anew.
  realm.app.clock.advance(86_400_000);
  realm.provider.requests.clear();
});

/** Signs somebody in; how often the discovery document and the key set have been fetched so far. */
async function fetched(): Promise<[discovery: number, keys: number]> {
  const { answer } = await callbackOf(realm, subject("ann"));
  expect(answer.status, answer.text).toBe(302);
  const { requests } = realm.provider;
  return [requests.get("/.well-known/openid-configuration") ?? 0, requests.get("/jwks") ?? 0];
}

it.each<[header: string, forMs: number]>([
  ["max-age=86400", 3_600_000],
  ["public, max-age=3600", 3_600_000],
  ["max-age=900, must-revalidate", 900_000],
  ["max-age=10", 10_000],
  // No connection fetches a document more than once in 10 seconds.
  ["max-age=0", 10_000],
  ["no-cache", 10_000],
  ["no-store", 10_000],
  ["no-store, max-age=86400", 10_000],
])("documents of a provider that sends Cache-Control: %s are fetched again after %i ms", async (header, forMs) => {
  realm.provider.headers = { "cache-control": header };
  expect(await fetched()).toEqual([1, 1]);
  expect(await fetched()).toEqual([1, 1]);
  realm.app.clock.advance(forMs - 1);
  expect(await fetched()).toEqual([1, 1]);
  realm.app.clock.advance(2);
  expect(await fetched()).toEqual([2, 2]);
  expect(await fetched()).toEqual([2, 2]);
});

it("documents of a provider that says nothing of caching are kept between sign-ins, for an hour at most", async () => {
  realm.provider.headers = {};
  expect(await fetched()).toEqual([1, 1]);
  expect(await fetched()).toEqual([1, 1]);
  realm.app.clock.advance(3_600_001);
  expect(await fetched()).toEqual([2, 2]);
});
