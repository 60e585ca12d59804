import { describe, expect, it } from "vitest";
import { DOMAINS } from "../../src/domains/order.ts";
import { codeOf, filesBelow, importsOf, namesOf, textOf } from "./sources.ts";

/** A domain imports only those before it, and of these only `index.ts`. */
const domains: readonly string[] = DOMAINS.names;

/** What each floor may stand on; a floor always may import itself. */
const floors: Readonly<Record<string, readonly string[]>> = {
  transcoding: ["google"],
  platform: ["transcoding", "gen", "google"],
  "audit-proof": [],
  domains: ["platform", "transcoding", "gen", "audit-proof"],
  migrations: ["platform"],
  server: ["platform", "transcoding", "domains", "gen", "google"],
  worker: ["platform", "domains"],
  cli: ["gen", "google"],
  launch: ["platform", "app", "cli"],
  app: ["platform", "transcoding", "domains", "migrations", "server", "worker", "gen", "audit-proof"],
  clients: ["gen", "google"],
  console: ["gen", "clients", "audit-proof", "google"],
  main: ["platform", "migrations", "launch", "app", "cli"],
};

const files = filesBelow("src");

/** `google` is the published annotations, which know nothing of Atrium. */
function floorOf(file: string): string {
  if (file.startsWith("gen/google/")) return "google";
  if (file.startsWith("gen/")) return "gen";
  return /^src\/([a-z-]+)(?:\.ts$|\/)/u.exec(file)?.[1] ?? file;
}

const domainOf = (file: string): string | undefined => /^src\/domains\/([a-z-]+)\//u.exec(file)?.[1];

function faultOf(file: string, to: string): string | undefined {
  if (!/^(?:src|gen|test|fbs|proto)\//u.test(to)) return to.startsWith(".") ? `leaves the repository` : undefined;
  const [from, target] = [floorOf(file), floorOf(to)];
  const [own, other] = [domainOf(file), domainOf(to)];
  if (other !== undefined && own !== other) {
    const allowed =
      own === undefined
        ? file === "src/domains/order.ts" || floors[from]?.includes("domains")
        : domains.indexOf(other) < domains.indexOf(own);
    if (allowed !== true) return `${own ?? from} stands below ${other}`;
    const workflow = file === "src/worker/workflows.ts" && /^src\/domains\/[a-z-]+\/workflows\/[a-z-]+\.ts$/u.test(to);
    return to.endsWith("/index.ts") || workflow ? undefined : "imports a domain past its index.ts";
  }
  return from === target || floors[from]?.includes(target) === true ? undefined : `${from} may not import ${target}`;
}

describe("imports", () => {
  it("imports go downward only", () => {
    const faults = files.flatMap((file) =>
      importsOf(file)
        .flatMap(({ to }) => faultOf(file, to) ?? [])
        .map((fault) => `${file}: ${fault}`),
    );
    expect(faults).toEqual([]);
  });

  it("every domain is in src/domains/order.ts", () => {
    const known = new Set(domains);
    expect(files.map(domainOf).filter((name) => name !== undefined && !known.has(name))).toEqual([]);
  });

  it("every file belongs to a floor", () => {
    expect(files.filter((file) => !(floorOf(file) in floors))).toEqual([]);
  });

  it("an index.ts of a domain or of the server exports only what another file imports", () => {
    const used = new Set(
      [...files, ...filesBelow("test")].flatMap((file) =>
        namesOf(file, "import").map(({ name, from }) => `${from} ${name}`),
      ),
    );
    const indexes = files.filter((file) => /^src\/(?:domains\/[a-z-]+|server(?:\/gate)?)\/index\.ts$/u.test(file));
    expect(
      indexes.flatMap((index) =>
        namesOf(index, "export").flatMap(({ name }) => (used.has(`${index} ${name}`) ? [] : `${index}: ${name}`)),
      ),
    ).toEqual([]);
  });

  it("the check tells allowed imports from forbidden ones", () => {
    expect(faultOf("src/platform/x.ts", "src/domains/organizations/index.ts")).toBeDefined();
    expect(faultOf("src/domains/organizations/x.ts", "src/domains/people/index.ts")).toBeDefined();
    expect(faultOf("src/domains/people/x.ts", "src/domains/organizations/store.ts")).toBeDefined();
    expect(faultOf("src/transcoding/x.ts", "src/platform/errors.ts")).toBeDefined();
    expect(faultOf("src/domains/people/x.ts", "src/domains/organizations/index.ts")).toBeUndefined();
  });
});

describe("a workflow", () => {
  it.each(files.filter((file) => file.includes("/workflows/")))(
    "imports types and the Temporal SDK alone: %s",
    (file) => {
      expect(
        importsOf(file).filter(
          ({ to, typeOnly }) => !typeOnly && to !== "@temporalio/workflow" && !to.includes("/workflows/"),
        ),
      ).toEqual([]);
    },
  );
});

describe("the environment", () => {
  it("only the entries of the program read the environment", () => {
    const entries = ["main.ts", "launch/prepare-tests.ts", "launch/install.mjs", "launch/build-console.ts"].map(
      (entry) => `src/${entry}`,
    );
    expect(files.filter((file) => /process\.env\b/u.test(codeOf(file)) && !entries.includes(file))).toEqual([]);
  });
});

describe("time and randomness", () => {
  it("domains take time and randomness from their dependencies", () => {
    const sources = ["src/platform/clock.ts", "src/platform/random.ts"];
    const ground = (file: string): boolean =>
      file.startsWith("src/domains/") && !file.includes("/workflows/") && !sources.includes(file);
    expect(
      files.filter(
        (file) =>
          ground(file) &&
          /\bDate\.now\(|\bnew Date\(\)|Math\.random\(|\brandomUUID\(|\brandomBytes\(/u.test(textOf(file)),
      ),
    ).toEqual([]);
  });
});

describe("rpc.ts", () => {
  it.each(files.filter((file) => file.endsWith("/rpc.ts") && file.startsWith("src/domains/")))(
    "maps and asks no database: %s",
    (file) => {
      expect(textOf(file)).not.toMatch(/\.query\(|\.prepared\(/u);
    },
  );
});
