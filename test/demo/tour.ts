import type { Transport } from "@connectrpc/connect";

/** What the chapters need of the main story. */
export interface Tour {
  baseUrl: string;
  /** The organization of this run, and the token of its owner. */
  orgUuid: string;
  orgName: string;
  ownerEmail: string;
  ownerToken: string;
  /** Signs the owner in again: a new token, with what the organization may do now. */
  signIn(): Promise<string>;
  /** Token of the platform's administrator, who also operates it. */
  platformToken: string;
  /** Makes addresses of this run differ from those of other runs. */
  mark: string;
  connect(token?: string): Transport;
  /** The token mailed to an address since a moment, milliseconds. */
  mailedToken(email: string, since: number): Promise<string>;
  say(line: string): void;
}

/** What a chapter needs that a story can do without. */
export interface Extras {
  /** Where mutual TLS is served, and the certificate by which clients know it, PEM. */
  mutualTls?: { address: string; certificate: string } | undefined;
  /** The master key, base64, by which a sealed vault is opened. */
  masterKey?: string | undefined;
}

const PATIENCE_MS = 600_000;

/** Looks again until there is something. */
export async function eventually<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((r) => setTimeout(r, 100))) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`${what} did not happen within ${PATIENCE_MS / 60_000} minutes`);
}
