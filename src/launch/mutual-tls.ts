import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Started } from "../app/app.ts";
import { openDataFolder } from "../app/dev/data-folder.ts";
import type { Config } from "../platform/config.ts";

/** File of the data folder with the certificate by which clients know the listener. */
const FILE = "mtls-server.pem";

/** The line that says where mutual TLS is served. In development the certificate is kept beside the data. */
export function mutualTlsLine(config: Config, { address, certificate }: NonNullable<Started["mutualTls"]>): string {
  if (!config.development) return `Mutual TLS is served on ${address}`;
  writeFileSync(join(openDataFolder(config.dataDir), FILE), certificate);
  return `Mutual TLS is served on ${address}, certificate in ${join(config.dataDir, FILE)}`;
}
