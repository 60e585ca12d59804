import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { secretsOf } from "./support.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
let secrets: ReturnType<typeof secretsOf>;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
  secrets = secretsOf(app, owner);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const ifMatch = (value: string): Record<string, string> => ({ "if-match": value });
const conflict = "409 version_conflict";

describe("check-and-set", () => {
  test.each([
    ["3", "200"],
    ['"3"', "200"],
    ["*", "200"],
    ['"1", "3"', "200"],
    ["2", conflict],
    ['"2"', conflict],
    ['W/"3"', conflict],
    ['"three"', conflict],
    ['"03"', conflict],
    ["999999999", conflict],
    ["0", conflict],
    ['"0"', conflict],
    ["three", "400 bad_request"],
    ["", "400 bad_request"],
    ["-1", "400 bad_request"],
    ['"3', "400 bad_request"],
  ])("a write with If-Match %j returns %s when version 3 is the present one", async (value, expected) => {
    const name = `match-${Buffer.from(value).toString("hex")}`;
    for (const text of ["1", "2", "3"]) await secrets.put(name, text);
    expect(outcome(await secrets.put(name, "4", ifMatch(value)))).toBe(expected);
    expect((await secrets.get(name)).body.version).toBe(expected === "200" ? 4 : 3);
  });

  test.each(["0", '"0"'])("a write with If-Match %j makes a name that is not in use, once", async (value) => {
    const name = `new-${randomUUID()}`;
    const put = () => secrets.put(name, "x", ifMatch(value)).then(outcome);
    expect([await put(), await put()]).toEqual(["200", conflict]);
  });

  test("expected_version is the present version, and 0 means that the name is not in use", async () => {
    const put = async (body: object) => outcome(await secrets.put("expected", { value: "x", ...body }));
    expect(await put({ expected_version: 1 })).toBe(conflict);
    expect(await put({ expected_version: 0 })).toBe("200");
    expect(await put({ expected_version: 0 })).toBe(conflict);
    expect(await put({ expected_version: 2 })).toBe(conflict);
    expect(await put({ expected_version: 4_294_967_295 })).toBe(conflict);
    expect(await put({ expected_version: 1 })).toBe("200");
    expect(await put({ expected_version: -1 })).toMatch(/^400 /u);
    expect(await put({ expected_version: 1.5 })).toMatch(/^400 /u);
    await secrets.remove("expected");
    expect(await put({ expected_version: 2 })).toBe(conflict);
    expect(outcome(await secrets.put("expected", "x", ifMatch("*")))).toBe(conflict);
    expect(await put({ expected_version: 0 })).toBe("200");
    expect((await secrets.get("expected")).body.version).toBe(3);
  });

  test("If-Match and expected_version must agree", async () => {
    await secrets.put("both", "1");
    const put = async (header: string, version: number) =>
      outcome(await secrets.put("both", { value: "x", expected_version: version }, ifMatch(header)));
    expect(await put('"1"', 2)).toBe("400 validation_error");
    expect(await put("*", 0)).toBe("400 validation_error");
    expect(await put("*", 1)).toBe("200");
    expect(await put('"1", "2"', 2)).toBe("200");
  });

  test("a write with If-None-Match: * succeeds only for a name that is not in use", async () => {
    const header = { "if-none-match": "*" };
    const put = async (body: unknown, more: object = {}) =>
      outcome(await secrets.put("first", body, { ...header, ...more }));
    expect(await put("1")).toBe("200");
    expect(await put("2")).toBe(conflict);
    expect(await put({ value: "2", expected_version: 0 })).toBe(conflict);
    expect(await put({ value: "2", expected_version: 1 })).toBe("400 validation_error");
    expect(await put("2", ifMatch('"1"'))).toBe("400 validation_error");
    expect((await secrets.get("first")).body).toMatchObject({ version: 1, value: "1" });
    // The tag of a cached read is no condition of a write.
    expect(outcome(await secrets.put("first", "2", { "if-none-match": '"1"' }))).toBe("200");
    await secrets.remove("first");
    expect(await put("3")).toBe("200");
  });

  test("a deletion obeys If-Match", async () => {
    await secrets.put("deleted", "1");
    for (const value of ['"2"', "0", '"0"'])
      expect(outcome(await secrets.remove("deleted", ifMatch(value))), value).toBe(conflict);
    expect(outcome(await secrets.remove("deleted", ifMatch('"1"')))).toBe("204");
  });

  test("of 50 concurrent writes with one expected version on two instances, one succeeds", async () => {
    const name = `raced-${randomUUID()}`;
    await secrets.put(name, "0");
    const other = secretsOf(second, owner);
    for (const [version, header] of [
      [1, ifMatch('"1"')],
      [2, undefined],
    ] as const) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, at) => {
          const body = { value: `${at}`, ...(header === undefined && { expected_version: version }) };
          return (at % 2 === 0 ? secrets : other).put(name, body, header);
        }),
      );
      const outcomes = answers.map(outcome);
      expect(outcomes.filter((one) => one === "200")).toHaveLength(1);
      expect(outcomes.filter((one) => one === conflict)).toHaveLength(49);
      const winner = outcomes.indexOf("200");
      expect((await secrets.get(name)).body).toMatchObject({ version: version + 1, value: `${winner}` });
    }
  });

  test("of 50 concurrent creations, one succeeds", async () => {
    const name = `born-${randomUUID()}`;
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => secrets.put(name, { value: "x", expected_version: 0 })),
    );
    expect(answers.map(outcome).filter((one) => one === "200")).toHaveLength(1);
  });

  test("50 concurrent unconditional writes make 50 versions without gaps, on a new organization too", async () => {
    const newcomer = await founder(app);
    const [one, other] = [secretsOf(app, newcomer), secretsOf(second, newcomer)];
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? one : other).put("busy", `value ${at}`)),
    );
    const versions = answers.map(({ body }) => body.version as number);
    expect([...versions].sort((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, at) => at + 1));
    expect((await one.versions("busy")).body.data).toHaveLength(50);
    for (const at of [0, 17, 49]) expect((await one.get("busy", versions[at])).body.value).toBe(`value ${at}`);
  });
});
