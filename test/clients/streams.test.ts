import { createServer } from "node:http";
import type { ConnectRouter } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { expect, it } from "vitest";
import { BuyerService } from "../../gen/atrium/marketplace/v1/index.ts";
import { createAtrium, createAtriumTransport, createClient } from "../../src/clients/typescript/index.ts";
import { whileListening } from "./listening.ts";

/** Streams that the server has open. */
let open = 0;
const routes = (router: ConnectRouter): void => {
  router.service(BuyerService, {
    async *watchInstall(_request, { signal }) {
      open++;
      try {
        for (;;) {
          yield {};
          await new Promise<void>((resolve) => {
            setTimeout(resolve, 10);
          });
          signal.throwIfAborted();
        }
      } finally {
        open--;
      }
    },
  });
};
const server = createServer(connectNodeAdapter({ routes }));
let baseUrl: string;
whileListening(server, (url) => {
  baseUrl = url;
});

it.each([
  ["createAtrium", () => createAtrium({ baseUrl }).buyer],
  ["createClient", () => createClient(BuyerService, createAtriumTransport({ baseUrl }))],
])("a stream of %s ends when a loop over it is left", async (_name, buyer) => {
  let read = 0;
  for await (const _install of buyer().watchInstall({ installId: "i" })) {
    expect(open).toBe(1);
    if (++read === 2) break;
  }
  await expect.poll(() => open).toBe(0);
});

it("a stream ends with the signal of its caller", async () => {
  const stop = new AbortController();
  const messages = createAtrium({ baseUrl }).buyer.watchInstall({ installId: "i" }, { signal: stop.signal });
  const read = async (): Promise<void> => {
    for await (const _install of messages) stop.abort();
  };
  await expect(read()).rejects.toMatchObject({ errorCode: "canceled" });
  await expect.poll(() => open).toBe(0);
});
