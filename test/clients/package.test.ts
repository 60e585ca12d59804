import { execFile, execFileSync } from "node:child_process";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../shape/sources.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { bundleOf, everyAreaBundle, signInBundle } from "./bundles.ts";
import { installPacked } from "./packed.ts";
import type { Installed } from "./packed.ts";

const run = promisify(execFile);
/** `.bin` with what `judges/package.json` lists; `.ci/run` sets it. */
const judges = process.env["CLIENT_JUDGES"];
/** "Under 3 MB unpacked", as npm counts: the sum of all files. */
const MAX_INSTALLED_BYTES = 3_000_000;

const sizeOf = (folder: string): number =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => statSync(path.join(folder, name)))
    .reduce((sum, file) => sum + (file.isFile() ? file.size : 0), 0);

const bin = (name: string): string => path.join(root, "node_modules/.bin", name);

let app: TestApp;
let installed: Installed;
beforeAll(async () => {
  app = await startApp();
  installed = installPacked();
});
afterAll(async () => {
  installed.remove();
  await app.close();
});

const credentials = (): string => {
  const { email, password, org } = app.owner;
  return JSON.stringify({ email, password, orgName: org });
};

/** Signs in, lists the members and verifies a token: run by each runtime. */
const program = (): string => `
import { createAtrium, paginate, session } from "@atrium/client";
import { createVerifier } from "@atrium/client/verify";
import { verifyWebhook } from "@atrium/client/webhooks";
import { createPublisher } from "@atrium/client/publisher";
const credential = session();
const atrium = createAtrium({ baseUrl: ${JSON.stringify(app.url)}, credential });
const login = await atrium.login.login(${credentials()});
await credential.signIn(login);
const [member] = await paginate(atrium.users.listUsers, {}).toArray();
const verifier = createVerifier({
  issuer: "http://atrium.test",
  baseUrl: ${JSON.stringify(app.url)},
  introspect: true,
});
const caller = await verifier.verify(login.accessToken);
console.log(member.email, caller.orgName, typeof verifyWebhook, typeof createPublisher);
`;
const output = (): string => `${app.owner.email} Acme function function\n`;

describe("the packed client", () => {
  const others = [20, 22].map((version) => path.join(judges ?? "", `../node${version}/bin/node`));
  const nodes = [process.execPath, "/usr/bin/node", "/usr/local/bin/node", ...others].filter(existsSync);
  it.each([...new Set(nodes)])("the packed client signs in and lists members on %s", async (node) => {
    const file = path.join(installed.folder, "program.mjs");
    writeFileSync(file, program());
    expect((await run(node, [file])).stdout).toBe(output());
  });

  it.skipIf(judges === undefined)("the judges have Node 20 and 22", () => {
    expect(others.filter((node) => !existsSync(node))).toEqual([]);
  });

  // It asks the registry, as `npm ci` of the judges does.
  it.skipIf(judges === undefined)("npm installs the tarball in an empty project, where it signs in", async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "atrium-empty-"));
    writeFileSync(path.join(folder, "package.json"), '{"private":true,"type":"module"}');
    await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", installed.tarball], { cwd: folder });
    const { stdout } = await run("npm", ["ls", "--all", "--parseable"], { cwd: folder });
    const packages = stdout.trim().split("\n").slice(1);
    expect(packages.map((file) => file.slice(folder.length + "/node_modules/".length)).sort()).toEqual([
      "@atrium/client",
      "@bufbuild/protobuf",
    ]);
    expect(sizeOf(path.join(folder, "node_modules"))).toBeLessThan(MAX_INSTALLED_BYTES);
    writeFileSync(path.join(folder, "program.js"), program());
    expect((await run(process.execPath, ["program.js"], { cwd: folder })).stdout).toBe(output());
    rmSync(folder, { recursive: true });
  });

  it("the client and what it depends on take less than 3 MB", () => {
    const names = ["@atrium/client", "@bufbuild/protobuf"];
    const sizes = names.map((name) => sizeOf(realpathSync(path.join(installed.folder, "node_modules", name))));
    console.log(`unpacked: ${names.map((name, index) => `${name} ${sizes[index] ?? 0}`).join(", ")} bytes`);
    expect(sizes.reduce((sum, size) => sum + size)).toBeLessThan(MAX_INSTALLED_BYTES);
  });

  it("the package names the licences of the code that it has from others", () => {
    const notices = readFileSync(path.join(installed.folder, "node_modules/@atrium/client/THIRD-PARTY-NOTICES.txt"));
    const named = [...notices.toString().matchAll(/^(\S+) \S+ \(([\w.-]+)\)/gmu)].map(([, name, license]) => [
      name,
      license,
    ]);
    expect(named.sort()).toEqual([
      ["@connectrpc/connect", "Apache-2.0"],
      ["@connectrpc/connect-web", "Apache-2.0"],
      ["@stablelib/base64", "MIT"],
      ["fast-sha256", "Unlicense"],
      ["jose", "MIT"],
      ["standardwebhooks", "MIT"],
    ]);
  });

  it.skipIf(judges === undefined)("the packed client signs in and lists members on Bun", async () => {
    const file = path.join(installed.folder, "bun.mjs");
    writeFileSync(file, `${program()}\nif (process.versions.bun === undefined) throw new Error("not Bun");`);
    expect((await run(path.join(judges ?? "", "bun"), [file])).stdout).toBe(output());
  });

  it("the packed client runs on an edge runtime, with fetch and WebCrypto alone", async () => {
    const { text } = await bundleOf(
      installed.folder,
      "edge.js",
      program()
        .replace("console.log(", "globalThis.done = [")
        .replace("typeof createPublisher);", "typeof createPublisher].join(' ');"),
    );
    const { EdgeRuntime } = await import("edge-runtime");
    const runtime = new EdgeRuntime();
    await runtime.evaluate(`(async () => { ${text} })()`);
    expect(`${String(runtime.context.done)}\n`).toBe(output());
  });

  it("a browser's bundle has at most 45 KB to sign in, and 95 KB with every area, without Node", async () => {
    const signIn = await signInBundle(installed.folder);
    const everyArea = await everyAreaBundle(installed.folder);
    const helpers = ["verify", "webhooks", "publisher"].map((entry) => `export * from "@atrium/client/${entry}";`);
    const all = await bundleOf(installed.folder, "all.js", helpers.join(""));
    console.log(`gzip: sign-in ${signIn.gzipBytes}, every area ${everyArea.gzipBytes} bytes`);
    expect(signIn.gzipBytes).toBeLessThanOrEqual(45 * 1_024);
    expect(everyArea.gzipBytes).toBeLessThanOrEqual(95 * 1_024);
    for (const { text } of [signIn, everyArea, all]) expect(text).not.toMatch(/["']node:/u);
  });

  it("publint and attw find nothing wrong with the package", () => {
    const print = (program: string, ...args: string[]): string =>
      execFileSync(bin(program), args, { cwd: installed.folder, encoding: "utf8" });
    expect(print("publint", installed.tarball, "--strict")).toContain("All good");
    print("attw", installed.tarball, "--profile", "esm-only");
  });
});
