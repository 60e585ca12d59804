import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Started } from "../app/app.ts";
import { openDataFolder } from "../app/dev/data-folder.ts";
import type { Config } from "../platform/config.ts";

/** Files of the data folder with the certificate by which clients know the listener, and with its address. */
const [FILE, ADDRESS_FILE] = ["mtls-server.pem", "mtls-server.url"];

/** The line that says where mutual TLS is served. In development certificate and address are kept beside the data. */
export function mutualTlsLine(config: Config, { address, certificate }: NonNullable<Started["mutualTls"]>): string {
  if (!config.development) return `Mutual TLS is served on ${address}`;
  const folder = openDataFolder(config.dataDir);
  writeFileSync(join(folder, FILE), certificate);
  writeFileSync(join(folder, ADDRESS_FILE), `${address}\n`);
  return `Mutual TLS is served on ${address}, certificate in ${join(config.dataDir, FILE)}`;
}
