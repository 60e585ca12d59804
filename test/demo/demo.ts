import { parseArgs } from "node:util";
import { runStory } from "./story.ts";

const HELP = `Plays the main job of Atrium against a running service of the development profile.

Usage: npm run demo -- [--url URL] [--owner EMAIL]

  --url URL      address of the service   (default http://localhost:PORT, PORT being 8080 when unset)
  --owner EMAIL  the first login          (default owner@acme.test)
  --help         this text
`;

const { values } = parseArgs({
  options: {
    url: { type: "string", default: `http://localhost:${process.env["PORT"] ?? 8080}` },
    owner: { type: "string", default: "owner@acme.test" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) {
  process.stdout.write(HELP);
} else {
  try {
    await runStory({
      baseUrl: values.url.replace(/\/$/, ""),
      ownerEmail: values.owner,
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
