import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "0" } });
});
afterAll(() => app.close());

const bodies = [
  { name: "Closed", email: "c@closed.test", password: "a long enough one", first_name: "Ann" },
  {},
  { name: 7 },
  "{",
  "",
];

it.each(["/api/organizations", "/atrium.users.v1.UsersService/CreateOrganization"])(
  "while sign-up is closed, a refused request to %s is not validated",
  async (path) => {
    for (const body of bodies) {
      const { status, body: answer } = await app.call("POST", path, { body });
      expect([status, answer.code], JSON.stringify(body)).toEqual([
        403,
        path.startsWith("/api") ? "forbidden" : "permission_denied",
      ]);
    }
    expect(outcome(await app.call("POST", "/api/organizations", { token: "ended", body: {} }))).toBe(
      "401 unauthorized",
    );
    const token = await app.login();
    expect(outcome(await app.call("POST", "/api/organizations", { token, body: {} }))).toBe("400 validation_error");
    expect((await app.call("POST", "/api/organizations", { token, body: { name: `Own ${path}` } })).status).toBe(201);
  },
);
