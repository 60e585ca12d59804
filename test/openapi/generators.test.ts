import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

/** `bin` of what `test/clients/judges/package.json` lists; `.ci/run` sets it. */
const node = process.env["CLIENT_JUDGES"];
/** `bin` of a Python with the packages of `judges/requirements.txt`; `.ci/run` sets it where there is Python. */
const python = process.env["OPENAPI_JUDGES"];
const file = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const document = file("../../gen/openapi.json");

let app: TestApp;
let folder: string;
beforeAll(async () => {
  app = await startApp();
  folder = mkdtempSync(join(tmpdir(), "atrium-generators-"));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await app.close();
});

/** Runs a program in the folder; resolves to its exit code and output, colours left out. */
const run = (program: string, args: readonly string[]): Promise<{ code: unknown; output: string }> =>
  new Promise((resolve) => {
    const env = {
      ...process.env,
      NO_COLOR: "1",
      BASE_URL: app.url,
      EMAIL: app.owner.email,
      PASSWORD: app.owner.password,
      ORG_NAME: app.owner.org,
    };
    execFile(program, args, { cwd: folder, env, maxBuffer: 1 << 26 }, (error, out, err) =>
      resolve({ code: error?.code ?? (error === null ? 0 : error.signal), output: `${out}${err}` }),
    );
  });

/** What every generated client prints: the refusal of a wrong password, the caller, and the members. */
const printed = (): object => ({
  code: 0,
  output: `${["unauthorized", app.owner.email, app.owner.email].join("\n")}\n`,
});

const typescriptProgram = `
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.ts";

const { BASE_URL = "", EMAIL = "", PASSWORD = "", ORG_NAME = "" } = process.env;
const anonymous = createClient<paths>({ baseUrl: BASE_URL });
const body = { email: EMAIL, password: PASSWORD, org_name: ORG_NAME } satisfies components["schemas"]["LoginRequest"];
const refused = await anonymous.POST("/api/auth/login", { body: { ...body, password: "wrong" } });
console.log(refused.error?.code);
const { data } = await anonymous.POST("/api/auth/login", { body });
const atrium = createClient<paths>({
  baseUrl: BASE_URL,
  headers: { authorization: \`Bearer \${data?.access_token ?? ""}\` },
});
const me = await atrium.GET("/api/auth/me");
console.log(me.data?.email);
const users = await atrium.GET("/api/users", { params: { query: { status: "active", limit: 10 } } });
console.log(users.data?.data.map(({ email }) => email).join());
// @ts-expect-error The document has no such status of a member.
export const unknown: paths["/api/users"]["get"]["parameters"]["query"] = { status: "asleep" };
// @ts-expect-error The document requires a password.
export const incomplete: components["schemas"]["LoginRequest"] = { email: EMAIL };
`;

test.skipIf(node === undefined)(
  "a client made by openapi-typescript compiles, signs in and lists members",
  { timeout: 600_000 },
  async () => {
    const bin = node ?? "";
    symlinkSync(dirname(bin), join(folder, "node_modules"));
    writeFileSync(join(folder, "package.json"), '{"type":"module"}');
    const generated = await run(process.execPath, [join(bin, "openapi-typescript"), document, "-o", "schema.ts"]);
    expect(generated, generated.output).toMatchObject({ code: 0 });
    writeFileSync(join(folder, "program.ts"), typescriptProgram);
    const types = file("../../node_modules/@types");
    const compiled = await run(process.execPath, [
      ...[join(bin, "tsc"), "--strict", "--noEmit", "--target", "es2022", "--lib", "es2023,dom,dom.iterable"],
      ...["--module", "nodenext", "--allowImportingTsExtensions", "--typeRoots", types, "--types", "node"],
      "program.ts",
    ]);
    expect(compiled).toEqual({ code: 0, output: "" });
    expect(await run(process.execPath, ["program.ts"])).toEqual(printed());
  },
);

const pythonProgram = `
import os
from atrium_api import AuthenticatedClient, Client
from atrium_api.api.access import access_get_me
from atrium_api.api.login import login_login
from atrium_api.api.users import users_list_users
from atrium_api.models import LoginRequest, LoginResponse

url, email = os.environ["BASE_URL"], os.environ["EMAIL"]
password, org_name = os.environ["PASSWORD"], os.environ["ORG_NAME"]
anonymous = Client(base_url=url, raise_on_unexpected_status=True)
refused = login_login.sync(client=anonymous, body=LoginRequest(email=email, password="wrong", org_name=org_name))
print(refused.code)
login = login_login.sync(client=anonymous, body=LoginRequest(email=email, password=password, org_name=org_name))
assert isinstance(login, LoginResponse)
atrium = AuthenticatedClient(base_url=url, token=login.access_token, raise_on_unexpected_status=True)
print(access_get_me.sync(client=atrium).email)
print(",".join(user.email for user in users_list_users.sync(client=atrium, limit=10).data))
`;

test.skipIf(python === undefined)(
  "a client made by openapi-python-client has every operation, compiles, signs in and lists members",
  { timeout: 600_000 },
  async () => {
    const bin = python ?? "";
    const [config, target] = [file("judges/python-client.yaml"), join(folder, "atrium_api")];
    const generated = await run(join(bin, "openapi-python-client"), [
      ...["generate", "--path", document, "--config", config, "--meta", "none", "--output-path", target],
      "--fail-on-warning",
    ]);
    expect(generated, generated.output).toMatchObject({ code: 0 });
    expect(await run(join(bin, "python"), ["-m", "compileall", "-q", target])).toEqual({ code: 0, output: "" });
    writeFileSync(join(folder, "program.py"), pythonProgram);
    expect(await run(join(bin, "python"), ["program.py"])).toEqual(printed());
  },
);
