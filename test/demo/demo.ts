import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { runStory } from "./story.ts";

const HELP = `Plays the main job of Atrium against a running service of the development profile.

Usage: npm run demo -- [--url URL] [--owner EMAIL] [--data DIR]

  --url URL      address of the service   (default http://localhost:PORT, PORT being 8080 when unset)
  --owner EMAIL  the first login          (default owner@acme.test)
  --data DIR     data folder of the service, where it keeps the address and the certificate of mutual TLS and the
                 master key               (default SERVICE_DATA_DIR, else .atrium)
  --help         this text

Payments are played when the service was started with npm start -- --fake-payments.
`;

const { values } = parseArgs({
  options: {
    url: { type: "string", default: `http://localhost:${process.env["PORT"] ?? 8080}` },
    owner: { type: "string", default: "owner@acme.test" },
    data: { type: "string", default: process.env["SERVICE_DATA_DIR"] ?? ".atrium" },
    help: { type: "boolean", default: false },
  },
});

/** A file of the data folder; undefined when it is not there. */
function dataFile(name: string): Buffer | undefined {
  try {
    return readFileSync(join(values.data, name));
  } catch {
    return undefined;
  }
}

if (values.help) {
  process.stdout.write(HELP);
} else {
  const [address, certificate] = [dataFile("mtls-server.url"), dataFile("mtls-server.pem")];
  const masterKey = dataFile("secrets/master-key");
  try {
    await runStory({
      baseUrl: values.url.replace(/\/$/, ""),
      ownerEmail: values.owner,
      mutualTls:
        address === undefined || certificate === undefined
          ? undefined
          : { address: address.toString().trim(), certificate: certificate.toString() },
      masterKey: masterKey && Buffer.from(masterKey.toString().trim(), "base64").toString("base64"),
      say: (line) => process.stdout.write(`${line}\n`),
    });
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    const { port } = new URL(values.url);
    const start = `${port === "8080" ? "" : `PORT=${port} `}npm start`;
    process.stderr.write(
      `The demo stopped: ${cause}\nIs the service running at ${values.url}? Start it with: ${start}\n`,
    );
    process.exitCode = 1;
  }
}
