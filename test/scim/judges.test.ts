import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf } from "./support.ts";
import type { Directory } from "./support.ts";

/** A Python with the packages of `judges/requirements.txt`; `.ci/run` sets it where there is Python. */
const python = process.env["SCIM_JUDGES"];
const script = fileURLToPath(new URL("judges/judge.py", import.meta.url));

let app: TestApp;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
});
afterAll(() => app.close());

test.skipIf(python === undefined)("scim2-tester, scim-sanity and scim2-client find nothing wrong", async () => {
  const { code, output } = await new Promise<{ code: unknown; output: string }>((resolve) => {
    const options = { timeout: 600_000, maxBuffer: 1 << 24 };
    execFile(python ?? "", [script, `${app.url}${directory.base}`, directory.token], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : error.code, output: `${out}${err}` }),
    );
  });
  expect(code, output).toBe(0);
});
