import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../shape/sources.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { installPacked } from "./packed.ts";
import type { Installed } from "./packed.ts";

const run = promisify(execFile);
/** `.bin` with what `judges/package.json` lists; `.ci/run` sets it. */
const judges = process.env["CLIENT_JUDGES"];

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

/** An application that has Connect of its own, with transports, interceptors and a server. */
const withOwnConnect = `
import { AtriumError, create, createAtrium, isAtriumError, timestampDate } from "@atrium/client";
import { createGrpcTransport } from "@atrium/client/node";
import { ListUsersRequestSchema } from "@atrium/client/users";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport as createOwnTransport } from "@connectrpc/connect-node";

const baseUrl = process.env["URL"] ?? "";
const password = process.env["PASSWORD"] ?? "";
const names: string[] = [];
const log: Interceptor = (next) => (request) => {
  names.push(request.method.name);
  return next(request);
};
const transports = [
  undefined,
  createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors: [log] }),
  createOwnTransport({ baseUrl, interceptors: [log] }),
  createGrpcTransport({ baseUrl, interceptors: [log] }),
  createGrpcTransport({ baseUrl }),
];
for (const transport of transports) {
  const atrium = createAtrium({ baseUrl, ...(transport !== undefined && { transport }) });
  try {
    await atrium.access.getMe({});
  } catch (error) {
    const connectCode: Code | undefined = error instanceof ConnectError ? error.code : undefined;
    const code: Code | undefined = error instanceof AtriumError ? error.code : undefined;
    console.log(connectCode === Code.Unauthenticated && code === connectCode, isAtriumError(error, "unauthorized"));
  }
  const login = await atrium.login.login({ email: "owner@acme.test", password, orgName: "Acme" });
  const request = create(ListUsersRequestSchema, { limit: 1 });
  const { data } = await atrium.users.listUsers(request, { headers: { authorization: "Bearer " + login.accessToken } });
  for (const { email, createdAt } of data) console.log(email, createdAt && timestampDate(createdAt).getTime() > 0);
}
console.log(names.length);
// @ts-expect-error -- This is no transport.
const wrong = () => createAtrium({ baseUrl, transport: { unary: 1, stream: 2 } });
process.exit(wrong.length);
`;

/** One that also shares protobuf with the client: messages, descriptors, and the guard of a server. */
const withOwnMessages = `
import { createAtrium } from "@atrium/client";
import { ListUsersResponseSchema, UserSchema, UsersService } from "@atrium/client/users";
import { callerKey, createVerifier, guard } from "@atrium/client/verify";
import { create, fromBinary, fromJson, toBinary, toJson } from "@bufbuild/protobuf";
import { timestampDate, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, createRouterTransport } from "@connectrpc/connect";
import type { Interceptor } from "@connectrpc/connect";

const baseUrl = process.env["URL"] ?? "";
const user = create(UserSchema, { email: "a@b.test", createdAt: timestampFromDate(new Date(1e12)) });
const again = fromBinary(UserSchema, toBinary(UserSchema, fromJson(UserSchema, toJson(UserSchema, user))));
const email: string = again.email;
console.log(email, again.createdAt && timestampDate(again.createdAt).getTime());

const transport = createRouterTransport(({ service }) => {
  service(UsersService, { listUsers: () => create(ListUsersResponseSchema, { data: [user], total: 1 }) });
});
const atrium = createAtrium({ baseUrl, transport });
const page = await createClient(UsersService, atrium.transport).listUsers({});
console.log((await atrium.users.listUsers({})).total, page.total);

const interceptor: Interceptor = guard(createVerifier({ issuer: baseUrl })).connect;
const guarded = createRouterTransport(
  ({ service }) => {
    service(UsersService, {
      listUsers: (_, { values }) => ({ total: values.get(callerKey) === undefined ? 0 : 1 }),
    });
  },
  { router: { interceptors: [interceptor] } },
);
try {
  await createClient(UsersService, guarded).listUsers({});
} catch (error) {
  console.log(error instanceof ConnectError && error.code === Code.Unauthenticated);
}
`;

/** TypeScript as applications may have it, with the ways in which they look modules up. */
const compilers = [
  [path.join(root, "node_modules/typescript/bin/tsc"), "--module", "node16"],
  [path.join(judges ?? "", "tsc"), "--module", "esnext", "--moduleResolution", "bundler"],
] as const;
const strict = ["--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "false", "--target", "es2022"];

/** What the compilers say of the programs. */
async function complaintsOf(folder: string, files: readonly string[]): Promise<string[]> {
  const complaints: string[] = [];
  for (const compiler of compilers) {
    const args = [...compiler, ...strict, "--types", "node", ...files];
    const { stdout } = await run(process.execPath, args, { cwd: folder }).catch(
      (error: unknown) => error as { stdout: string },
    );
    if (stdout !== "") complaints.push(stdout);
  }
  return complaints;
}

// They ask the registry, as `npm ci` of the judges does.
it.skipIf(judges === undefined).each([
  { connect: "2.2.0", protobuf: "2.17.0", shared: true },
  { connect: "2.0.0", protobuf: "2.5.0", shared: true },
  // Two copies of protobuf are installed then: the application uses those functions that the client exports.
  { connect: "2.0.0", protobuf: "2.2.0", shared: false },
])("the client works beside Connect $connect and protobuf $protobuf", async ({ connect, protobuf, shared }) => {
  const folder = mkdtempSync(path.join(tmpdir(), "atrium-versions-"));
  writeFileSync(path.join(folder, "package.json"), '{"private":true,"type":"module"}');
  const packages = [
    installed.tarball,
    `@bufbuild/protobuf@${protobuf}`,
    `@connectrpc/connect@${connect}`,
    `@connectrpc/connect-node@${connect}`,
  ];
  await run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", ...packages], { cwd: folder });
  symlinkSync(path.join(root, "node_modules/@types"), path.join(folder, "node_modules/@types"));

  const programs = { "connect.ts": withOwnConnect, ...(shared && { "messages.ts": withOwnMessages }) };
  for (const [name, program] of Object.entries(programs)) writeFileSync(path.join(folder, name), program);
  expect(await complaintsOf(folder, Object.keys(programs))).toEqual([]);

  const env = { URL: app.url, PASSWORD: app.owner.password };
  const output = async (name: string): Promise<string> =>
    (await run(process.execPath, [name], { cwd: folder, env })).stdout;
  expect(await output("connect.js")).toBe(`${"true true\nowner@acme.test true\n".repeat(5)}9\n`);
  if (shared) expect(await output("messages.js")).toBe("a@b.test 1000000000000\n1 1\ntrue\n");
  rmSync(folder, { recursive: true });
});
