import { connect as connectTcp, isIP } from "node:net";
import type { LookupFunction, Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { buildConnector } from "undici";
import { OutgoingError } from "./failure.ts";
import { bareHost } from "./guard.ts";
import type { OutgoingGuard } from "./guard.ts";
import { resolvePublic, resolveSystem } from "./resolve.ts";
import type { Resolve } from "./resolve.ts";

export interface ConnectorOptions {
  guard: OutgoingGuard;
  /** Replaces name resolution. */
  resolve?: Resolve | undefined;
  /** Time limit for name resolution, TCP and TLS together, milliseconds. */
  connectTimeoutMs: number;
  /** Root certificates to trust instead of the public ones, PEM. */
  ca?: string | undefined;
}

/** Maximum number of addresses tried per name. */
const MAX_ADDRESSES = 6;

/**
 * Creates undici's connect step. It resolves the name once, refuses it when any of its addresses is refused, and
 * connects only to the checked addresses. The Host header and the TLS server name remain those of the URL.
 */
export function createConnector({ guard, resolve, connectTimeoutMs, ca }: ConnectorOptions): buildConnector.connector {
  async function addressesOf(host: string, port: number, signal: AbortSignal): Promise<string[]> {
    const ask = resolve ?? (guard.isException(host, port) ? resolveSystem : resolvePublic);
    let addresses: readonly string[];
    try {
      addresses = isIP(host) === 0 ? await ask(host, signal) : [host];
    } catch (cause) {
      throw new OutgoingError("dns", cause);
    }
    if (addresses.length === 0) throw new OutgoingError("dns");
    if (!addresses.every((address) => isIP(address) !== 0 && guard.allowsAddress(host, port, address)))
      throw new OutgoingError("refused_address");
    return addresses.slice(0, MAX_ADDRESSES);
  }

  async function open(options: buildConnector.Options, signal: AbortSignal): Promise<Socket> {
    const secure = options.protocol === "https:";
    const host = bareHost(options.hostname);
    const port = options.port === "" ? (secure ? 443 : 80) : Number(options.port);
    const addresses = await addressesOf(host, port, signal);
    signal.throwIfAborted();
    const target = { host, port, lookup: pinned(addresses), autoSelectFamily: true, noDelay: true, keepAlive: true };
    const socket = secure
      ? connectTls({
          ...target,
          ALPNProtocols: ["http/1.1"],
          ...(ca === undefined ? {} : { ca }),
          ...(isIP(host) === 0 ? { servername: host } : {}),
        })
      : connectTcp(target);
    await opened(socket, secure, signal);
    // A second check, in case the pinned look-up is ignored.
    if (!guard.allowsAddress(host, port, socket.remoteAddress ?? "")) {
      socket.destroy();
      throw new OutgoingError("refused_address");
    }
    return socket;
  }

  return (options, callback) => {
    const limit = AbortSignal.timeout(connectTimeoutMs);
    const late = new Promise<never>((_, reject) => {
      limit.addEventListener("abort", () => reject(new OutgoingError("timeout", undefined, "no connection in time")), {
        once: true,
      });
    });
    Promise.race([open(options, limit), late]).then(
      (socket) => callback(null, socket),
      (error: unknown) => callback(error instanceof Error ? error : new OutgoingError("connect", error), null),
    );
  };
}

/** Returns a look-up that always returns these addresses. */
function pinned(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    const [first] = all;
    if (options.all === true || first === undefined) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

/** Resolves once the socket is writable; the error distinguishes TCP from TLS. */
function opened(socket: Socket, secure: boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    let connected = false;
    const failed = (cause: unknown): void => {
      signal.removeEventListener("abort", aborted);
      socket.destroy();
      reject(new OutgoingError(connected ? "tls" : "connect", cause));
    };
    const aborted = (): void => failed(signal.reason);
    signal.addEventListener("abort", aborted, { once: true });
    socket.once("connect", () => (connected = true));
    socket.once("error", failed);
    socket.once("close", failed);
    socket.once(secure ? "secureConnect" : "connect", () => {
      signal.removeEventListener("abort", aborted);
      socket.removeListener("error", failed);
      socket.removeListener("close", failed);
      resolve();
    });
  });
}
