import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ScimService } from "../../gen/atrium/scim/v1/scim_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf, refusal } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
});
afterAll(() => app.close());

let made = 0;
const address = () => `hostile${++made}@scim.test`;
const create = (userName: string, more: object = {}) =>
  directory.call("POST", "/Users", { userName, emails: [{ value: address() }], ...more });

test("a userName of any script is stored as given, found without case, and unique", async () => {
  for (const userName of [
    "Žofie",
    "Иван",
    "ΣΊΣΥΦΟΣ",
    "李小龍",
    "محمد",
    "עִבְרִית",
    "ไทย",
    "😀😀",
    "İstanbul",
    "a\u0301",
    "%_\\",
    "x'; drop table scim_users; --",
  ]) {
    const answer = await create(userName);
    expect([answer.status, answer.body.userName]).toEqual([201, userName]);
    const filter = encodeURIComponent(`userName eq ${JSON.stringify(userName.toUpperCase().toLowerCase())}`);
    expect((await directory.call("GET", `/Users?filter=${filter}`)).body.totalResults, userName).toBe(1);
    expect(refusal(await create(userName))).toBe("409 uniqueness conflict");
  }
});

test("bodies that are no resources are refused with the error object of RFC 7644", async () => {
  const send = (body: string, type = "application/scim+json") =>
    app.call("POST", `${directory.base}/Users`, { token: directory.token, body, headers: { "content-type": type } });
  expect(refusal(await send("{"))).toBe("400 invalidSyntax bad_request");
  expect(refusal(await send('{"userName":"a\\u0000b"}'))).toBe("400 invalidSyntax bad_request");
  expect(refusal(await send('{"userName":"\\ud800"}'))).toBe("400 invalidSyntax bad_request");
  expect(refusal(await send('{"userName":"a","userName":"b"}'))).toBe("400 invalidSyntax bad_request");
  expect(refusal(await send('{"userName":"a@b.test","USERNAME":"b@b.test"}'))).toBe(
    "400 invalidSyntax validation_error",
  );
  expect(refusal(await send("[]"))).toMatch(/^400 inval/u);
  expect(refusal(await send("a=b", "application/x-www-form-urlencoded"))).toBe("415 unsupported_media_type");
  expect(refusal(await send(`{"a":"${"x".repeat(1_048_577)}"}`))).toBe("413 payload_too_large");
  const { headers } = await send("{");
  expect(headers.get("content-type")).toBe("application/scim+json");
});

test("values that are too long, too many or of another kind are refused, and nothing is created", async () => {
  const before = (await directory.call("GET", "/Users?count=0")).body.totalResults;
  for (const more of [
    { title: "x".repeat(1_025) },
    { emails: Array.from({ length: 101 }, () => ({ value: address() })) },
    {
      emails: [
        { value: address(), primary: true },
        { value: address(), primary: true },
      ],
    },
    { emails: "nobody" },
    { name: { givenName: ["a"] } },
    { schemas: "urn" },
    { active: "" },
    { phoneNumbers: [[{ value: "1" }]] },
  ])
    expect(refusal(await create(`hostile ${++made}`, more)), JSON.stringify(more).slice(0, 80)).toBe(
      "400 invalidValue validation_error",
    );
  expect((await directory.call("GET", "/Users?count=0")).body.totalResults).toBe(before);
});

test("an externalId is stored however its characters compress, up to 512", async () => {
  const text = Array.from({ length: 512 }, (_, nth) => String.fromCodePoint(0x4e00 + ((nth * 7_919) % 20_000))).join(
    "",
  );
  expect((await create(address(), { externalId: text })).status).toBe(201);
  expect((await directory.call("POST", "/Groups", { displayName: "long", externalId: text })).status).toBe(201);
  expect(refusal(await create(address(), { externalId: `${text}a` }))).toBe("400 invalidValue validation_error");
});

test("a refusal that quotes half a character reaches gRPC clients", async () => {
  const { createGroup } = createClient(ScimService, createGrpcTransport({ baseUrl: app.url }));
  const resource = { displayName: "x", members: [{ value: `${"a".repeat(99)}😀` }] };
  const headers = { authorization: `Bearer ${directory.token}` };
  const refused = await createGroup({ orgUuid: directory.base.split("/").at(-1) ?? "", resource }, { headers }).catch(
    (error: unknown) => error,
  );
  expect(ConnectError.from(refused)).toMatchObject({
    code: Code.InvalidArgument,
    rawMessage: expect.stringContaining("aaa\uFFFD"),
  });
});

test("a path in a Bulk request takes no longer for what it repeats", async () => {
  const cpuOf = async (path: string): Promise<number> => {
    const Operations = [{ op: "add", path, value: "x" }];
    const before = process.cpuUsage();
    const operation = { method: "PATCH", path: "/Groups/x", data: { Operations } };
    const { status } = await directory.call("POST", "/Bulk", { Operations: [operation] });
    expect(status).toBe(200);
    return process.cpuUsage(before).user / 1_000;
  };
  const length = 250_000;
  const plain = await cpuOf("x".repeat(length));
  expect(await cpuOf(":members[".repeat(length / 9))).toBeLessThan(10 * plain + 1_000);
});

test("a name in a Bulk request takes no longer for combining marks that have to be ordered", async () => {
  const userName = `a${"\u0301\u0316".repeat(60_000)}`;
  const operation = { method: "POST", path: "/Users", bulkId: "marks", data: { userName } };
  const before = process.cpuUsage();
  const { body } = await directory.call("POST", "/Bulk", { Operations: [operation] });
  expect(process.cpuUsage(before).user / 1_000).toBeLessThan(1_000);
  expect(body.Operations[0]).toMatchObject({ status: "400", response: { scimType: "invalidValue" } });
});
