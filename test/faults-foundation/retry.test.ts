import { expect, it } from "vitest";
import { errors } from "../../src/platform/errors.ts";
import { retryWhileUnavailable } from "../../src/platform/retry.ts";

it("a start continues when the database was unavailable for a moment", async () => {
  let tries = 0;
  const work = (): Promise<number> => (++tries < 3 ? Promise.reject(errors.unavailable()) : Promise.resolve(tries));
  expect(await retryWhileUnavailable(work, 5_000)).toBe(3);
});

it("a start fails when the database stays unavailable too long, and on any other error", async () => {
  await expect(retryWhileUnavailable(() => Promise.reject(errors.unavailable()), 0)).rejects.toMatchObject({
    status: 503,
  });
  let tries = 0;
  await expect(retryWhileUnavailable(() => Promise.reject(new Error(String(++tries))), 5_000)).rejects.toThrow("1");
});
