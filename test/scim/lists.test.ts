import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf, ENTERPRISE_URN, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
  for (const [n, name] of ["Ada", "Bob", "Cleo", "Dan", "Eve"].entries()) {
    app.clock.advance(1_000);
    await directory.user({
      userName: `${name}@Scim.test`,
      externalId: `E${n}`,
      name: { givenName: name, familyName: n % 2 === 0 ? "Éven" : "Odd" },
      ...(n > 2 && { title: "Guide" }),
      emails: [
        { value: `${name}@scim.test`, type: "work", primary: true },
        ...(n === 1 ? [{ value: "bob@home.test", type: "home" }] : []),
      ],
      [ENTERPRISE_URN]: { department: `D${n}`, manager: { value: "boss" } },
      active: n !== 4,
    });
  }
});
afterAll(() => app.close());

const names = async (filter: string, path = "/Users"): Promise<string> => {
  const answer = await directory.call("GET", `${path}?filter=${encodeURIComponent(filter)}`);
  if (answer.status !== 200) return refusal(answer);
  return (answer.body.Resources as { name?: { givenName?: string } }[])
    .map(({ name }) => name?.givenName ?? "")
    .filter((name) => name !== "Fay")
    .join(" ");
};

describe("a filter", () => {
  test.each([
    ['userName eq "ADA@scim.test"', "Ada"],
    ['USERNAME Eq "ada@scim.test"', "Ada"],
    ['urn:ietf:params:scim:schemas:core:2.0:User:userName sw "b"', "Bob"],
    ['externalId eq "e1"', ""],
    ['externalId eq "E1"', "Bob"],
    ['externalId sw "E" and not (externalId ew "3")', "Ada Bob Cleo Eve"],
    ['name.familyName eq "éVEN"', "Ada Cleo Eve"],
    ['name.familyName ne "odd" and name.familyName pr', "Ada Cleo Eve"],
    ['title pr or userName eq "ada@scim.test"', "Ada Dan Eve"],
    ["not (title pr) and externalId pr", "Ada Bob Cleo"],
    ["title eq null and externalId pr", "Ada Bob Cleo"],
    ['emails co "@home.test"', "Bob"],
    ['emails[type eq "home" and value co "bob"]', "Bob"],
    ['emails[type eq "work" and value co "home"]', ""],
    ['emails.type eq "home"', "Bob"],
    ['emails[not (type eq "work")]', "Bob"],
    ['emails[type eq "home"].value pr and active eq true', "Bob"],
    ['emails[type eq "work"].value co "home"', ""],
    ['emails[primary eq true and value sw "c"]', "Cleo"],
    ["active eq false", "Eve"],
    ['active eq "False"', "Eve"],
    [`${ENTERPRISE_URN}:department gt "d2"`, "Dan Eve"],
    [`${ENTERPRISE_URN}:manager.value eq "boss" and ${ENTERPRISE_URN}:department le "D0"`, "Ada"],
    [`${ENTERPRISE_URN}:manager eq "boss" and active eq false`, "Eve"],
    [`schemas eq "${ENTERPRISE_URN}" and userName sw "d"`, "Dan"],
    ['meta.resourceType eq "User" and userName sw "e"', "Eve"],
    ['meta.created gt "2020-01-01T00:00:00Z" and userName sw "c"', "Cleo"],
    ['meta.lastModified lt "2020-01-01T00:00:00Z"', ""],
    ["groups pr", ""],
    ['userName co "\\u0061da"', "Ada"],
    [`userName eq "x' or '1'='1"`, ""],
  ])("%s selects %s", async (filter, expected) => {
    expect(await names(filter)).toBe(expected);
  });

  test.each([
    'nosuch eq "x"',
    'name eq "x"',
    "userName",
    "userName eq",
    'userName eq "x',
    'userName xx "x"',
    'userName co ""',
    "userName eq 5",
    "active gt true",
    'meta.created co "2011"',
    'meta.created eq "yesterday"',
    'meta.created gt "2026-02-30T00:00:00Z"',
    'meta.version eq "1"',
    'emails[nosuch eq "x"]',
    'emails[type eq "work"].nosuch eq "x"',
    'emails[type eq "work"].value',
    'emails[emails[type eq "x"]]',
    'name[givenName eq "x"]',
    'userName eq "a" and',
    '(userName eq "a"',
    'userName eq "\\u0000"',
    'userName eq "\\ud800"',
    'password eq "x"',
    `${"(".repeat(33)}userName pr${")".repeat(33)}`,
    `userName eq "${"x".repeat(8_192)}"`,
  ])("%s returns 400 invalidFilter", async (filter) => {
    expect(await names(filter)).toBe("400 invalidFilter validation_error");
  });

  test("a filter of 8,192 bytes is read, and one of a byte more returns 400 invalidFilter", async () => {
    const ofBytes = (bytes: number, letter: string) => {
      const [begin, end] = ['userName eq "ada@scim.test" or userName eq "', '"'];
      const left = bytes - begin.length - end.length;
      const letters = Math.floor(left / Buffer.byteLength(letter));
      return `${begin}${letter.repeat(letters)}${"x".repeat(left - letters * Buffer.byteLength(letter))}${end}`;
    };
    expect(await names(ofBytes(8_192, "x"))).toBe("Ada");
    expect(await names(ofBytes(8_193, "x"))).toBe("400 invalidFilter validation_error");
    // Percent-encoded, these have more than a request line may.
    const search = (filter: string) => directory.call("POST", "/Users/.search", { filter });
    for (const letter of ["é", "😀"]) {
      expect(Buffer.byteLength(ofBytes(8_192, letter))).toBe(8_192);
      expect((await search(ofBytes(8_192, letter))).body.totalResults).toBe(1);
      expect(refusal(await search(ofBytes(8_193, letter)))).toBe("400 invalidFilter validation_error");
    }
  });

  test("a filter nested 32 deep is read", async () => {
    expect(await names(`${"(".repeat(32)}userName eq "ada@scim.test"${")".repeat(32)}`)).toBe("Ada");
  });
});

describe("a page", () => {
  const list = async (query: string) => (await directory.call("GET", `/Users?${query}`)).body;
  const given = (body: { Resources: { name: { givenName: string } }[] }) =>
    body.Resources.map(({ name }) => name.givenName);

  test("startIndex and count page by the rules of RFC 7644", async () => {
    expect(await list("count=0")).toMatchObject({ totalResults: 6, startIndex: 1, itemsPerPage: 0, Resources: [] });
    expect(await list("count=-3&startIndex=-7")).toMatchObject({ startIndex: 1, itemsPerPage: 0 });
    const page = await list("sortBy=userName&startIndex=2&count=2");
    expect(page).toMatchObject({ totalResults: 6, startIndex: 2, itemsPerPage: 2 });
    expect(given(page)).toEqual(["Bob", "Cleo"]);
    expect(await list("startIndex=100")).toMatchObject({ totalResults: 6, itemsPerPage: 0 });
  });

  test("resources without the sort value are last ascending and first descending", async () => {
    const filter = encodeURIComponent("externalId pr");
    expect(
      given(await list(`filter=${filter}&sortBy=title`))
        .slice(0, 2)
        .sort(),
    ).toEqual(["Dan", "Eve"]);
    const descending = given(await list(`filter=${filter}&sortBy=title&sortOrder=Descending`));
    expect(descending.slice(3).sort()).toEqual(["Dan", "Eve"]);
    expect(given(await list(`filter=${filter}&sortBy=emails&sortOrder=descending`))).toEqual([
      "Eve",
      "Dan",
      "Cleo",
      "Bob",
      "Ada",
    ]);
    for (const query of ["sortBy=nosuch", "sortBy=name", "sortBy=userName&sortOrder=up"])
      expect(refusal(await directory.call("GET", `/Users?${query}`))).toBe("400 invalidValue validation_error");
  });

  test.each(["", "sortBy=userName", "sortBy=title", "sortBy=title&sortOrder=descending", "sortBy=meta.lastModified"])(
    "cursors give every resource once, in the order of %s",
    async (query) => {
      const whole = given(await list(query));
      const seen: string[] = [];
      let cursor: string | undefined = "";
      for (let pages = 0; cursor !== undefined && pages < 10; pages++) {
        const page: { nextCursor?: string; startIndex?: number } & Parameters<typeof given>[0] = await list(
          `${query}&count=2&cursor=${encodeURIComponent(cursor)}`,
        );
        seen.push(...given(page));
        expect(page.startIndex).toBeUndefined();
        cursor = page.nextCursor;
      }
      expect(cursor).toBeUndefined();
      expect(seen).toEqual(whole);
    },
  );

  test("cursors that are cut, foreign, of another sort, expired, or of no size of a page are refused", async () => {
    const { nextCursor } = await list("count=1&cursor=");
    const refused = async (query: string, by = directory) => refusal(await by.call("GET", `/Users?${query}`));
    expect(await refused(`cursor=${nextCursor.slice(0, -2)}`)).toBe("400 invalidCursor validation_error");
    expect(await refused(`sortBy=userName&cursor=${nextCursor}`)).toBe("400 invalidCursor validation_error");
    expect(await refused(`filter=title%20pr&cursor=${nextCursor}`)).toBe("400 invalidCursor validation_error");
    const stranger = await directoryOf(app, await founder(app));
    expect(await refused(`cursor=${nextCursor}`, stranger)).toBe("400 invalidCursor validation_error");
    for (const count of [201, 0, -1])
      expect(await refused(`cursor=&count=${count}`)).toBe("400 invalidCount validation_error");
    app.clock.advance(3_600_000);
    expect(await refused(`cursor=${nextCursor}`)).toBe("400 expiredCursor validation_error");
  });

  test("a query in a body gives the same page", async () => {
    const body = {
      schemas: ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"],
      filter: 'userName sw "a"',
      attributes: ["userName"],
      count: 5,
    };
    const answer = await directory.call("POST", "/Users/.search", body);
    expect(answer.status).toBe(200);
    expect(answer.body.Resources).toEqual([
      { schemas: expect.any(Array), id: expect.any(String), userName: "Ada@Scim.test" },
    ]);
  });

  test("attributes and excludedAttributes select attributes and their parts", async () => {
    const one = async (query: string) =>
      (await list(`filter=${encodeURIComponent('userName eq "bob@scim.test"')}&${query}`)).Resources[0];
    expect(Object.keys(await one("attributes=name.givenName,emails.value,nosuch")).sort()).toEqual([
      "emails",
      "id",
      "name",
      "schemas",
    ]);
    expect((await one("attributes=name.givenName")).name).toEqual({ givenName: "Bob" });
    expect((await one(`attributes=${ENTERPRISE_URN}:department`))[ENTERPRISE_URN]).toEqual({ department: "D1" });
    expect(Object.keys((await one("attributes=meta.created")).meta)).toEqual(["created"]);
    const { meta } = await one("excludedAttributes=meta.location,meta.created");
    expect(Object.keys(meta).sort()).toEqual(["lastModified", "resourceType", "version"]);
    const rest = await one("excludedAttributes=name,id,emails.type,meta");
    expect([rest.name, rest.meta, rest.id.length, rest.emails[0].type]).toEqual([undefined, undefined, 36, undefined]);
  });
});

test("the discovery routes describe what there is", async () => {
  const config = await directory.call("GET", "/ServiceProviderConfig");
  expect(config.body).toMatchObject({ patch: { supported: true }, pagination: { cursor: true, cursorTimeout: 3_600 } });
  const kinds = await directory.call("GET", "/ResourceTypes");
  expect(kinds.body).toMatchObject({ totalResults: 2, Resources: [{ id: "User" }, { id: "Group" }] });
  expect((await directory.call("GET", "/ResourceTypes/Group")).body).toEqual(kinds.body.Resources[1]);
  const schemas = await directory.call("GET", "/Schemas");
  expect(schemas.body.totalResults).toBe(3);
  for (const schema of schemas.body.Resources)
    expect((await directory.call("GET", `/Schemas/${schema.id}`)).body).toEqual(schema);
  expect(refusal(await directory.call("GET", "/Schemas/urn:nosuch"))).toBe("404 not_found");
  // RFC 7644 §4: nobody may take the whole for what a filter found.
  for (const path of ["/ServiceProviderConfig", "/ResourceTypes", "/Schemas"]) {
    expect(refusal(await directory.call("GET", `${path}?filter=id%20eq%20%22User%22`))).toBe("403 forbidden");
    expect((await directory.call("GET", `${path}?filter=&count=1`)).status).toBe(200);
  }
});
