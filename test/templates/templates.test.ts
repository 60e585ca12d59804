import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let second: TestApp;
let owner: Somebody;
let employee: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
  owner = await founder(app);
  employee = await member(app, owner);
});
afterAll(async () => {
  await second.close();
  await app.close();
});

const TEMPLATES = "/api/templates";
const make = (body: unknown, token = owner.token) => app.call("POST", TEMPLATES, { token, body });
const render = (body: unknown, token = employee.token, on = app) =>
  on.call("POST", `${TEMPLATES}/render`, { token, body });
const made = async (body: string): Promise<string> =>
  (await make({ name: "Letter", category: "email", body })).body.id as string;

describe("templates", () => {
  test("a template is created with the names of its body, read, listed, changed and deleted", async () => {
    const created = await make({
      name: "Welcome",
      category: "email",
      variables: ["first_name"],
      body: "<p>{{first_name}} {{city.name}}</p>",
    });
    expect(created).toMatchObject({
      status: 201,
      body: { name: "Welcome", category: "email", variables: ["first_name", "city.name"] },
    });
    const { id, created_at } = created.body;
    const path = `${TEMPLATES}/${id}`;
    expect((await app.call("GET", path, { token: employee.token })).body).toEqual(created.body);
    const listed = (await app.call("GET", `${TEMPLATES}?category=email&limit=1`, { token: employee.token })).body;
    expect(listed).toMatchObject({ data: [{ id, created_at }], limit: 1, offset: 0 });
    expect(listed.data[0]).not.toHaveProperty("body");
    const patched = await app.call("PATCH", path, {
      token: owner.token,
      body: { variables: [], body: "<b>{{x}}</b>" },
    });
    expect(patched).toMatchObject({ status: 200, body: { name: "Welcome", variables: ["x"], body: "<b>{{x}}</b>" } });
    expect(await app.call("DELETE", path, { token: owner.token })).toMatchObject({
      status: 200,
      body: { deleted: true },
    });
    for (const [method, body] of [["GET"], ["DELETE"], ["PATCH", { name: "x" }]] as const)
      expect(await app.call(method, path, { token: owner.token, body })).toMatchObject({
        status: 404,
        body: { code: "template_not_found" },
      });
  });

  test("members without the role admin cannot change templates, and other organizations do not see them", async () => {
    const id = await made("<p>x</p>");
    expect((await make({ name: "x", category: "cv" }, employee.token)).status).toBe(403);
    const body = { name: "y" };
    expect((await app.call("PATCH", `${TEMPLATES}/${id}`, { token: employee.token, body })).status).toBe(403);
    const stranger = await founder(app);
    expect((await render({ template_id: id }, stranger.token)).body).toMatchObject({ code: "template_not_found" });
    expect((await app.call("GET", `${TEMPLATES}/${id}`, { token: stranger.token })).status).toBe(404);
    expect((await app.call("GET", TEMPLATES, { token: stranger.token })).body).toMatchObject({ data: [], total: 0 });
  });

  test("bad names, categories, variables and bodies return 400 and store nothing", async () => {
    const valid = { name: "n", category: "email" };
    for (const [change, code] of [
      [{ category: "letter" }, "validation_error"],
      [{ name: "" }, "validation_error"],
      [{ name: "x".repeat(201) }, "validation_error"],
      [{ variables: ["a b"] }, "validation_error"],
      [{ variables: ["a", "a"] }, "validation_error"],
      [{ body: "x".repeat(262_145) }, "validation_error"],
      [{ body: "ä".repeat(131_073) }, "validation_error"],
      [{ body: "<script>{{x}}</script>" }, "invalid_template"],
      [{ body: `<p onclick="{{${"x".repeat(60)}}}">` }, "invalid_template"],
    ] as const)
      expect(await make({ ...valid, ...change })).toMatchObject({ status: 400, body: { code } });
    const id = await made("<p>{{a}}</p>");
    const path = `${TEMPLATES}/${id}`;
    for (const body of [
      { variables: ["1"] },
      { variables: [1] },
      { variables: [null] },
      { variables: Array.from({ length: 201 }, (_, nth) => `v${nth}`) },
      { body: "<style>{{a}}</style>" },
      { category: "other" },
    ])
      expect((await app.call("PATCH", path, { token: owner.token, body })).status).toBe(400);
    expect((await app.call("GET", path, { token: owner.token })).body).toMatchObject({ body: "<p>{{a}}</p>" });
    const repeated = { variables: ["a", "a"] };
    const patched = await app.call("PATCH", path, { token: owner.token, body: repeated });
    expect(patched.body.errors).toEqual((await make({ ...valid, ...repeated })).body.errors);
  });

  test("a body of a placeholder whose name is too long keeps it as text", async () => {
    const id = await made(`<p>{{${"x".repeat(65)}}}</p>`);
    expect((await render({ template_id: id })).body.html).toContain(`{{${"x".repeat(65)}}}`);
  });
});

describe("rendering", () => {
  test("given values are escaped, and win over the caller's own variable, which wins over the global one", async () => {
    const variable = (key: string, value: string, scope: string, token: string) =>
      app.call("POST", "/api/ops/custom-variables", { token, body: { key, value, scope } });
    await variable("greeting", "global", "global", owner.token);
    const id = await made("<p>{{greeting}}</p>");
    const html = async (variables?: object) =>
      (await render({ template_id: id, ...(variables && { variables }) })).body.html as string;
    expect(await html()).toBe("<p>global</p>");
    await variable("greeting", "mine", "user", employee.token);
    expect(await html()).toBe("<p>mine</p>");
    expect((await render({ template_id: id }, owner.token)).body.html).toBe("<p>global</p>");
    expect(await html({ greeting: "<b>{{greeting}}</b>" })).toBe("<p>&lt;b&gt;{{greeting}}&lt;/b&gt;</p>");
    expect(await html({ greeting: "" })).toBe("<p></p>");
  });

  test("a missing value returns 422 missing_variable naming it, also for names of Object.prototype", async () => {
    for (const name of ["nobody", "constructor", "__proto__", "toString"]) {
      const answer = await render({ template_id: await made(`<p>{{${name}}}</p>`) });
      expect(answer).toMatchObject({ status: 422, body: { code: "missing_variable" } });
      expect(answer.body.message).toContain(name);
    }
  });

  test("no value comes from variables of another organization, or of another person", async () => {
    const stranger = await founder(app);
    const add = (who: Somebody, scope: string) =>
      app.call("POST", "/api/ops/custom-variables", {
        token: who.token,
        body: { key: "elsewhere", value: "v", scope },
      });
    for (const answer of [await add(stranger, "global"), await add(stranger, "user"), await add(owner, "user")])
      expect(answer.status).toBe(201);
    const id = await made("<p>{{elsewhere}}</p>");
    expect((await render({ template_id: id })).body).toMatchObject({ status: 422, code: "missing_variable" });
    expect((await render({ template_id: id }, owner.token)).body.html).toBe("<p>v</p>");
  });

  test("a change is rendered at once on every instance", async () => {
    const id = await made("<p>one</p>");
    for (const on of [app, second])
      expect((await render({ template_id: id }, employee.token, on)).body.html).toBe("<p>one</p>");
    await app.call("PATCH", `${TEMPLATES}/${id}`, { token: owner.token, body: { body: "<p>two</p>" } });
    for (const on of [app, second])
      expect((await render({ template_id: id }, employee.token, on)).body.html).toBe("<p>two</p>");
    await app.call("DELETE", `${TEMPLATES}/${id}`, { token: owner.token });
    for (const on of [app, second]) expect((await render({ template_id: id }, employee.token, on)).status).toBe(404);
  });

  test("a template without a body lists its variables", async () => {
    const { body } = await make({ name: "Offer {{x}} <1>", category: "proposal", variables: ["price", "client"] });
    const answer = await render({ template_id: body.id, variables: { price: "9 < 10", client: "Ada" } });
    expect(answer.body.html).toContain("<dd>9 &lt; 10</dd>");
    const change = (text: string) =>
      app.call("PATCH", `${TEMPLATES}/${body.id}`, { token: owner.token, body: { body: text } });
    expect((await change("<p>{{city}}</p>")).body).toMatchObject({ variables: ["price", "client", "city"] });
    expect((await change("")).body).toEqual(body);
    expect(answer.body.html).toContain("<h1>Offer &#123;&#123;x}} &lt;1&gt;</h1>");
    expect(answer.body.message).toEqual(expect.any(String));
  });

  test("the format text has no markup, and values as they are", async () => {
    const id = await made('<h1>Dear {{name}}</h1><p>See <a href="https://a.test/{{name}}">this</a>.</p>');
    const answer = await render({ template_id: id, format: "text", variables: { name: "Ada & <Bob>" } });
    expect(answer).toMatchObject({ status: 200 });
    expect(answer.body).not.toHaveProperty("html");
    expect(answer.body.text).toContain("Dear Ada & <Bob>");
    expect(answer.body.text).toContain("https://a.test/Ada & <Bob>");
    for (const format of ["pdf", "HTML"])
      expect(await render({ template_id: id, format, variables: { name: "x" } })).toMatchObject({
        status: 400,
        body: { code: "invalid_format" },
      });
  });

  test("the format text has a line for each row of a table, and its cells apart", async () => {
    const row = (cells: string) => `<tr>${cells}</tr>`;
    const rows = `${row("<th>Item</th><th>Price</th>")}${row("<td>{{item}}</td>\n<td><b>{{price}}</b></td>")}`;
    const id = await made(`<p>Order</p><table>${rows}</table><p>Thanks</p>`);
    const { body } = await render({ template_id: id, format: "text", variables: { item: "Boat", price: "12" } });
    expect(body.text).toBe("Order\n\nItem Price\nBoat 12\n\nThanks");
  });

  test("a value is inserted once, and is no template itself, in either format", async () => {
    const id = await made('<p>{{a}}</p><a href="https://x.test/{{a}}">y</a>');
    const variables = { a: "{{b}}", b: "again" };
    for (const format of ["html", "text"]) {
      const { body } = await render({ template_id: id, format, variables });
      expect(body[format]).toContain("{{b}}");
      expect(body[format]).not.toContain("again");
    }
  });

  test("braces that are no placeholder of the body are text in either format", async () => {
    const id = await made("<p>{{na<b></b>me}} &#123;&#123;who}} {{name}}</p>");
    const variables = { name: "Ada", who: "nobody" };
    const { text } = (await render({ template_id: id, format: "text", variables })).body;
    expect(text).toBe("{{name}} {{who}} Ada");
    const plain = (await make({ name: "Hi {{who}}", category: "email" })).body.id as string;
    expect((await render({ template_id: plain, format: "text", variables: {} })).body.text).toContain("Hi {{who}}");
    expect((await render({ template_id: plain, format: "html", variables: {} })).body.html).toContain("Hi &#123;");
  });

  test("a bad change is refused as such, whether or not the template exists", async () => {
    const patch = (body: object) =>
      app.call("PATCH", `${TEMPLATES}/0b1d2a3e-aaaa-4000-8000-00000000000f`, { token: owner.token, body });
    expect(await patch({ variables: [1] })).toMatchObject({ status: 400, body: { code: "validation_error" } });
    const unsafe = { body: "<script>{{x}}</script>" };
    expect(await patch(unsafe)).toMatchObject({ status: 400, body: { code: "invalid_template" } });
    expect(await patch({ name: "x" })).toMatchObject({ status: 404, body: { code: "template_not_found" } });
  });

  test("a document over 5 MiB returns 413, however it is reached", async () => {
    const id = await made(`<p>${"{{a}}".repeat(50_000)}</p>`);
    const linked = await made(`<a href="${"{{a}}".repeat(50_000)}">x</a>`);
    for (const template_id of [id, linked])
      for (const format of ["html", "text"]) {
        if (template_id === linked && format === "text") continue;
        const body = { template_id, format, variables: { a: "x".repeat(1_000) } };
        expect(await render(body)).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
      }
    expect((await render({ template_id: id, variables: { a: "y" } })).body.html).toHaveLength(50_007);
  });

  test("more than 5 MiB of links return 413 although each is replaced, and less are replaced", async () => {
    const id = await made('<a href="{{a}}">x</a>'.repeat(100));
    const linked = (length: number) =>
      render({ template_id: id, variables: { a: `javascript:${"x".repeat(length)}` } });
    expect(await linked(60_000)).toMatchObject({ status: 413, body: { code: "payload_too_large" } });
    expect((await linked(50_000)).body.html).toBe('<a href="#">x</a>'.repeat(100));
  });
});

describe("the curriculum vitae", () => {
  const personal = { full_name: "Ada <Lovelace>", title: "Mathematician", email: "ada@people.test" };
  const generate = (body: unknown) => app.call("POST", `${TEMPLATES}/cv/generate`, { token: employee.token, body });

  test("it is a complete page with everything that was given, escaped", async () => {
    const answer = await generate({
      personal,
      experience: [{ company: "Engines & Co", role: "Programmer", start: "1842", end: "1852", description: "a\n<b>" }],
      education: [
        { institution: "Tutors", degree: "Mathematics", year: 1835 },
        { institution: "Self", degree: "Poetry", year: "1830–35" },
      ],
      skills: ["Analysis", '"><script>alert(1)</script>'],
    });
    expect(answer).toMatchObject({ status: 200, body: { message: expect.any(String) } });
    const { html } = answer.body;
    for (const text of ["Ada &lt;Lovelace&gt;", "Engines &amp; Co", "1842 – 1852", "1835", "1830–35", "a\n&lt;b&gt;"])
      expect(html).toContain(text);
    expect(html).toMatch(/^<!doctype html>/u);
    expect(html).not.toContain("<script");
  });

  test("entries and skills that say nothing leave no empty elements", async () => {
    const { html } = (
      await generate({
        personal,
        experience: [{}, { start: "1842" }],
        education: [{ year: "" }],
        skills: ["", "Logic"],
      })
    ).body;
    expect(html).not.toMatch(/<(h2|h3|p|li|ul|div)\b[^>]*>\s*<\/\1>/u);
    expect(html).toContain("1842");
    expect(html).toContain("<li>Logic</li>");
    expect(html).not.toContain("Education");
    expect((await generate({ personal, skills: [""] })).body.html).not.toContain("Skills");
  });

  test("only the name is demanded, and a bad member returns 400 naming it", async () => {
    expect((await generate({ personal: { full_name: "Ada" } })).status).toBe(200);
    for (const [body, field] of [
      [{}, "personal"],
      [{ personal: {} }, "personal.full_name"],
      [{ personal: { full_name: "Ada", email: "nobody" } }, "personal.email"],
      [{ personal, education: [{ year: true }] }, "education[0].year"],
      [{ personal, education: [{}, { year: ["x"] }] }, "education[1].year"],
      [{ personal, skills: ["x".repeat(201)] }, "skills[0]"],
    ] as const)
      expect(await generate(body)).toMatchObject({
        status: 400,
        body: { code: "validation_error", errors: [{ field }] },
      });
  });
});
