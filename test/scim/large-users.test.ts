import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf } from "./support.ts";
import type { Directory } from "./support.ts";

/** About 700 kB each; seven of them are more than a page has. */
const LARGE = 9;

interface Page {
  totalResults: number;
  itemsPerPage: number;
  nextCursor?: string;
  Resources: { userName: string }[];
}

let app: TestApp;
let directory: Directory;
const names = Array.from({ length: LARGE }, (_, nth) => `large${nth}@scim.test`);
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
  const text = "x".repeat(1_000);
  const address = {
    formatted: text,
    streetAddress: text,
    locality: text,
    region: text,
    postalCode: text,
    country: text,
  };
  const addresses = Array.from({ length: 100 }, (_, nth) => ({ type: `t${nth}`, ...address, region: `${nth}${text}` }));
  for (const userName of names) {
    app.clock.advance(1_000);
    await directory.user({ userName, addresses });
  }
});
afterAll(() => app.close());

const filter = `filter=${encodeURIComponent('userName sw "large"')}`;
async function list(query: string): Promise<Page> {
  const { status, body, text } = await directory.call("GET", `/Users?count=200&${query}`);
  expect(status, text.slice(0, 300)).toBe(200);
  expect(text.length).toBeLessThan(6_000_000);
  return body as Page;
}

test("a page of users ends before it is too large, and paging by index reads each user once", async () => {
  const read: string[] = [];
  let pages = 0;
  for (let startIndex = 1; startIndex <= LARGE; pages++) {
    const page = await list(`${filter}&startIndex=${startIndex}`);
    expect(page.totalResults).toBe(LARGE);
    read.push(...page.Resources.map(({ userName }) => userName));
    startIndex += page.itemsPerPage;
  }
  expect(read).toEqual(names);
  expect(pages).toBe(2);
});

test.each(["ascending", "descending"])("paging by cursor reads each large user once (%s)", async (order) => {
  const read: string[] = [];
  for (let cursor: string | undefined = ""; cursor !== undefined; ) {
    const page = await list(`${filter}&sortBy=userName&sortOrder=${order}&cursor=${encodeURIComponent(cursor)}`);
    read.push(...page.Resources.map(({ userName }) => userName));
    cursor = page.nextCursor;
  }
  expect(read).toEqual(order === "ascending" ? names : names.toReversed());
});
