import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy that serves a service under a path of its own, which it strips. */
export interface Proxy {
  /** Public URL of the service, without a slash at its end. */
  url: string;
  forwardTo(service: string): void;
  close(): Promise<void>;
}

export async function startProxy(prefix: string): Promise<Proxy> {
  let service = "";
  const server = createServer((asked, answer) => {
    const path = asked.url ?? "";
    if (path !== prefix && !path.startsWith(`${prefix}/`)) {
      answer.writeHead(404).end("This path is not the service's.");
      return;
    }
    const forwarded = request(
      service + (path.slice(prefix.length) || "/"),
      { method: asked.method, headers: asked.headers },
      (response) => {
        answer.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(answer);
      },
    );
    forwarded.on("error", () => answer.destroy());
    answer.on("close", () => forwarded.destroy());
    asked.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`,
    forwardTo(url) {
      service = url;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
