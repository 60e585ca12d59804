import type { Clock } from "../platform/clock.ts";
import type { PasswordCost } from "../platform/crypto/password-pool.ts";
import type { Log } from "../platform/log.ts";
import type { Random } from "../platform/random.ts";
import type { TemporalTarget } from "../platform/temporal/connection.ts";

/** Which part of the program a process is: everything, the API alone, or background work alone. */
export type Role = "all" | "serve" | "worker";

/** What the process brings to the application: servers that run, keys that exist, a database that is migrated. */
export interface Infrastructure {
  role: Role;
  /** What the application connects as; it drops to the restricted role itself. */
  databaseUrl: string;
  temporal: TemporalTarget;
  /** 32 bytes; wraps every secret outside the vault. */
  instanceKey: Buffer;
  /** 32 bytes; wraps the vault. Undefined in production without one: the vault is sealed. */
  masterKey: Buffer | undefined;
  /** Organization and owner to make in an empty database; undefined: start empty. */
  bootstrap: { org: string; email: string; password: string } | undefined;
  /** Folder of the built console, which may appear while the service runs; undefined: none is served. */
  consoleFolder?: string | undefined;
  /** Whether a console that is not there is being built; undefined: somebody else builds it. */
  isConsoleBuilding?: (() => boolean) | undefined;
  /** Cost of new password hashes; default: OWASP's recommendation. */
  passwordCost?: PasswordCost | undefined;
  log: Log;
  clock: Clock;
  random: Random;
}

/** What a start results in. */
export interface Started {
  /** `http://host:port` it listens on; undefined for a worker. */
  address: string | undefined;
  /** Where mutual TLS is served; undefined without it. */
  mutualTls: { address: string /** PEM. */; certificate: string } | undefined;
  /** Whether this start made the first organization and its owner. */
  bootstrapped: boolean;
}

/** The composed program. */
export interface App {
  /** Rejects with the listener's error (`EADDRINUSE`, `EACCES`) when it cannot listen. */
  start(): Promise<Started>;
  /** Counts of its calls so far, as `/metrics` shows them. */
  calls(): string;
  /** Turns unready, lets what is in flight finish for at most `graceMs`, closes everything. */
  stop(graceMs: number): Promise<void>;
}
