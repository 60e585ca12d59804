import { split } from "shamir-secret-sharing";
import { VaultService } from "../../gen/atrium/vault/v1/vault_pb.ts";
import type { SealStatus } from "../../gen/atrium/vault/v1/vault_pb.ts";
import { parseKey, readEntry } from "./entry.ts";
import { readToken } from "./files.ts";
import { CommandError, runCommand } from "./output.ts";
import type { Terminal } from "./output.ts";
import { called, createServiceClient } from "./service-client.ts";

/** Shares that a master key is split into, and how many of them restore it (decisions 7.1). */
const SHARES = 5;
const THRESHOLD = 3;

/** A call to the vault of a running service. */
export interface VaultCall {
  action: "seal" | "unseal" | "status";
  url: string;
  tokenFile: string;
}

/** The master key as it was set, or why it could not be read. */
interface FoundKey {
  value?: string;
  problem?: string;
}

/** Prints shares of a master key, one a line. @returns the exit code */
export function splitMasterKey({ value: masterKey, problem }: FoundKey, terminal: Terminal): Promise<number> {
  return runCommand(terminal, async () => {
    if (problem !== undefined) throw new CommandError(`${problem}.`);
    if (masterKey === undefined)
      throw new CommandError("SERVICE_MASTER_KEY is not set; set it to the master key that is to be split.");
    const key = parseKey(masterKey);
    if (key === undefined)
      throw new CommandError("SERVICE_MASTER_KEY must be base64 of 32 bytes, such as from: openssl rand -base64 32");
    const shares = await split(new Uint8Array(key), SHARES, THRESHOLD);
    for (const share of shares) terminal.say(Buffer.from(share).toString("base64"));
    terminal.complain(
      `${SHARES} shares, one a line; any ${THRESHOLD} of them unseal the vault. They are not stored: give each to ` +
        "another person now.",
    );
    return 0;
  });
}

/** Seals or unseals the vault of a service, or prints its state. @returns the exit code; 1: status of a sealed vault */
export function callVault({ action, url, tokenFile }: VaultCall, terminal: Terminal): Promise<number> {
  return runCommand(terminal, async () => {
    const client = createServiceClient(VaultService, url, await readToken(tokenFile, terminal.folders));
    if (action === "seal") {
      await called(client.seal({}));
      terminal.say("The vault is sealed on every instance.");
      return 0;
    }
    if (action === "status") {
      const status = await called(client.getSealStatus({}));
      terminal.say(describe(status));
      return status.sealed ? 1 : 0;
    }
    const prompt = (text: string): void => void process.stderr.write(text);
    terminal.say(describe(await called(client.unseal(await readEntry(terminal.input, prompt)))));
    return 0;
  });
}

function describe({ sealed, progress, threshold, shares }: SealStatus): string {
  if (!sealed) return "The vault is unsealed.";
  return `The vault is sealed; ${progress} of ${threshold} needed shares entered (of ${shares} in all).`;
}
