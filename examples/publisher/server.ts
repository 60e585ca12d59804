/**
 * The server of an app of the marketplace. Small installs are ready at once; large ones take a while and are reported
 * when they are done.
 *
 * ATRIUM_URL        base URL of the service
 * PROVISION_SECRET  the app's provision secret
 * PORT              default: a free port
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createPublisher } from "@atrium/client/publisher";

const LARGE = 100;

const publisher = createPublisher({
  secret: process.env["PROVISION_SECRET"] ?? "",
  baseUrl: process.env["ATRIUM_URL"] ?? "http://localhost:8080",
  on: {
    provision({ install_id, org, quantity, plan_id }) {
      if (plan_id === "retired") return { status: "refused", message: "This plan is not sold any more." };
      const endpointUrl = `https://${org.org_uuid}.app.example`;
      if (quantity < LARGE) return { status: "active", endpointUrl };
      setTimeout(() => {
        // After ten minutes without the service the outcome is yours to keep: report it again from a queue.
        publisher.report(install_id, { status: "active", endpointUrl }).catch(console.error);
      }, 500);
      return { status: "accepted" };
    },
    deprovision({ install_id }) {
      console.log(`Removed ${install_id}`);
      return undefined;
    },
    suspend: ({ install_id }) => console.log(`Suspended ${install_id}`),
    resume: ({ install_id }) => console.log(`Resumed ${install_id}`),
  },
});

// `publisher` is a handler of the Fetch API, as Deno, Bun and edge runtimes take it; Node needs this adapter.
const server = createServer((incoming, outgoing) => {
  void (async () => {
    const body = await buffer(incoming);
    const headers = Object.entries(incoming.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    try {
      const response = await publisher(new Request("http://publisher/", { method: "POST", body, headers }));
      outgoing.writeHead(response.status, { "content-type": "application/json" }).end(await response.text());
    } catch (error) {
      console.error(error);
      outgoing.writeHead(500).end();
    }
  })();
});
server.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  console.log(`Listening on ${(server.address() as AddressInfo).port}`);
});
