import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
beforeEach(async () => {
  ({ token } = await founder(app));
});
afterAll(() => app.close());

const call = async (method: string, path: string, body?: object) => {
  const answer = await app.call(method, path, { token, ...(body && { body }) });
  expect(answer.status, answer.text).toBeLessThan(300);
  return answer.body;
};

test("templates are listed newest first, each with its members but the body, and by category", async () => {
  const made: Record<string, unknown>[] = [];
  for (const category of ["email", "cv", "proposal", "report"]) {
    const template = { name: `A ${category}`, category, variables: ["city"], body: `<p>{{${category}}}</p>` };
    const { id, ...rest } = await call("POST", "/api/templates", template);
    expect(rest).toEqual({
      ...template,
      variables: ["city", category],
      created_at: new Date(app.clock.now()).toISOString(),
    });
    const { body: _, ...shown } = rest;
    made.unshift({ id, ...shown });
    app.clock.advance(1_000);
  }
  expect(await call("GET", "/api/templates")).toEqual({ data: made, total: 4, limit: 50, offset: 0 });
  for (const one of made)
    expect((await call("GET", `/api/templates?category=${one["category"] as string}`)).data).toEqual([one]);
});

test("a PATCH of a template changes the members it has and no other", async () => {
  const body = "<p>{{city}} {{name}}</p>";
  const made = await call("POST", "/api/templates", { name: "Letter", category: "email", variables: ["city"], body });
  const path = `/api/templates/${made.id as string}`;
  let present = made;
  for (const [change, more] of [
    [{ name: "Offer" }, {}],
    [{ category: "proposal" }, {}],
    [{ variables: ["sum"] }, { variables: ["sum", "city", "name"] }],
    [{ body: "<p>{{date}}</p>" }, { variables: ["sum", "date"] }],
    [{ variables: [] }, { variables: ["date"] }],
    [{}, {}],
  ] as const) {
    present = { ...present, ...change, ...more };
    expect(await call("PATCH", path, change)).toEqual(present);
    expect(await call("GET", path)).toEqual(present);
  }
});

test("a template without a body lists its variables and their values in the format text too", async () => {
  const wish = { name: "Offer", category: "report", variables: ["price", "client"] };
  const { id } = await call("POST", "/api/templates", wish);
  const variables = { price: "9 < 10", client: "Ada" };
  const { text } = await call("POST", "/api/templates/render", { template_id: id, format: "text", variables });
  expect((text as string).split(/\s+/u).join(" ")).toBe("Offer price 9 < 10 client Ada");
});
