import { connect as connectH2 } from "node:http2";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { stubbornClient } from "./client.ts";
import { spreadOf } from "./scenario.ts";
import type { Scenario } from "./scenario.ts";
import { owner, startServers } from "./servers.ts";
import { must, marketplaceClient } from "./marketplace-client.ts";
import { callRest } from "../support/app.ts";

/** Address of the flooding client. */
const BAD = "127.0.0.2";
/** Connections that the flooding client opens; 1,000 are accepted. */
const CONNECTIONS = 1_100;
/** Bytes of responses that it requests and never reads. */
const UNREAD_BYTES = 100 * 1024 * 1024;
/** Bytes that the service may hold for one address. */
const BUFFERED_BYTES = 64 * 1024 * 1024;
const STREAMS = 100;
/** Items of the list that these answers are. */
const KEYS = 100;
/** How long the other client sends requests meanwhile. */
const MEASURED_MS = 5_000;

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

/** A flood of connections and unread responses from one address: all requests of another address succeed. */
export const connections: Scenario = async (log) => {
  const servers = await startServers(["serve"]);
  const sockets: Socket[] = [];
  try {
    const [url = ""] = servers.urls;
    const port = Number(new URL(url).port);
    const token = await marketplaceClient(stubbornClient(servers.urls)).login(owner.email, owner.password, owner.org);
    const open = (): Socket => {
      const socket = connect({ port, host: "127.0.0.1", localAddress: BAD }).on("error", () => undefined);
      sockets.push(socket);
      return socket;
    };
    const { org_uuid: orgUuid } = must(await callRest(url, "GET", "/api/auth/me", { token }));
    const path = `/api/admin/organizations/${orgUuid}/api-keys`;
    for (let nth = 0; nth < KEYS; nth++) {
      const body = { name: `key ${nth} ${"x".repeat(60)}`, scopes: ["read:installs"] };
      must(await callRest(url, "POST", path, { token, body }));
    }
    const size = (await callRest(url, "GET", `${path}?limit=${KEYS}`, { token })).text.length;
    let [reset, unread, held, mostHeld] = [0, 0, 0, 0];
    const list = { ":path": `${path}?limit=${KEYS}`, authorization: `Bearer ${token}` };
    /** Sends requests on one connection, one after each response head. */
    const leaveUnread = async (): Promise<void> => {
      const settings = { initialWindowSize: 0 };
      const session = connectH2(url, { settings, createConnection: open }).on("error", () => undefined);
      for (let nth = 0; nth < STREAMS && !session.closed; nth++) {
        const stream = session
          .request(list)
          .on("error", () => undefined)
          .on("close", () => reset++);
        const status = await new Promise((resolve) => {
          stream.once("response", (answer) => resolve(answer[":status"])).once("close", () => resolve(0));
        });
        if (status !== 200) continue;
        unread += size;
        if (stream.closed) continue;
        held += size;
        mostHeld = Math.max(mostHeld, held);
        stream.once("close", () => (held -= size));
      }
    };
    const lanes = Math.ceil(UNREAD_BYTES / size / STREAMS);
    const flood = Promise.all(Array.from({ length: lanes }, leaveUnread));
    let refused = 0;
    while (sockets.length < CONNECTIONS) open().on("close", () => refused++);

    const answers: number[] = [];
    const times: number[] = [];
    let flooded = false;
    void flood.then(() => (flooded = true));
    for (const end = performance.now() + MEASURED_MS; !flooded || performance.now() < end; await sleep(5)) {
      const from = performance.now();
      answers.push(
        await callRest(url, "GET", "/api/auth/me", { token }).then(
          ({ status }) => status,
          () => 0,
        ),
      );
      times.push(performance.now() - from);
    }
    log(
      `${CONNECTIONS} connections of ${BAD}, ${refused} refused; ` +
        `${mebibytes(unread)} of responses unread, ${reset} reset, ` +
        `at most ${mebibytes(mostHeld)} and at the end ${mebibytes(held)} of streams still open; ` +
        `another address: ${spreadOf(times)}`,
    );
    const allowed = BUFFERED_BYTES + lanes * size;
    const bad = answers.filter((status) => status !== 200);
    return [
      ...(bad.length === 0
        ? []
        : [`${bad.length} of ${answers.length} requests of another address returned ${[...new Set(bad)].join(", ")}`]),
      ...(refused >= CONNECTIONS - 1_000 ? [] : [`only ${refused} connections were refused`]),
      ...(reset > 0 ? [] : ["no connection with unread responses was reset"]),
      ...(mostHeld <= allowed
        ? []
        : [`${mebibytes(mostHeld)} of responses were held, at most ${mebibytes(allowed)} may be`]),
    ];
  } finally {
    for (const socket of sockets) socket.destroy();
    await servers.close();
  }
};
