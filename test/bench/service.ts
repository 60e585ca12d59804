import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { createWriteStream, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "../support/postgres.ts";
import { freshTokens } from "./fresh-tokens.ts";
import type { SeededSession } from "./fresh-tokens.ts";
import { pinned, serverCore } from "./processes.ts";
import type { Cores } from "./processes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A person who can sign in. */
export interface Person {
  email: string;
  password: string;
  org_name: string;
}

/** The service under test. */
export interface Service {
  pid: number;
  port: number;
  people: readonly Person[];
  /** Access tokens of this many sessions, spread over the people. */
  tokens: readonly string[];
  /** The response of `GET /api/auth/me` to the first token. */
  me: string;
  /** Its data folder. */
  databaseUrl: string;
  /** Its master key. */
  instanceKey: Buffer;
  /** New tokens of the sessions of `tokens`, signed with the service's own keys. */
  fresh(count: number): Promise<string[]>;
  /** A token of each of these sessions, otherwise equal to the token of this number. */
  tokensOf(model: number, sessions: readonly SeededSession[]): Promise<string[]>;
  stop(): Promise<void>;
}

function personOf(i: number): Person {
  return { email: `owner${i}@bench.test`, password: `a long password of number ${i}`, org_name: `Bench ${i}` };
}

/** Options of a service. */
export interface ServiceSettings {
  databaseUrl: string;
  folder: string;
  /** Default `serve`, which starts no workflow. */
  role?: "serve" | "all";
  /** Settings beyond those of every bench. */
  env?: Readonly<Record<string, string>>;
  /** People with an organization each, and their sessions. */
  seededPeople?: { people: number; sessions: number };
  /** Default the server's core. */
  cores?: Cores;
}

/**
 * Starts the service as in production (profile, log level warn, a database beside it), on its core, rate limits off;
 * makes people and signs them in.
 */
export async function startService({
  databaseUrl,
  folder,
  role = "serve",
  env: more = {},
  seededPeople = { people: 16, sessions: 64 },
  cores = serverCore,
}: ServiceSettings): Promise<Service> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  // One key per database: a service started on it again must have the key it was first used with.
  const instanceKey = createHash("sha256").update(databaseUrl).digest();
  const people = Array.from({ length: seededPeople.people }, (_, i) => personOf(i));
  const first = personOf(0);
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: process.env["HOME"] ?? "",
    NODE_ENV: "production",
    PORT: String(port),
    SERVICE_HOST: "127.0.0.1",
    SERVICE_BASE_URL: `http://127.0.0.1:${port}`,
    SERVICE_DATA_DIR: folder,
    SERVICE_LOG_LEVEL: "warn",
    SERVICE_RATE_LIMITS: "off",
    SERVICE_OPEN_SIGNUP: "1",
    SERVICE_TTL_ACCESS: "12h",
    SERVICE_BOOTSTRAP_ORG: first.org_name,
    SERVICE_BOOTSTRAP_EMAIL: first.email,
    SERVICE_BOOTSTRAP_PASSWORD: first.password,
    SERVICE_INSTANCE_KEY: instanceKey.toString("base64"),
    SERVICE_MASTER_KEY: randomBytes(32).toString("base64"),
    SERVICE_SMTP_URL: "smtp://127.0.0.1:1",
    SERVICE_MAIL_FROM: "bench@atrium.test",
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: "127.0.0.1:1",
    ...nodeOptions(),
    ...more,
  };
  const logFile = join(folder, "service.log");
  const [command, args] = pinned(cores, process.execPath, [join(root, "src/main.ts"), role]);
  const child = spawn(command, args, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  const kill = (): void => void child.kill("SIGKILL");
  process.on("exit", kill);
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = async (): Promise<void> => {
    process.off("exit", kill);
    child.kill("SIGTERM");
    const patience = setTimeout(kill, 10_000);
    await ended;
    clearTimeout(patience);
    log.end();
  };
  try {
    const base = `http://127.0.0.1:${port}`;
    await untilReady(
      `${base}/readyz`,
      () => child.exitCode !== null,
      () => readFileSync(logFile, "utf8").slice(-2000),
    );
    const { tokens, me } = await signEverybodyIn(base, people, seededPeople.sessions);
    return {
      pid: child.pid as number,
      port,
      people,
      tokens,
      me,
      databaseUrl,
      instanceKey,
      stop,
      fresh: (count) => freshTokens({ databaseUrl, instanceKey, tokens, count }),
      tokensOf: (model, sessions) =>
        freshTokens({
          databaseUrl,
          instanceKey,
          tokens: tokens.slice(model, model + 1),
          count: sessions.length,
          sessions,
        }),
    };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

async function signEverybodyIn(
  base: string,
  people: readonly Person[],
  sessions: number,
): Promise<{ tokens: string[]; me: string }> {
  for (const person of people.slice(1)) await signUp(base, person);
  const tokens: string[] = [];
  for (let i = 0; i < sessions; i++) tokens.push(await signIn(base, people[i % people.length] as Person));
  const me = await (await fetch(`${base}/api/auth/me`, { headers: { authorization: `Bearer ${tokens[0]}` } })).text();
  if (!me.startsWith("{")) throw new Error(`GET /api/auth/me answers ${me}`);
  return { tokens, me };
}

/**
 * BENCH_PROFILE: a folder for CPU profiles of the service, written when it ends. BENCH_NODE_OPTIONS: flags for its
 * Node.
 */
function nodeOptions(): Record<string, string> {
  const { BENCH_PROFILE: folder, BENCH_NODE_OPTIONS: given } = process.env;
  const flags = [
    ...(folder === undefined ? [] : [`--cpu-prof --cpu-prof-dir=${folder}`]),
    ...(given === undefined ? [] : [given]),
  ];
  return flags.length === 0 ? {} : { NODE_OPTIONS: flags.join(" ") };
}

async function untilReady(url: string, gone: () => boolean, words: () => string): Promise<void> {
  for (let tries = 0; tries < 1200; tries++) {
    const status = await fetch(url).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    if (gone()) break;
    await sleep(50);
  }
  throw new Error(`the service did not get ready:\n${words()}`);
}

async function signUp(base: string, { email, password, org_name: name }: Person): Promise<void> {
  await post(`${base}/api/organizations`, { name, email, password, first_name: "Bench" }, 201);
}

async function signIn(base: string, person: Person): Promise<string> {
  return (await post<{ access_token: string }>(`${base}/api/auth/login`, person, 200)).access_token;
}

async function post<T>(url: string, body: object, status: number): Promise<T> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (response.status !== status) throw new Error(`POST ${url} answered ${response.status}: ${await response.text()}`);
  return (await response.json()) as T;
}
