import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { SKIP_REAUTHORIZATION } from "../../src/platform/db/types.ts";
import type { Requester } from "../../src/platform/db/types.ts";
import { openTestDatabase } from "../support/database.ts";

let database: OpenDatabase;
beforeAll(async () => {
  database = await openTestDatabase();
});
afterAll(() => database.close());

const second = "asks for a second connection";
const during = <T>(work: () => Promise<T>): Promise<T> => database.guard?.call("a call", work) ?? work();
const write = (requester?: Requester) =>
  database.transaction((tx) => tx.emit({ topic: "guard", payload: {} }), requester);
const reauthorized: Requester = { reauthorize: () => Promise.resolve() };

describe("Inside a transaction", () => {
  it.each<[string, () => Promise<unknown>]>([
    ["another transaction", () => database.transaction(() => Promise.resolve())],
    ["a read of entities", () => database.read(() => Promise.resolve())],
    ["a statement outside it", () => database.prepared("guard_one", "select 1 as one", [])],
  ])("%s is an error inside a transaction, whether a connection is free or not", async (_what, ask) => {
    await expect(database.transaction(async () => void (await ask()))).rejects.toThrow(second);
    await ask();
  });

  it("work after the commit of a transaction runs outside of it", async () => {
    let after: Promise<unknown> = Promise.resolve();
    const stop = database.onWake("after", () => {
      after = database.transaction(() => Promise.resolve("went"));
    });
    await database.transaction((tx) => Promise.resolve(tx.wake("after")));
    expect(await after).toBe("went");
    stop();
  });
});

describe("During the call of an authenticated caller", () => {
  it("a transaction that writes must be passed its caller or record a refusal", async () => {
    await expect(during(() => write())).rejects.toThrow("was not passed its caller");
    await expect(during(() => write({}))).rejects.toThrow("was not passed its caller");
    await during(() => write(reauthorized));
    await during(() => write(SKIP_REAUTHORIZATION));
    expect(
      await database.prepared("guard_rows", "select count(*)::int as n from outbox where topic = 'guard'", []),
    ).toEqual([{ n: 2 }]);
  });

  it("a transaction that only reads needs no caller and must not lock", async () => {
    await during(() => database.transaction((tx) => tx.query("select uuid from organizations")));
    await expect(
      during(() => database.transaction((tx) => tx.query("select * from plans for update"))),
    ).rejects.toThrow("writes or locks");
  });

  it("a statement outside of transactions cannot write", async () => {
    const statement = () =>
      database.prepared("guard_write", "delete from outbox where topic = 'guard' returning 1 as one", []);
    await expect(during(statement)).rejects.toThrow("outside a transaction that reauthorizes its caller");
    expect(await statement()).toHaveLength(2);
  });
});
