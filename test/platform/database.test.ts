import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defineEntity, p } from "@mikro-orm/core";
import { migrations } from "../../src/migrations/index.ts";
import {
  defineMigration,
  grantApp,
  migrate,
  openDatabase,
  OUTBOX,
  violatedConstraint,
} from "../../src/platform/db/index.ts";
import type { OpenDatabase } from "../../src/platform/db/index.ts";
import { silentLog } from "../../src/platform/log.ts";
import { testClock } from "../support/clock.ts";
import { testDatabase } from "../support/database.ts";
import type { TestDatabase } from "../support/database.ts";
import { runSql } from "../support/postgres.ts";

const NoteSchema = defineEntity({
  name: "Note",
  tableName: "notes",
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    writtenAt: p.datetime(3),
    version: p.integer().version(),
  },
});
class Note extends NoteSchema.class {}
NoteSchema.setClass(Note);

const notes = defineMigration("9999-notes", [
  `create table notes (id integer primary key, text text not null constraint notes_text unique,
   written_at timestamptz(3), version integer not null default 1)`,
  grantApp("notes"),
  "create table facts (id integer generated always as identity primary key, text text not null)",
  "grant select, insert on facts to atrium_app",
]);
const all = [...migrations, notes];
const clock = testClock(Date.parse("2030-01-02T03:04:05.678Z"));

let home: TestDatabase;
let database: OpenDatabase;
beforeAll(async () => {
  home = await testDatabase();
  await migrate({ url: home.url, migrations: all, log: silentLog });
  database = await openDatabase({ url: home.url, entities: [Note], migrations: all, clock, log: silentLog });
});
afterAll(async () => {
  await database.close();
  await home.close();
});

describe("Transactions", () => {
  test("a transaction commits state, plain SQL and outbox rows together or not at all", async () => {
    let nudges = 0;
    let wakes = 0;
    const stops = [database.onWake(OUTBOX, () => nudges++), database.onWake("notes", () => wakes++)];
    await database.transaction(async (tx) => {
      tx.em.create(Note, { id: 1, text: "one", writtenAt: new Date(clock.now()) });
      await tx.query("insert into facts (text) values ($1)", ["first"]);
      await tx.emit({ topic: "note.written", payload: { id: 1, quoted: 'it\'s "so" ?' } });
      tx.wake("notes");
      expect([nudges, wakes]).toEqual([0, 0]);
    });
    expect([nudges, wakes]).toEqual([1, 1]);
    const note = await database.read((em) => em.findOneOrFail(Note, { id: 1 }));
    expect(note.writtenAt).toEqual(new Date("2030-01-02T03:04:05.678Z"));
    const rows = await database.prepared("outbox-all", "select payload, created_at, available_at from outbox", []);
    expect(rows).toEqual([
      {
        payload: { id: 1, quoted: 'it\'s "so" ?' },
        created_at: new Date(clock.now()),
        available_at: new Date(clock.now()),
      },
    ]);
    await expect(
      database.transaction(async (tx) => {
        tx.em.create(Note, { id: 2, text: "two", writtenAt: new Date(clock.now()) });
        await tx.em.flush();
        await tx.emit({ topic: "note.written", payload: { id: 2 } });
        tx.wake("notes");
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await database.read((em) => em.count(Note))).toBe(1);
    expect(await database.prepared("outbox-count", "select 1 from outbox", [])).toHaveLength(1);
    expect([nudges, wakes]).toEqual([1, 1]);
    for (const stop of stops) stop();
  });

  test("a violated constraint is reported by name, from entities and from plain SQL", async () => {
    const write = (id: number) =>
      database.transaction(async (tx) => {
        tx.em.create(Note, { id, text: "same", writtenAt: new Date(clock.now()) });
        await Promise.resolve();
      });
    await write(11);
    expect(violatedConstraint(await write(12).catch((error: unknown) => error))).toBe("notes_text");
    const plain = database.transaction((tx) => tx.query("insert into notes (id, text) values ($1, $2)", [13, "same"]));
    expect(violatedConstraint(await plain.catch((error: unknown) => error))).toBe("notes_text");
  });

  test("a transaction runs again after a deadlock and after a lost optimistic lock", async () => {
    await database.transaction((tx) => tx.query("insert into notes (id, text) values (21, 'a'), (22, 'b')"));
    let runs = 0;
    // Each holds its first row before either asks for its second, however slow the machine.
    let holding = 0;
    let bothHold: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (bothHold = resolve));
    const both = (first: number, second: number) =>
      database.transaction(async (tx) => {
        runs++;
        await tx.query("update notes set version = version + 1 where id = $1", [first]);
        if (++holding === 2) bothHold();
        await held;
        await tx.query("update notes set version = version + 1 where id = $1", [second]);
      });
    await Promise.all([both(21, 22), both(22, 21)]);
    // The victim runs again; on a busy machine both may be victims, of one deadlock or of two.
    expect(runs).toBeGreaterThanOrEqual(3);

    let tries = 0;
    await database.transaction(async (tx) => {
      const note = await tx.em.findOneOrFail(Note, { id: 21 });
      if (tries++ === 0) await runSql(home.url, "update notes set version = version + 1 where id = 21");
      note.text = "changed";
    });
    expect(tries).toBe(2);
  });

  test("a transaction with a failed statement is not committed, even when its work ignores the error", async () => {
    let wakes = 0;
    const stop = database.onWake("notes", () => wakes++);
    const hushed = database.transaction(async (tx) => {
      tx.wake("notes");
      await tx.query("insert into notes (id, text) values (31, 'kept?')");
      await tx.query("insert into notes (id, text) values (31, 'twice')").catch(() => undefined);
    });
    await expect(hushed).rejects.toThrow("rolled back");
    const together = database.transaction((tx) =>
      Promise.all(
        ["b", "a", "b"].map((text, i) =>
          tx.query("insert into notes (id, text) values ($1, $2)", [32 + i, `together ${text}`]),
        ),
      ),
    );
    expect(violatedConstraint(await together.catch((error: unknown) => error))).toBe("notes_text");
    expect(await database.read((em) => em.count(Note, { id: { $gt: 30 } }))).toBe(0);
    expect(wakes).toBe(0);
    stop();
  });

  test("a transaction fails as its first failed statement did, whatever later statements return", async () => {
    const write = "insert into notes (id, text) values ($1, 'first')";
    const hushed = database.transaction(async (tx) => {
      await Promise.all([tx.query(write, [51]), tx.query(write, [52]).catch(() => undefined), tx.query("select 1")]);
    });
    expect(violatedConstraint(await hushed.catch((error: unknown) => error))).toBe("notes_text");
    let runs = 0;
    const again = database.transaction(async (tx) => {
      if (++runs > 1) return;
      await tx.query("do $$ begin raise exception 'again' using errcode = '40P01'; end $$").catch(() => undefined);
      await tx.em.count(Note);
    });
    await again;
    expect(runs).toBe(2);
    await database.transaction(async (tx) => {
      if (++runs <= 3)
        await tx.query("do $$ begin raise exception 'again' using errcode = '40P01'; end $$").catch(() => undefined);
    });
    expect(runs).toBe(4);
  });

  test("a transaction whose failed statements nobody awaits ends nothing but itself", async () => {
    const unseen: unknown[] = [];
    const note = (reason: unknown): number => unseen.push(reason);
    process.on("unhandledRejection", note);
    const forgetful = database.transaction(async (tx) => {
      const late = tx.query("select 1 / 0");
      void tx.query("select no_such_column");
      await Promise.all([tx.query("select pg_sleep(0.02)")]);
      await late;
    });
    expect(((await forgetful.catch((error: unknown) => error)) as { code?: string }).code).toBe("22012");
    await new Promise((resolve) => setTimeout(resolve, 20));
    process.off("unhandledRejection", note);
    expect(unseen).toEqual([]);
  });

  test("a branch that outlives the failure of another executes no further statement", async () => {
    let branch: Promise<unknown> = Promise.resolve();
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    const broken = database.transaction(async (tx) => {
      const { em } = tx;
      branch = (async () => {
        await ended;
        em.create(Note, { id: 61, text: "half-done", writtenAt: new Date(clock.now()) });
        await em.flush();
      })().catch((error: unknown) => error);
      await Promise.all([branch, tx.query("select 1 / 0")]);
    });
    expect(((await broken.catch((error: unknown) => error)) as { code?: string }).code).toBe("22012");
    end();
    expect(String(await branch)).toContain("has ended");
    expect(await database.read((em) => em.count(Note, { id: 61 }))).toBe(0);
  });

  test("a transaction that has ended takes no statement, and its connection serves the next one", async () => {
    const kept = await database.transaction((tx) => Promise.resolve(tx));
    await expect(kept.query("select 1")).rejects.toThrow("has ended");
    expect(() => kept.em).toThrow("has ended");
    const entities = await database.transaction((tx) => Promise.resolve(tx.em));
    entities.create(Note, { id: 41, text: "late", writtenAt: new Date(clock.now()) });
    await expect(entities.flush()).rejects.toThrow("has ended");
    await expect(entities.count(Note)).rejects.toThrow("has ended");
    for (let i = 0; i < 30; i++)
      await expect(database.transaction((tx) => tx.query("select no_such_column"))).rejects.toThrow("no_such_column");
    expect(await database.transaction((tx) => tx.query("select 1 as one"))).toEqual([{ one: 1 }]);
    expect(database.pools().transactions).toMatchObject({ waiting: 0, total: database.pools().transactions.idle });
  });
});

describe("The restricted role", () => {
  const refused = async (sql: string) => {
    const error = await database.transaction((tx) => tx.query(sql)).catch((cause: unknown) => cause);
    expect((error as { code?: string }).code, sql).toBe("42501");
  };

  test("every connection works with the restricted role", async () => {
    const who = "select current_user as who";
    expect(await database.prepared("who", who, [])).toEqual([{ who: "atrium_app" }]);
    expect(await database.transaction((tx) => tx.query(who))).toEqual([{ who: "atrium_app" }]);
  });

  test("the restricted role reads and inserts into append-only tables and can do no more", async () => {
    await database.transaction((tx) => tx.query("insert into facts (text) values ('kept')"));
    await refused("update facts set text = 'changed'");
    await refused("delete from facts");
    await refused("truncate facts");
    await refused("create table mine (id int)");
    await refused("drop table notes");
    await refused("alter table facts add column more text");
    await refused("delete from schema_migrations");
  });

  test("the restricted role owns nothing", async () => {
    const owned = await runSql(home.url, "select relname from pg_class where relowner = 'atrium_app'::regrole");
    expect(owned).toEqual([]);
  });
});
