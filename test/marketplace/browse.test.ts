import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, outcome } from "../support/people.ts";
import { must, publish } from "./stage.ts";

let app: TestApp;
let admin: string;
let seller: string;
beforeAll(async () => {
  app = await startApp();
  admin = await app.login();
  seller = (await founder(app)).token;
});
afterAll(() => app.close());

const word = (): string => `q${randomBytes(5).toString("hex")}`;
const offer = (more: Record<string, unknown>) => {
  app.clock.advance(1_000);
  return publish(app, seller, more, admin);
};
const browse = async (query: Record<string, string>) =>
  must(await app.call("GET", `/api/marketplace?${new URLSearchParams(query).toString()}`, { token: seller })) as {
    apps: { app_id: string }[];
    total: number;
    page: number;
  };
const found = async (q: string): Promise<string[]> => (await browse({ q })).apps.map((one) => one.app_id);

it("every word of a search must begin a word of name, slug or description, in any case and order", async () => {
  const [a, b] = [word(), word()];
  const { appId, slug } = await offer({ name: `${a} Planner`, description: `For teams, ${b}.` });
  for (const q of [
    a,
    a.slice(0, 5),
    a.toUpperCase(),
    `${b} ${a}`,
    `pla ${a}`,
    `${a}! -- ${b}?`,
    slug,
    slug.slice(0, 10),
  ])
    expect(await found(q), q).toEqual([appId]);
  for (const q of [a.slice(1), `${a} ${word()}`, `${a}x`, "!", "&|:*()", "''"]) expect(await found(q), q).toEqual([]);
});

it.each([
  "Node.js",
  "AC/DC",
  "Version 1.5",
  "-5 Grad",
  "ops@orbit.test",
  "http://www.orbit.test/path",
  "O'Brien's",
  "foo_bar",
  "e-mail-sender",
  "C++ & C#",
  "Über Café",
  "ÉLAN".normalize("NFD"),
  "ﬁne print",
  "ИНЖЕНЕР",
  "日本語アプリ",
  "हिन्दी ऐप",
  "🚀 Rocket",
])("an app is found by its name as it is written, and by its words: %s", async (title) => {
  const a = word();
  const { appId } = await offer({ name: `${title} ${a}`, description: "" });
  for (const q of [title, title.toLowerCase(), title.toUpperCase(), title.slice(0, -1)])
    expect(await found(`${q} ${a}`), q).toEqual([appId]);
  for (const part of title.split(/[^\p{L}\p{M}\p{N}]+/u).filter(Boolean))
    expect(await found(`${a} ${part}`), part).toEqual([appId]);
  expect(await found(`${title} ${a} ${word()}`)).toEqual([]);
});

it("no search text is interpreted as syntax", async () => {
  const a = word();
  const { appId } = await offer({ name: a });
  for (const q of [`${a}:*`, `${a} & `, `'${a}'`, `(${a}`, `\\${a}`, `${a}\u0000`, `${a}%`, `<-> ${a}`]) {
    const answer = await app.call("GET", `/api/marketplace?${new URLSearchParams({ q }).toString()}`, {
      token: seller,
    });
    expect([answer.status, outcome(answer)], q).toEqual(q.includes("\0") ? [400, expect.any(String)] : [200, "200"]);
    if (answer.status === 200) expect(answer.body.apps, q).toMatchObject([{ app_id: appId }]);
  }
});

it("matches of the name rank above those of the slug and the description, then the newest first", async () => {
  const a = word();
  const inName = await offer({ name: `Orbit ${a}` });
  const inSlug = await offer({ slug: `orbit-${a}` });
  const inText = await offer({ description: `With ${a}.` });
  const newer = await offer({ description: `With ${a}.` });
  expect(await found(a)).toEqual([inName.appId, inSlug.appId, newer.appId, inText.appId]);
});

it("a catalogue of 45 has pages of 20, 20 and 5, each app on one of them, and the newest on the first", async () => {
  const a = word();
  const made: string[] = [];
  for (let nth = 0; nth < 45; nth++) made.push((await offer({ name: a })).appId);
  const pages = await Promise.all(["1", "2", "3", "4"].map((page) => browse({ q: a, page })));
  expect(pages.map(({ apps, total, page }) => [apps.length, total, page])).toEqual([
    [20, 45, 1],
    [20, 45, 2],
    [5, 45, 3],
    [0, 45, 4],
  ]);
  expect(pages.flatMap(({ apps }) => apps.map((one) => one.app_id))).toEqual(made.reverse());
  expect((await browse({})).apps[0]?.app_id).toBe(made[0]);
  for (const page of ["0", "-1", "x", "1000001"])
    expect((await app.call("GET", `/api/marketplace?page=${page}`, { token: seller })).status, page).toBe(400);
  expect((await app.call("GET", `/api/marketplace?q=${"x".repeat(201)}`, { token: seller })).status).toBe(400);
});

it("the total of the catalogue is the number of published apps under parallel changes", async () => {
  const total = async (): Promise<number> => (await browse({})).total;
  const before = await total();
  const made = await Promise.all(Array.from({ length: 12 }, () => publish(app, seller, {})));
  expect(await total()).toBe(before);
  const decide = (appId: string, what: string) =>
    app.call("POST", `/api/admin/marketplace/apps/${appId}/${what}`, { token: admin });
  await Promise.all(made.map(({ appId }, nth) => decide(appId, nth < 8 ? "approve" : "reject")));
  expect(await total()).toBe(before + 8);
  const archived = await Promise.all(
    made
      .slice(4)
      .flatMap(({ appId }) =>
        [1, 2].map(() => app.call("POST", `/api/marketplace/apps/${appId}/archive`, { token: seller, body: {} })),
      ),
  );
  expect(archived.filter(({ status }) => status === 200)).toHaveLength(8);
  expect(await total()).toBe(before + 4);
});

it("an app is found as long as it is published", async () => {
  const a = word();
  app.clock.advance(1_000);
  const { appId } = await publish(app, seller, { name: a });
  expect(await found(a)).toEqual([]);
  must(await app.call("POST", `/api/admin/marketplace/apps/${appId}/approve`, { token: admin }));
  expect(await found(a)).toEqual([appId]);
  const b = word();
  must(await app.call("PATCH", `/api/marketplace/apps/${appId}`, { token: seller, body: { name: b } }));
  expect([await found(a), await found(b)]).toEqual([[], [appId]]);
  must(await app.call("POST", `/api/marketplace/apps/${appId}/archive`, { token: seller, body: {} }));
  expect(await found(b)).toEqual([]);
});
