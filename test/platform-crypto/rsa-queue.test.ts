import { expect, test } from "vitest";
import { generateRsaInTurn } from "../../src/platform/crypto/rsa-queue.ts";

test("RSA keys are generated one at a time and in order, also after a failure", async () => {
  const steps: string[] = [];
  const generate = (name: string) => async () => {
    steps.push(`${name} begins`);
    await new Promise((resolve) => setTimeout(resolve, 5));
    steps.push(`${name} ends`);
    if (name === "a") throw new Error("no key");
    return name;
  };
  const results = await Promise.allSettled(["a", "b", "c"].map((name) => generateRsaInTurn(generate(name))));
  expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled", "fulfilled"]);
  expect(steps).toEqual(["a", "b", "c"].flatMap((name) => [`${name} begins`, `${name} ends`]));
});
