import childProcess from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import os from "node:os";
import { hash as argon2Hash, argon2id } from "argon2";
import { afterAll, describe, expect, test, vi } from "vitest";
import { isCommonPassword } from "../../src/platform/crypto/common-passwords.ts";
import { checkPassword } from "../../src/platform/crypto/password-rules.ts";
import { createHashPool } from "../../src/platform/crypto/password-pool.ts";
import { createPasswordHasher } from "../../src/platform/crypto/password.ts";
import { ServiceError } from "../../src/platform/errors.ts";
import { foldName } from "../../src/platform/names.ts";

const hasher = createPasswordHasher();
afterAll(() => hasher.close());

describe("Hashing", () => {
  test("a password verifies against its own hash alone, and not for an unknown person", async () => {
    const stored = await hasher.hash("correct horse battery");
    expect(stored).toMatch(/^\$argon2id\$v=19\$m=19456,/);
    expect(await hasher.verify(stored, "correct horse battery")).toEqual({ ok: true, rehash: false });
    expect(await hasher.verify(stored, "correct horse batterz")).toEqual({ ok: false, rehash: false });
    expect(await hasher.verify(null, "correct horse battery")).toEqual({ ok: false, rehash: false });
    expect(await hasher.hash("correct horse battery")).not.toBe(stored);
  });

  test("a password is not truncated, and composed and decomposed letters are equal", async () => {
    const long = "p".repeat(200);
    const stored = await hasher.hash(`${long}é`);
    expect((await hasher.verify(stored, `${long}e\u0301`)).ok).toBe(true);
    expect((await hasher.verify(stored, `${long}e`)).ok).toBe(false);
    expect((await hasher.verify(await hasher.hash("abc\u0000def"), "abc")).ok).toBe(false);
  });

  test("a hash with weaker parameters is due for a rehash once the password is right", async () => {
    const weak = await argon2Hash("correct horse", { type: argon2id, memoryCost: 8_192, timeCost: 2, parallelism: 1 });
    expect(await hasher.verify(weak, "correct horse")).toEqual({ ok: true, rehash: true });
    expect(await hasher.verify(weak, "wrong horse")).toEqual({ ok: false, rehash: false });
    const strong = await argon2Hash("correct horse", {
      type: argon2id,
      memoryCost: 32_768,
      timeCost: 3,
      parallelism: 1,
    });
    expect(await hasher.verify(strong, "correct horse")).toEqual({ ok: true, rehash: false });
  });

  test("an unreadable stored hash is an internal error, not a wrong password", async () => {
    await expect(hasher.verify("plain", "x")).rejects.toThrow(/helper failed/);
    expect((await hasher.verify(null, "x")).ok).toBe(false);
  });

  test("hashing returns 503 with Retry-After beyond the queue and serves the rest", async () => {
    const small = createPasswordHasher({ concurrency: 1, mostWaiting: 2 });
    const results = await Promise.allSettled(Array.from({ length: 6 }, () => small.verify(null, "x")));
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
      "rejected",
    ]);
    const refused = results.find((result) => result.status === "rejected")?.reason as ServiceError;
    expect(refused).toMatchObject({ status: 503, code: "unavailable", retryAfter: 1 });
    expect((await small.verify(null, "x")).ok).toBe(false);
    await small.close();
  });

  test("a sender of one password is served after few of those of a sender of many", async () => {
    const fair = createHashPool({ concurrency: 1, queueMs: 10_000_000, niceness: 0 });
    const order: string[] = [];
    const send = (from: string): Promise<void> =>
      fair
        .run({ password: "x", cost: { memoryCost: 64, timeCost: 1, parallelism: 1 } }, from)
        .then(() => void order.push(from));
    await send("first");
    const flood = Array.from({ length: 100 }, () => send("flood"));
    const late = [send("one"), send("other"), send("one")];
    await Promise.all([...flood, ...late]);
    expect(order.slice(1, 7)).toEqual(["flood", "flood", "one", "other", "flood", "one"]);
    await fair.close();
  });

  test("a full queue evicts entries of the sender that has most of them", async () => {
    const full = createHashPool({ concurrency: 1, queueMs: 10_000_000, mostWaiting: 10, niceness: 0 });
    const send = (from: string): Promise<string> =>
      full.run({ password: "x", cost: { memoryCost: 64, timeCost: 1, parallelism: 1 } }, from).then(
        () => from,
        (error: ServiceError) => `${from} ${error.status} ${error.retryAfter === undefined ? "" : "later"}`,
      );
    const flood = Array.from({ length: 14 }, () => send("flood"));
    const others = [send("one"), send("two")];
    const answers = await Promise.all(flood);
    expect(answers.filter((answer) => answer === "flood 503 later")).toHaveLength(5);
    expect(answers.slice(0, 9)).toEqual(Array<string>(9).fill("flood"));
    expect(await Promise.all(others)).toEqual(["one", "two"]);
    await full.close();
  });

  test("the longer a hash was measured to take, the shorter is the queue", async () => {
    const pool = createHashPool({ concurrency: 1, queueMs: 10_000, niceness: 0 });
    const slow = { memoryCost: 65_536, timeCost: 4, parallelism: 1 };
    const quick = { memoryCost: 64, timeCost: 1, parallelism: 1 };
    const admitted = async (): Promise<number> => {
      const answers = await Promise.allSettled(
        Array.from({ length: 1_000 }, () => pool.run({ password: "x", cost: quick }, "")),
      );
      return answers.filter(({ status }) => status === "fulfilled").length;
    };
    for (let at = 0; at < 50; at++) await pool.run({ password: "x", cost: quick }, "");
    // The maximum of three, since a pause of a busy machine counts as time of a hash.
    const before = Math.max(await admitted(), await admitted(), await admitted());
    for (let at = 0; at < 4; at++) await pool.run({ password: "x", cost: slow }, "");
    expect(await admitted()).toBeLessThan(before);
    await pool.close();
  });

  test.each([
    [1, 1],
    [2, 1],
    [8, 7],
  ])("with %i cores %i passwords are hashed at a time, at a lower priority", async (cores, concurrency) => {
    const [onCores, started] = [vi.spyOn(os, "availableParallelism"), vi.spyOn(childProcess, "fork")];
    onCores.mockReturnValue(cores);
    syncBuiltinESMExports();
    const cost = { memoryCost: 64, timeCost: 1, parallelism: 1 };
    // Without a queue, what is accepted at once is what runs at once.
    const byDefault = createPasswordHasher({ mostWaiting: 0, cost });
    try {
      const results = await Promise.allSettled(Array.from({ length: 20 }, () => byDefault.verify(null, "x")));
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(concurrency);
      const pid = started.mock.results[0]?.value.pid as number;
      expect(os.getPriority(pid)).toBe(10);
      // On Linux each thread has a priority of its own.
      const tasks = `/proc/${pid}/task`;
      const hashing = (existsSync(tasks) ? readdirSync(tasks) : []).filter((thread) =>
        readFileSync(`${tasks}/${thread}/comm`, "utf8").startsWith("libuv-worker"),
      );
      expect(hashing.map((thread) => os.getPriority(Number(thread)))).toEqual(hashing.map(() => 10));
      if (existsSync(tasks)) expect(hashing).toHaveLength(concurrency);
    } finally {
      vi.restoreAllMocks();
      syncBuiltinESMExports();
      await byDefault.close();
    }
  });

  test("closing finishes running jobs and refuses waiting and new ones", async () => {
    const closing = createPasswordHasher({ concurrency: 1 });
    const first = closing.verify(null, "x");
    const second = closing.verify(null, "x").catch((error: unknown) => error);
    await closing.close();
    expect(await first).toEqual({ ok: false, rehash: false });
    expect(await second).toBeInstanceOf(ServiceError);
    await expect(closing.hash("x")).rejects.toMatchObject({ code: "unavailable" });
    await closing.close();
  });

  test("a helper process without jobs ends, and starts again with the next", async () => {
    const pool = createHashPool({ concurrency: 1, queueMs: 10_000, niceness: 0, idleMs: 10 });
    const job = { password: "x", cost: { memoryCost: 64, timeCost: 1, parallelism: 1 } };
    await pool.run(job, "");
    const pid = pool.helperPid();
    if (pid === undefined) throw new Error("no helper runs");
    const isAlive = (): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    await expect.poll(isAlive).toBe(false);
    expect(pool.helperPid()).toBeUndefined();
    expect(await pool.run(job, "")).toHaveProperty("digest");
    await pool.close();
  });

  test("a helper process that dies is replaced, and its jobs return 503", async () => {
    const pool = createHashPool({ concurrency: 1, queueMs: 10_000, niceness: 0 });
    const cost = { memoryCost: 1_048_576, timeCost: 4, parallelism: 1 };
    const lost = pool.run({ password: "x", cost }, "").catch((error: unknown) => error);
    const pid = pool.helperPid();
    if (pid === undefined) throw new Error("no helper runs");
    process.kill(pid, "SIGKILL");
    expect(await lost).toMatchObject({ code: "unavailable" });
    expect(await pool.run({ password: "x", cost: { ...cost, memoryCost: 64, timeCost: 1 } }, "")).toHaveProperty(
      "digest",
    );
    await pool.close();
  });
});

describe("Rules for new passwords", () => {
  const owner = { email: "Jo.Public@acme.test", orgName: "Acme Größe" };

  test.each([
    ["short", "aB3$xyz", "too_short"],
    ["seven astral code points", "🔑".repeat(7), "too_short"],
    ["far too long", "x".repeat(1_025), "too_long"],
    ["common", "password1", "too_common"],
    ["common in capitals", "PASSWORD1", "too_common"],
    ["common in full-width", "ｐａｓｓｗｏｒｄ１", "too_common"],
    ["the address", "jo.public@ACME.test", "equals_email"],
    ["the organization", " ACME GRÖSSE", "equals_organization"],
  ])("the new password %s is refused", async (_, password, code) => {
    expect(await checkPassword(password, owner)).toMatchObject({ field: "password", code });
  });

  test.each(["🔑".repeat(8), "kx8!wq2z", "a long sentence without digits", "x1".repeat(64), " leading and trailing "])(
    "the new password %s is accepted",
    async (password) => {
      expect(await checkPassword(password, owner)).toBeUndefined();
    },
  );

  test("the list of common passwords has enough entries", async () => {
    for (const password of ["12345678", "qwertyuiop", "iloveyou1", "trustno1", "baseball", "1q2w3e4r"])
      expect(await isCommonPassword(password), password).toBe(true);
    expect(await isCommonPassword("kx8!wq2z")).toBe(false);
  });
});

test("names are compared after NFKC and case folding", () => {
  for (const [a, b] of [
    ["Acme", "aCME"],
    ["ＡＣＭＥ", "acme"],
    ["STRASSE", "Straße"],
    ["ΣΊΣΥΦΟΣ", "σίσυφος"],
    ["ﬁrm", "FIRM"],
    ["e\u0301", "É"],
    [" Acme ", "Acme"],
  ] as const) {
    expect(foldName(a), a).toBe(foldName(b));
  }
  expect(foldName("Acme")).not.toBe(foldName("Acne"));
  for (const name of ["Straße", "İstanbul", "ﬁ", "ΰ"]) expect(foldName(foldName(name)), name).toBe(foldName(name));
});
