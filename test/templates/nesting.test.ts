import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
});
afterAll(() => app.close());

const nested = (tag: string, levels: number): string => `${`<${tag}>`.repeat(levels)}{{x}}`;
const create = (body: string) =>
  app.call("POST", "/api/templates", { token: owner.token, body: { name: "Deep", category: "report", body } });
const render = (id: string, format: string) =>
  app.call("POST", "/api/templates/render", {
    token: owner.token,
    body: { template_id: id, format, variables: { x: "here" } },
  });

test.each([
  ["div", 501],
  ["div", 20_000],
  ["span", 5_000],
  // An HTML parser of browsers would have one of them.
  ["body", 20_000],
])("a body with many levels of <%s> (%i) is refused", async (tag, levels) => {
  const refused = await create(nested(tag, levels));
  expect(outcome(refused)).toBe("400 invalid_template");
  expect(refused.body.message).toContain("500 levels");
  const { id } = (await create("<p>{{x}}</p>")).body as { id: string };
  const path = `/api/templates/${id}`;
  const changed = await app.call("PATCH", path, { token: owner.token, body: { body: nested(tag, levels) } });
  expect(outcome(changed)).toBe("400 invalid_template");
});

/** A body whose `count` unclosed elements an HTML parser opens again in each of 400 paragraphs. */
const repeated = (count: number): string => {
  const unclosed = Array.from({ length: count }, (_, nth) => `<b id="${nth}">`).join("");
  return `<p>${unclosed}${"<p>{{x}}</p>".repeat(400)}`;
};

test("a body whose unclosed elements are repeated more than 100,000 times is refused", async () => {
  const refused = await create(repeated(251));
  expect(outcome(refused)).toBe("400 invalid_template");
  expect(refused.body.message).toContain("100,000 elements");
  const { status, body } = await create(repeated(5));
  expect(status).toBe(201);
  expect((await render(body.id as string, "html")).body.html.split("here")).toHaveLength(401);
});

test.each(["blockquote", "ul", "ol"])("more than 50 levels of <%s> are refused, 50 are rendered", async (tag) => {
  const refused = await create(nested(tag, 51));
  expect(outcome(refused)).toBe("400 invalid_template");
  expect(refused.body.message).toContain("50 levels of lists and quotes");
  const { status, body } = await create(nested(`${tag}><li`, 50));
  expect(status).toBe(201);
  expect((await render(body.id as string, "text")).body.text).toContain("here");
});

test("500 levels, and many elements beside each other, are rendered as text", async () => {
  for (const body of [nested("div", 500), `${"<p>a</p>".repeat(5_000)}{{x}}`]) {
    const { status, body: made } = await create(body);
    expect(status).toBe(201);
    const { status: rendered, body: document } = await render(made.id as string, "text");
    expect(rendered).toBe(200);
    expect(document.text).toContain("here");
  }
});

test("a deep template that was stored before is refused as text, and is still rendered as HTML and renamed", async () => {
  const { id } = (await create("<p>{{x}}</p>")).body as { id: string };
  await runSql(app.databaseUrl, "update templates set body = $2, revision = revision + 1 where id = $1", [
    id,
    nested("div", 20_000),
  ]);
  expect(outcome(await render(id, "text"))).toBe("400 invalid_template");
  expect((await render(id, "html")).status).toBe(200);
  const renamed = await app.call("PATCH", `/api/templates/${id}`, { token: owner.token, body: { name: "Old" } });
  expect(renamed.status).toBe(200);
});
