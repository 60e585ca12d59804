import { createServer } from "node:http";
import { expect, it } from "vitest";
import { UsersService } from "../../gen/atrium/users/v1/index.ts";
import { createRestCall } from "../../src/clients/typescript/index.ts";
import { whileListening } from "./listening.ts";

const { listUsers } = UsersService.method;

/** Paths whose requests the client has given up. */
const left: string[] = [];
const server = createServer((request, response) => {
  response.on("close", () => left.push(request.url ?? ""));
  if (request.url === "/slow-body") {
    response.writeHead(200).write("a");
    setTimeout(() => response.end("b"), 600);
  } else if (request.url === "/slow-error") response.writeHead(400, { "content-type": "application/json" }).write("{");
});
let baseUrl: string;
whileListening(server, (url) => {
  baseUrl = url;
});

it.each(["/silent", "/slow-error"])(
  "a call over REST that gets no whole answer ends at its deadline: %s",
  async (path) => {
    const call = createRestCall({ baseUrl, timeoutMs: 300 })(listUsers, path);
    await expect(call).rejects.toMatchObject({ errorCode: "deadline_exceeded" });
    await expect.poll(() => left).toContain(path);
  },
);

it("the body of an answer over REST may take longer than the deadline", async () => {
  const response = await createRestCall({ baseUrl, timeoutMs: 300 })(listUsers, "/slow-body");
  expect(await response.text()).toBe("ab");
});

it("a call over REST ends with the signal of its caller, also while its body is read", async () => {
  const stop = new AbortController();
  const rest = createRestCall({ baseUrl });
  const response = await rest(listUsers, "/slow-body", { signal: stop.signal });
  stop.abort();
  await expect(response.text()).rejects.toThrow();
  await expect(rest(listUsers, "/silent", { signal: stop.signal })).rejects.toMatchObject({ errorCode: "canceled" });
});
