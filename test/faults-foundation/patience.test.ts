import { expect, it } from "vitest";
import { errors } from "../../src/platform/errors.ts";
import { whileUnavailable } from "../../src/platform/patience.ts";

it("a start goes on when the database was away for a moment", async () => {
  let tries = 0;
  const work = (): Promise<number> => (++tries < 3 ? Promise.reject(errors.unavailable()) : Promise.resolve(tries));
  expect(await whileUnavailable(work, 5_000)).toBe(3);
});

it("a start does not go on when it took too long, or when it is another fault", async () => {
  await expect(whileUnavailable(() => Promise.reject(errors.unavailable()), 0)).rejects.toMatchObject({ status: 503 });
  let tries = 0;
  await expect(whileUnavailable(() => Promise.reject(new Error(String(++tries))), 5_000)).rejects.toThrow("1");
});
