import { createServer as createHttp2 } from "node:http2";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bearer, createAtrium } from "../../src/clients/typescript/index.ts";
import { languages } from "./driver.ts";
import type { Driver } from "./driver.ts";

const HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/";
/** What comes before the connection ends; a stream has begun with one message of no bytes. */
const ANSWERS: readonly (readonly [string, string])[] = [
  ["before an answer", ""],
  ["within an answer", `${HEAD}proto\r\ncontent-length: 100\r\n\r\n12345`],
  ["within a chunked answer", `${HEAD}proto\r\ntransfer-encoding: chunked\r\n\r\n5\r\n12345\r\n`],
];
const chunkOf = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
const FIELDS = "x-request-id: r-1\r\ntransfer-encoding: chunked";
const STREAM = `${HEAD}connect+proto\r\n${FIELDS}\r\n\r\n${chunkOf("\0\0\0\0\0")}`;
const ERROR = '{"error":{"code":"unauthenticated"}}';
const LAST = `${chunkOf(`\x02\0\0\0${String.fromCharCode(ERROR.length)}${ERROR}`)}0\r\n\r\n`;

let [answer, isReset, count] = ["", true, 0];
const server = createServer((socket) => {
  socket.on("error", () => undefined);
  socket.once("data", () => {
    count++;
    // What is sent arrives before the end: a reset may overtake it.
    if (answer !== "") socket.write(answer, () => setTimeout(end, 50));
    else end();
  });
  const end = (): void => void (isReset ? socket.resetAndDestroy() : socket.destroy());
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

const CASES = ANSWERS.flatMap(([when, text]) =>
  [true, false].map((reset) => [reset ? "is reset" : "ends", when, text, reset] as const),
);

it.each(CASES)("a call whose connection %s %s is repeated: TypeScript", async (_end, _when, text, reset) => {
  [answer, isReset, count] = [text, reset, 0];
  const { access } = createAtrium({ baseUrl: url, credential: bearer("x"), retries: 1 });
  await expect(access.getMe({})).rejects.toMatchObject({ errorCode: "unavailable" });
  expect(count).toBe(2);
});

it.each(["gRPC", "Connect"])("a call is repeated whose connection connect-node loses: %s over HTTP/2", async (name) => {
  let calls = 0;
  const ending = createHttp2().on("stream", ({ session }) => {
    calls++;
    session?.destroy();
  });
  await new Promise<void>((resolve) => ending.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(ending.address() as AddressInfo).port}`;
  const transport =
    name === "gRPC" ? createGrpcTransport({ baseUrl }) : createConnectTransport({ baseUrl, httpVersion: "2" });
  const { access, templates } = createAtrium({ baseUrl, credential: bearer("x"), retries: 1, transport });
  await expect(access.getMe({})).rejects.toMatchObject({ errorCode: "unavailable" });
  expect(calls).toBe(2);
  await expect(templates.deleteTemplate({ id: "x" })).rejects.toMatchObject({ errorCode: "unavailable" });
  expect(calls).toBe(3);
  ending.close();
});

for (const language of languages()) {
  describe.skipIf(language.missing !== undefined)(`broken connections in ${language.name}`, () => {
    let driver: Driver;
    beforeAll(async () => {
      driver = await language.start();
    });
    afterAll(() => driver.stop());
    const job = () => ({ url, token: "x", retries: 1 });

    it.each(CASES)("a call whose connection %s %s is repeated", async (_end, _when, text, reset) => {
      [answer, isReset, count] = [text, reset, 0];
      expect(await driver.fail("me", job())).toMatchObject({ kind: "call", error_code: "unavailable" });
      expect(count).toBe(2);
    });

    it("an error within a stream has the id of the request", async () => {
      [answer, isReset] = [STREAM + LAST, false];
      const failure = { kind: "call", error_code: "unauthorized", request_id: "r-1" };
      expect(await driver.fail("watch", job())).toMatchObject(failure);
    });

    it.each([true, false])("a stream whose connection breaks ends with unavailable (reset: %s)", async (reset) => {
      [answer, isReset] = [STREAM, reset];
      expect(await driver.fail("watch", job())).toMatchObject({ kind: "call", error_code: "unavailable" });
    });
  });
}
