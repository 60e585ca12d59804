import { connect, createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { holding } from "./holding.ts";
import { joinSockets } from "./join-sockets.ts";

/** A TCP proxy to PostgreSQL that holds a transaction back before one of its statements. */
export interface PausingLink {
  /** The database by way of the proxy. */
  url: string;
  /** Holds back the next statement whose text contains `part`, and what follows it on its connection. */
  pauseBefore(part: string): { paused: Promise<void>; resume(): void };
  close(): Promise<void>;
}

const TYPES = { parse: 0x50, bind: 0x42, describe: 0x44, execute: 0x45 } as const;

/** Opens a proxy on a free port of 127.0.0.1 to the database of a URL. */
export async function pausingLink(databaseUrl: string): Promise<PausingLink> {
  const url = new URL(databaseUrl);
  const target = { host: url.hostname, port: Number(url.port) };
  const sockets = new Set<Socket>();
  let waiting: { part: string; hold(release: () => void): void } | undefined;

  /** Takes the bytes of a client, and sends them on statement by statement. */
  function forwarding(far: Socket): (bytes: Buffer) => void {
    let rest = Buffer.alloc(0);
    let isStarted = false;
    const texts = new Map<string, string>();
    let bound = "";
    /** Messages of a statement that has yet to be executed. */
    let statement: Buffer[] = [];
    let held: Buffer[] | undefined;
    const send = (bytes: Buffer): void => void (held === undefined ? far.write(bytes) : held.push(bytes));

    function take(message: Buffer): void {
      const end = message.indexOf(0, 5);
      const next = message.indexOf(0, end + 1);
      if (message[0] === TYPES.parse)
        texts.set(message.toString("utf8", 5, end), message.toString("utf8", end + 1, next));
      if (message[0] === TYPES.bind) bound = texts.get(message.toString("utf8", end + 1, next)) ?? "";
      if (message[0] === TYPES.execute && waiting !== undefined && bound.includes(waiting.part)) {
        const { hold } = waiting;
        waiting = undefined;
        held = [];
        hold(() => {
          const bytes = held ?? [];
          held = undefined;
          for (const each of bytes) far.write(each);
        });
      }
      statement.push(message);
      if (message[0] === TYPES.parse || message[0] === TYPES.bind || message[0] === TYPES.describe) return;
      for (const each of statement) send(each);
      statement = [];
    }

    return (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      for (;;) {
        // The first message has no type.
        const at = isStarted ? 1 : 0;
        const size = rest.length < at + 4 ? Infinity : rest.readInt32BE(at) + at;
        if (rest.length < size) return;
        const message = rest.subarray(0, size);
        rest = rest.subarray(size);
        if (isStarted) take(message);
        else far.write(message);
        isStarted = true;
      }
    };
  }

  const server = createServer((near) => {
    const far = connect(target);
    joinSockets(near, far, sockets);
    near.on("data", forwarding(far));
    far.on("data", (bytes) => void near.write(bytes));
  });

  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  Object.assign(url, { hostname: "127.0.0.1", port: String((server.address() as AddressInfo).port) });
  return {
    url: url.href,
    pauseBefore(part) {
      let release = (): void => undefined;
      const mine = { part, hold: (_: () => void): void => undefined };
      const paused = new Promise<void>((resolve) => {
        mine.hold = (releases) => {
          release = releases;
          resolve();
        };
      });
      waiting = mine;
      return {
        paused,
        resume() {
          if (waiting === mine) waiting = undefined;
          release();
        },
      };
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/**
 * Answers of two requests: the second is sent while the first is held back before a statement, until the second waits
 * for a lock or has its answer. `databaseUrl` is that behind the link.
 */
export async function overtake<A, B>(
  link: Pick<PausingLink, "pauseBefore">,
  databaseUrl: string,
  statement: string,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  const { paused, resume } = link.pauseBefore(statement);
  const watch = await holding(databaseUrl);
  try {
    const one = first();
    await paused;
    const other = second();
    await Promise.race([other, watch.waitedFor()]);
    resume();
    return await Promise.all([one, other]);
  } finally {
    resume();
    await watch.commit();
  }
}
