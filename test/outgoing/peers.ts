import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";

/** A peer whose behaviour on a connection the test determines. */
export interface Peer {
  port: number;
  /** Connections so far. */
  connections: () => number;
  close(): Promise<void>;
}

type Behaviour = (socket: Socket) => void;

/** Listens on 127.0.0.1 and calls the test with raw sockets. */
export function rawPeer(behaviour: Behaviour): Promise<Peer> {
  return listening(createServer(), "connection", behaviour);
}

/** The same over TLS. */
export function tlsPeer(identity: { key: string; cert: string }, behaviour: Behaviour): Promise<Peer> {
  return listening(createTlsServer(identity), "secureConnection", behaviour);
}

async function listening(server: Server, event: string, behaviour: Behaviour): Promise<Peer> {
  const open = new Set<Socket>();
  let count = 0;
  server.on("connection", (socket: Socket) => {
    count += 1;
    open.add(socket);
    socket.on("error", () => undefined).on("close", () => open.delete(socket));
  });
  server.on(event, (socket: Socket) => {
    socket.on("error", () => undefined);
    behaviour(socket);
  });
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    close: () =>
      new Promise((resolve) => {
        for (const socket of open) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** Responds to every request on a connection with `head` (status line and headers, no final empty line) and `body`. */
export function answering(head: string, body: Buffer | string = ""): Behaviour {
  return (socket) => {
    socket.on("data", (chunk: Buffer) => {
      if (!chunk.includes("\r\n\r\n")) return;
      socket.write(`${head}\r\n\r\n`);
      socket.write(body);
    });
  };
}

/** Like `answering` with 200 and a right content length. */
export function ok(body: Buffer | string = "", headers = ""): Behaviour {
  return answering(
    `HTTP/1.1 200 OK\r\ncontent-length: ${Buffer.byteLength(body)}${headers === "" ? "" : `\r\n${headers}`}`,
    body,
  );
}
