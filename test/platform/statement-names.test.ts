import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createStatementNames } from "../../src/platform/db/statement-names.ts";
import { openTestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

let database: Awaited<ReturnType<typeof openTestDatabase>>;

beforeAll(async () => {
  database = await openTestDatabase();
  await runSql(
    database.url,
    `create table things (id integer primary key, name text not null); grant select on things to atrium_app;
     insert into things values (1, 'one')`,
  );
});
afterAll(() => database.close());

const thing = (id = 1) =>
  database.transaction(async (tx) => (await tx.query("select * from things where id = $1", [id]))[0]);
const prepared = (text: string) =>
  database.transaction(
    async (tx) =>
      (
        await tx.query<{ n: number }>("select count(*)::int as n from pg_prepared_statements where statement = $1", [
          text,
        ])
      )[0]?.n,
  );

describe("Statements of transactions", () => {
  it("statements are prepared when they are repeated", async () => {
    for (let i = 0; i < 4; i++) await thing();
    expect(await prepared("select * from things where id = $1")).toBe(0);
    await thing();
    expect(await prepared("select * from things where id = $1")).toBe(1);
    expect(await thing(2)).toBeUndefined();
  });

  it("prepared statements continue after a migration that changes the type of their result", async () => {
    for (let i = 0; i < 8; i++) expect(await thing()).toEqual({ id: 1, name: "one" });
    await runSql(database.url, "alter table things add column size integer default 7");
    expect(await thing()).toEqual({ id: 1, name: "one", size: 7 });
    expect(await thing()).toEqual({ id: 1, name: "one", size: 7 });
  });

  it("prepared statements continue after a value that could not be sent", async () => {
    const said = (value: unknown) =>
      database.transaction(
        async (tx) => (await tx.query<{ said: string }>("select $1::text as said", [value]))[0]?.said,
      );
    for (let i = 0; i < 6; i++) expect(await said("x")).toBe("x");
    await expect(
      said({
        toPostgres: () => {
          throw new Error("cannot be sent");
        },
      }),
    ).rejects.toThrow("cannot be sent");
    expect(await said("y")).toBe("y");
  });

  it("concurrent statements resolve in their order and fail with the first that fails", async () => {
    const rows = await database.transaction((tx) =>
      Promise.all([1, 2, 3].map((n) => tx.query<{ n: number }>("select $1::int as n", [n]))),
    );
    expect(rows.flat().map(({ n }) => n)).toEqual([1, 2, 3]);
    const failing = database.transaction((tx) =>
      Promise.all([tx.query("select 1 / $1::int", [0]), tx.query("select $1::int", [1])]),
    );
    await expect(failing).rejects.toMatchObject({ code: "22012" });
    expect(await thing()).toBeDefined();
  });
});

describe("Names of prepared statements", () => {
  it("the number of named texts is limited, and a name is replaced when its plan is stale", () => {
    const statementNames = createStatementNames();
    const named = (text: string) => Array.from({ length: 5 }, () => statementNames.nameOf(text)).at(-1);
    const first = named("select $1");
    expect(first).toBeDefined();
    for (let i = 0; i < 398; i++) named(`select $1, ${i}`);
    expect(named("select $1, 'the last'")).toBeDefined();
    expect(named("select $1, 'too many'")).toBeUndefined();
    statementNames.onError(Object.assign(new Error("cached plan must not change result type"), { code: "0A000" }));
    expect(named("select $1")).toBeDefined();
    expect(named("select $1")).not.toBe(first);
  });
});
