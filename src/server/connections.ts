import type { Socket } from "node:net";
import { limitKey } from "../platform/outgoing/address.ts";
import type { ClientCertificate } from "./mtls/client-certificate.ts";

/** Maximum open connections of one address, always on (decisions 13). */
export const MAX_CONNECTIONS = 1_000;

/** What the server holds for one address, while it has connections. */
export interface Account {
  connections: number;
  /** Bytes of request bodies that have arrived, of requests without a complete response. */
  bodyBytes: number;
  /** Bytes of responses that the clients have not taken, as of the last check. */
  unreadBytes: number;
}

/** An accepted connection. */
export interface Connection {
  readonly socket: Socket;
  /** Undefined for trusted proxies, whose connections carry many clients. */
  readonly account: Account | undefined;
  readonly clientCertificate: ClientCertificate | undefined;
}

/** Accounts by address; IPv6 addresses count by /64. */
export interface Addresses {
  /** Returns false when the address has the maximum of connections; otherwise counts the socket until it closes. */
  admit(socket: Socket): boolean;
  /** Returns the account of an admitted connection; undefined for those of trusted proxies. */
  accountOf(socket: Socket): Account | undefined;
}

/** Creates the accounts. Connections of trusted proxies carry many clients and have no account. */
export function createAddresses(isTrusted: (address: string) => boolean, maxConnections: number): Addresses {
  const accounts = new Map<string, Account>();
  return {
    admit(socket) {
      const { remoteAddress } = socket;
      if (remoteAddress === undefined) return false;
      if (isTrusted(remoteAddress)) return true;
      const key = keyOf(remoteAddress);
      const account = accounts.get(key) ?? { connections: 0, bodyBytes: 0, unreadBytes: 0 };
      if (account.connections >= maxConnections) return false;
      account.connections++;
      accounts.set(key, account);
      socket.once("close", () => {
        if (--account.connections === 0) accounts.delete(key);
      });
      return true;
    },
    accountOf({ remoteAddress }) {
      if (remoteAddress === undefined || isTrusted(remoteAddress)) return undefined;
      return accounts.get(keyOf(remoteAddress));
    },
  };
}

function keyOf(address: string): string {
  return limitKey(address.replace(/^::ffff:(?=\d+\.)/iu, ""));
}
