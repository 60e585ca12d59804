import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import type { Transport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CredentialsService } from "../../gen/atrium/credentials/v1/credentials_pb.ts";
import { SigningKeysService } from "../../gen/atrium/signing_keys/v1/signing_keys_pb.ts";
import { UsersService } from "../../gen/atrium/users/v1/users_pb.ts";
import { ErrorInfoSchema } from "../../gen/google/rpc/error_details_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { runSql } from "../support/postgres.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

/** Code and reason of a refused call. */
async function refusal(call: Promise<unknown>): Promise<[Code, string | undefined]> {
  const error = ConnectError.from(
    await call.then(
      () => new Error("accepted"),
      (reason: unknown) => reason,
    ),
  );
  return [error.code, error.findDetails(ErrorInfoSchema)[0]?.reason];
}

describe.each([
  ["Connect", (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC", (baseUrl: string) => createGrpcTransport({ baseUrl })],
] satisfies [string, (baseUrl: string) => Transport][])("over %s", (_name, transport) => {
  const as = () => ({ headers: { authorization: `Bearer ${owner.token}` } });

  test("only a duplicate is the gRPC code ALREADY_EXISTS", async () => {
    const [orgUuid, own, keys, credentials] = [
      owner.org,
      createClient(UsersService, transport(app.url)),
      createClient(SigningKeysService, transport(app.url)),
      createClient(CredentialsService, transport(app.url)),
    ];
    expect(await refusal(own.createOrganization({ name: app.owner.org }, as()))).toEqual([
      Code.AlreadyExists,
      "CONFLICT",
    ]);
    await keys.createSigningKey({ orgUuid, algorithm: "ed25519" }, as());
    const { data } = await keys.listSigningKeys({ orgUuid }, as());
    const keyId = data.find(({ active }) => !active)?.keyId ?? "";
    expect(await refusal(keys.sign({ orgUuid, keyId, payload: {} }, as()))).toEqual([
      Code.FailedPrecondition,
      "CONFLICT",
    ]);
    for (let made = 0; made < 5; made++) await credentials.createScimToken({ orgUuid }, as()).catch(() => undefined);
    expect(await refusal(credentials.createScimToken({ orgUuid }, as()))).toEqual([
      Code.FailedPrecondition,
      "CONFLICT",
    ]);
  });

  test("an internal error has the error code of its area", async () => {
    await runSql(app.databaseUrl, "alter table api_keys rename to api_keys_away");
    try {
      expect(
        await refusal(createClient(CredentialsService, transport(app.url)).listApiKeys({ orgUuid: owner.org }, as())),
      ).toEqual([Code.Internal, "INTERNAL_ERROR"]);
      expect(
        await app.call("GET", `/api/admin/organizations/${owner.org}/api-keys`, { token: owner.token }),
      ).toMatchObject({ status: 500, body: { code: "internal_error", type: "urn:atrium:error:internal_error" } });
    } finally {
      await runSql(app.databaseUrl, "alter table api_keys_away rename to api_keys");
    }
  });
});
