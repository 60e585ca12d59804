import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, expect, it } from "vitest";
import { routeTable } from "../shape/contract-routes.ts";
import type { TestApp } from "../support/app.ts";
import { syntaxOf } from "./paths.ts";
import { guardedRoutes } from "./rules.ts";
import type { Guarded } from "./rules.ts";
import { forAll } from "./send.ts";
import { startMatrixApp } from "./world.ts";

let app: TestApp;
let token: string;
beforeAll(async () => {
  app = await startMatrixApp();
  token = await app.login();
});
afterAll(() => app.close());

interface Seen {
  status: number;
  allow: string[];
  location: string | undefined;
  body: { code?: string; message?: string; errors?: { field: string }[] };
}

/** Sends the path without normalization. */
function send(method: string, path: string, bearer?: string): Promise<Seen> {
  const { hostname, port } = new URL(app.url);
  const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  return new Promise((resolve, reject) => {
    const sent = httpRequest({ hostname, port, method, path, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (part: string) => (text += part));
      response.on("end", () => {
        const { allow = "", location } = response.headers;
        const body = (text.startsWith("{") ? JSON.parse(text) : {}) as Seen["body"];
        resolve({ status: response.statusCode ?? 0, allow: allow.split(", ").sort(), location, body });
      });
    });
    sent.on("error", reject).end();
  });
}

const NOTHING = "0b1d2a3e-aaaa-4000-8000-00000000000f";
const filled = (path: string): string => path.replaceAll(/\{[^}]*\}/gu, NOTHING);
/** Each path of the table once, filled; a path that is another's with a value for its parameter is that one's too. */
const paths = [...new Set(routeTable().map(({ path }) => filled(path)))];
const templates = routeTable().map(({ method, path }) => ({
  method,
  form: new RegExp(`^${path.replaceAll(".", String.raw`\.`).replaceAll(/\{[^}]*\}/gu, "[^/]+")}$`, "u"),
}));

/** The methods of a path, by the table. */
function methodsOf(path: string): string[] {
  const bound = new Set(templates.filter(({ form }) => form.test(path)).map(({ method }) => method));
  return [...bound, ...(bound.has("GET") ? ["HEAD"] : []), "OPTIONS"].sort();
}

it("every other method of every path is 405 with exactly the methods of the table in Allow", async () => {
  const faults = await forAll(paths, async (path) => {
    const methods = methodsOf(path);
    const others = ["GET", "POST", "PUT", "PATCH", "DELETE", "TRACE"].filter((one) => !methods.includes(one));
    const seen = await Promise.all(others.map(async (method) => ({ method, ...(await send(method, path)) })));
    return seen
      .filter(({ status, body, allow }) => status !== 405 || body.code === undefined || allow.join() !== methods.join())
      .map(({ method, status, allow }) => `${method} ${path}: ${status} ${allow.join()} instead of ${methods.join()}`);
  });
  expect(faults.flat()).toEqual([]);
});

it("no path of the table has another spelling, whoever asks", async () => {
  const faults = await forAll(paths, async (path) => {
    const spellings = [
      `${path}/`,
      `/${path}`,
      path.replace(/\/(?=[^/]*$)/u, "//"),
      path.replace(/[a-z]/u, (letter) => letter.toUpperCase()),
      `${path};x=1`,
      `/.${path}`,
    ];
    const wrong: string[] = [];
    for (const spelling of spellings.filter((one) => methodsOf(one).join() === "OPTIONS")) {
      for (const bearer of [undefined, token]) {
        const { status, location, body } = await send("GET", spelling, bearer);
        const said = `${status} ${body.code} ${body.message}`;
        if (said !== "404 not_found no such route" && !spelling.startsWith("/scim/"))
          wrong.push(`${spelling}: ${said}`);
        if (status !== 404 || location !== undefined) wrong.push(`${spelling}: ${status}, to ${location}`);
      }
    }
    return wrong;
  });
  expect(faults.flat()).toEqual([]);
});

/** Values that no number, name or slug of a path has. */
const malformed: Readonly<Record<string, readonly string[]>> = {
  number: ["x", "-1", "1.5", "1e3", "4294967296", "0x1", "%201"],
  text: ["a%20b", "a%2Fb", "x".repeat(300), "%C3%BC"],
};

it("a malformed number, name or slug in a path is a validation_error, before the power and the object", async () => {
  const tried = guardedRoutes().flatMap((guarded: Guarded) =>
    [...guarded.route.path.matchAll(/\{(\w+)\}/gu)]
      .map(([, name = ""]) => ({ guarded, name, syntax: syntaxOf(guarded.binding.rpc, name) }))
      // The thumbprint of a key has no form, an id of SCIM neither.
      .filter(({ name, syntax }) => syntax !== "uuid" && name !== "key_id" && !guarded.words.has("scim")),
  );
  expect(tried.length).toBeGreaterThan(15);
  const faults = await forAll(tried, async ({ guarded: { route }, name, syntax }) => {
    const wrong: string[] = [];
    for (const value of malformed[syntax] ?? []) {
      const path = filled(route.path.replace(`{${name}}`, value));
      const [anonymous, known] = [await send(route.method, path), await send(route.method, path, token)];
      const said = `${anonymous.status} and ${known.status} ${known.body.code}`;
      if (said !== "401 and 400 validation_error") wrong.push(`${route.method} ${path}: ${said}`);
    }
    return wrong;
  });
  expect(faults.flat()).toEqual([]);
});
