import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, member } from "../support/people.ts";

// The locale of the test server's databases is `C`, in which PostgreSQL's own `lower` folds ASCII alone.
let app: TestApp;
beforeAll(async () => void (app = await startApp()));
afterAll(() => app.close());

it.each([
  ["Résumé", "RÉSUMÉ"],
  ["СЧЁТ", "счёт"],
  ["Ἀθῆναι", "ἈΘῆ"],
  ["Αθηνας", "ΑΘΗΝΑΣ"],
])("q of a list finds the name %s by %s", async (name, q) => {
  const { token } = await founder(app);
  for (const one of [name, "Another"])
    await app.call("POST", "/api/templates", { token, body: { name: one, category: "email" } });

  const { body } = await app.call("GET", `/api/templates?q=${encodeURIComponent(q)}`, { token });
  expect(body.data).toMatchObject([{ name }]);
  expect(body.total).toBe(1);
});

it("q of the member list finds a first name in another case of a letter outside ASCII", async () => {
  const owner = await founder(app);
  const { token, email } = await member(app, owner);
  await app.call("PUT", "/api/profile", { token, body: { first_name: "Zoë" } });

  const { body } = await app.call("GET", `/api/users?q=${encodeURIComponent("ZOË")}`, { token: owner.token });
  expect(body.data).toMatchObject([{ email }]);
  expect(body.total).toBe(1);
});
