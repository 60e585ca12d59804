import { afterAll, expect, test } from "vitest";
import { createReader } from "../../src/domains/templates/reader.ts";

const reader = createReader();
afterAll(() => reader.close());

/** As many turns of the event loop as there are until the work is done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  let turns = 0;
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  while (!isDone) {
    await new Promise((resolve) => setImmediate(resolve));
    turns++;
  }
  await done;
  return turns;
}

test.each(["names", "html", "text"] as const)("other work goes on while a long body is read (%s)", async (as) => {
  // The helper has started, which takes turns too.
  await reader.read("names", "<p>{{x}}</p>".repeat(400), "first");
  const body = "<tr><td>{{x}}".repeat(20_000);
  expect(await turnsDuring(reader.read(as, body, "first"))).toBeGreaterThan(50);
});

test("what is read of a body does not depend on its length", async () => {
  const body = (more: string): string => `<p title='{{a}}'>&lt;{{b}}</p><a href="x?{{c}}">{{a}}</a>${more}`;
  const more = "<!-- more -->".repeat(500);
  expect(await reader.read("names", body(more), "first")).toEqual(["a", "b", "c"]);
  for (const as of ["names", "text"] as const)
    expect(await reader.read(as, body(more), "first")).toEqual(await reader.read(as, body(""), "first"));
  const [long, short] = [await reader.read("html", body(more), "first"), await reader.read("html", body(""), "first")];
  expect({ ...long, texts: long.texts.join() }).toEqual({ ...short, texts: short.texts.join() + more });
  for (const refused of [body("<p {{d}}>"), body(`${more}<p {{d}}>`)])
    await expect(reader.read("names", refused, "first")).rejects.toMatchObject({
      status: 400,
      code: "invalid_template",
      message: expect.stringContaining("{{d}} in line 1") as string,
    });
});

test("an organization of one body is served after few of those of an organization of many", async () => {
  // Its queue is not yet shortened by bodies that took long.
  const fresh = createReader();
  const order: string[] = [];
  const long = `${" ".repeat(5_000)}{{x}}`;
  const send = (orgUuid: string) => fresh.read("names", long, orgUuid).then(() => void order.push(orgUuid));
  await Promise.all([...Array.from({ length: 20 }, () => send("many")), send("one")]);
  expect(order.indexOf("one")).toBeLessThan(4);
  await fresh.close();
});
