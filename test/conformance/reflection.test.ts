import { execFile } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";

/** The program `grpcurl`; `.ci/run` sets it where there is Go. */
const grpcurl = process.env["GRPCURL"];

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_REFLECTION: "1" } });
});
afterAll(() => app.close());

/** Runs a program; resolves to what it prints, or to the error. */
const run = (program: string, args: readonly string[]): Promise<string> =>
  new Promise((resolve) => {
    execFile(program, args, { maxBuffer: 1 << 24 }, (_error, out, err) => resolve(`${out}${err}`));
  });

const LOGIN = "atrium.login.v1.LoginService/Login";
const credentials = () =>
  JSON.stringify({ email: app.owner.email, password: app.owner.password, org_name: app.owner.org });

it.each(["grpc", "grpcweb", "connect"])(
  "buf curl signs in over %s, with the contract from reflection",
  async (protocol) => {
    const args = ["curl", "--protocol", protocol, "--http2-prior-knowledge", "--data", credentials()];
    const answer = await run("buf", [...args, `${app.url}/${LOGIN}`]);
    expect(JSON.parse(answer)).toMatchObject({ accessToken: expect.any(String), tokenType: "Bearer" });
  },
);

it.skipIf(grpcurl === undefined)("grpcurl lists, describes and calls, with the contract from reflection", async () => {
  const target = new URL(app.url).host;
  const lines = (await run(grpcurl ?? "", ["-plaintext", target, "list"])).trim().split("\n");
  expect(lines).toEqual(expect.arrayContaining(["atrium.login.v1.LoginService", "grpc.health.v1.Health"]));
  const described = await run(grpcurl ?? "", ["-plaintext", target, "describe", LOGIN.replace("/", ".")]);
  expect(described).toContain("rpc Login ( .atrium.login.v1.LoginRequest )");
  const answer = await run(grpcurl ?? "", ["-plaintext", "-d", credentials(), target, LOGIN]);
  const { accessToken } = JSON.parse(answer) as { accessToken: string };
  const header = `authorization: Bearer ${accessToken}`;
  const me = await run(grpcurl ?? "", ["-plaintext", "-H", header, target, "atrium.access.v1.AccessService/GetMe"]);
  expect(JSON.parse(me)).toMatchObject({ email: app.owner.email });
  const refused = await run(grpcurl ?? "", ["-plaintext", target, "atrium.access.v1.AccessService/GetMe"]);
  expect(refused).toMatch(/Code: Unauthenticated[^]*"@type": "type.googleapis.com\/google.rpc.ErrorInfo"/u);
  expect(refused).toContain('"reason": "UNAUTHORIZED"');
});
