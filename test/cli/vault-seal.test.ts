import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { MASTER_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { runCommand } from "./run-command.ts";
import type { Ran } from "./run-command.ts";

const folder = mkdtempSync(join(tmpdir(), "atrium-seal-"));
const masterKey = MASTER_KEY.toString("base64");

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "on" } });
  writeFileSync(join(folder, "token"), `${await app.login()}\n`);
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

// The path of the token is relative: it starts in the working directory.
const vault = (action: string, input = "", url = app.url): Promise<Ran> =>
  runCommand(["vault", action, "--url", url, "--token-file", "token"], {}, input, folder);

it("an operator seals the vault, and unseals it with three shares or with the key", async () => {
  expect(await vault("status")).toMatchObject({ code: 0, out: "The vault is unsealed.\n" });
  expect(await vault("seal")).toMatchObject({ code: 0, out: "The vault is sealed on every instance.\n" });
  expect(await vault("status")).toMatchObject({
    code: 1,
    out: expect.stringContaining("0 of 3 needed shares entered"),
  });
  const { out } = await runCommand(["vault", "split"], { SERVICE_MASTER_KEY: masterKey });
  const [first = "", second = "", third = ""] = out.split("\n");
  expect((await vault("unseal", `${first}\n`)).out).toContain("1 of 3 needed shares entered (of 5 in all)");
  expect((await vault("unseal", first)).out).toContain("1 of 3 needed shares entered");
  expect((await vault("unseal", second)).out).toContain("2 of 3 needed shares entered");
  expect(await vault("unseal", third)).toMatchObject({ code: 0, out: "The vault is unsealed.\n", err: "" });
  for (const key of [masterKey, MASTER_KEY.toString("base64url")]) {
    await vault("seal");
    expect(await vault("unseal", key)).toMatchObject({ code: 0, out: "The vault is unsealed.\n" });
  }
});

it("what cannot be done is one line on standard error and exit code 2", async () => {
  await vault("seal");
  const wrong = await vault("unseal", Buffer.alloc(32, 1).toString("base64"));
  expect(wrong).toMatchObject({ code: 2, out: "", err: expect.stringContaining("unseal_failed") });
  for (const input of ["", "no key", `${masterKey}\n${masterKey}`]) {
    const { code, err } = await vault("unseal", input);
    expect(err).toMatch(/^atrium: Standard input must be one master key/u);
    expect(err).not.toContain(masterKey);
    expect(code).toBe(2);
  }
  expect((await vault("unseal", masterKey)).code).toBe(0);
  expect((await vault("status", "", "http://127.0.0.1:1")).err).toMatch(/^atrium: The service cannot be called: /u);
  expect((await vault("status", "", "here")).err).toMatch(/^atrium: --url must be the URL of the service/u);
  writeFileSync(join(folder, "token"), (await founder(app)).token);
  expect(await vault("seal")).toMatchObject({ code: 2, err: expect.stringContaining("(forbidden)") });
  rmSync(join(folder, "token"));
  expect((await vault("seal")).err).toBe("atrium: The file token does not exist.\n");
});
