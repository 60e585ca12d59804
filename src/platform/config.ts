import { parseEmail } from "./email.ts";
import { LOG_LEVELS } from "./log.ts";
import { readDatabaseUrl } from "./config/database-url.ts";
import { parseDuration, Reader } from "./config/reader.ts";
import type { Environment } from "./config/reader.ts";
import { readSecrets } from "./config/secret-files.ts";
import { readTemporalTls, readTls } from "./config/tls.ts";
import type { Config, Lifetimes, Timing, Profile, Provider } from "./config/types.ts";

export { parseDuration };
export type { Environment } from "./config/reader.ts";
export type * from "./config/types.ts";

/** The settings are invalid. The message has a line for every problem and contains no secret. */
export class ConfigError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(["The configuration has problems:", ...problems.map((one) => `  ${one}`)].join("\n"));
    this.name = "ConfigError";
    this.problems = problems;
  }
}

/** Options of {@link readConfig}. */
export interface ReadOptions {
  /** Overrides `SERVICE_PROFILE` and `NODE_ENV`. */
  profile?: Profile | undefined;
  /** For a program that only migrates: requires nothing but a database. */
  databaseOnly?: boolean;
}

/**
 * Reads every setting (decisions 14). The result is frozen.
 * @throws ConfigError that lists every problem: invalid values, unknown names that start with `SERVICE_`, and settings
 *   that production requires.
 */
export function readConfig(env: Environment, options: ReadOptions = {}): Config {
  const read = new Reader(env, readSecrets(env));
  const stated = read.choice(
    "SERVICE_PROFILE",
    ["development", "production"],
    env["NODE_ENV"] === "production" ? "production" : "development",
  );
  const profile = options.profile ?? stated;
  const development = profile === "development";
  const port = read.port("PORT", 8080);
  const tls = readTls(read);
  const baseUrl = readBaseUrl(read);
  const base = baseUrl ?? `${tls === undefined ? "http" : "https"}://localhost:${port}`;
  const origins = read.origins("SERVICE_CORS_ORIGINS");
  const config: Config = {
    profile,
    development,
    host: read.text("SERVICE_HOST") ?? (development ? "127.0.0.1" : "0.0.0.0"),
    port,
    baseUrl: base,
    baseUrlGiven: baseUrl !== undefined,
    dataDir: read.text("SERVICE_DATA_DIR") ?? ".atrium",
    database: {
      url: readDatabaseUrl(read, "DATABASE_URL"),
      migrationUrl: readDatabaseUrl(read, "DATABASE_MIGRATION_URL"),
    },
    temporal: {
      address: read.hostPort("TEMPORAL_ADDRESS"),
      namespace: read.text("TEMPORAL_NAMESPACE") ?? "atrium",
      apiKey: read.text("TEMPORAL_API_KEY"),
      tls: readTemporalTls(read),
    },
    mail: {
      off: !read.flag("SERVICE_MAIL", true),
      smtpUrl: read.url("SERVICE_SMTP_URL", ["smtp", "smtps"], { secret: true }),
      from: read.parsed(
        "SERVICE_MAIL_FROM",
        mailFrom,
        "an address such as Atrium <no-reply@example.com>",
        `Atrium <no-reply@${new URL(base).hostname}>`,
      ),
    },
    cors: { origins: origins ?? [], anyLoopback: development && origins === undefined },
    logLevel: read.choice("SERVICE_LOG_LEVEL", LOG_LEVELS, "info"),
    otlpEndpoint: read.url("OTEL_EXPORTER_OTLP_ENDPOINT", ["http", "https"]),
    bootstrap: readBootstrap(read, development),
    openSignup: read.flag("SERVICE_OPEN_SIGNUP", development),
    magicLinkDevEcho: read.flag("SERVICE_MAGIC_LINK_DEV_ECHO", false),
    trustedProxies: read.networks("SERVICE_TRUSTED_PROXIES"),
    outgoing: { allow: read.hostPorts("SERVICE_OUTGOING_ALLOW"), allowLoopback: development },
    rateLimits: read.flag("SERVICE_RATE_LIMITS", !development),
    masterKey: read.key("SERVICE_MASTER_KEY"),
    instanceKey: read.key("SERVICE_INSTANCE_KEY"),
    previousMasterKey: read.key("SERVICE_MASTER_KEY_PREVIOUS"),
    previousInstanceKey: read.key("SERVICE_INSTANCE_KEY_PREVIOUS"),
    tls,
    reflection: read.flag("SERVICE_REFLECTION", development),
    mtlsPort: read.port("SERVICE_MTLS_PORT", development ? 0 : undefined),
    metricsPort: read.port("SERVICE_METRICS_PORT", undefined),
    trustDomain: read.parsed(
      "SERVICE_TRUST_DOMAIN",
      trustDomain,
      "a SPIFFE trust domain: lower case letters, digits, dots, dashes",
      "atrium.local",
    ),
    console: {
      on: read.flag("SERVICE_CONSOLE", true),
      idleMs: read.parsed("SERVICE_CONSOLE_IDLE", consoleIdle, "a duration from 5m to 12h", 3_600_000),
    },
    stripe: readProvider(read, "SERVICE_STRIPE_SECRET_KEY", "SERVICE_STRIPE_WEBHOOK_SECRET", "SERVICE_STRIPE_API_BASE"),
    paddle: readProvider(read, "SERVICE_PADDLE_API_KEY", "SERVICE_PADDLE_WEBHOOK_SECRET", "SERVICE_PADDLE_API_BASE"),
    ttl: readLifetimes(read),
    timing: readTiming(read),
  };
  validate(read, config, options.databaseOnly === true);
  read.refuseUnknown("SERVICE_");
  if (read.problems.length > 0) throw new ConfigError(read.problems);
  return deepFreeze(config);
}

/** Cross-field validation. */
function validate(read: Reader, config: Config, databaseOnly: boolean): void {
  const ports = [
    ["PORT", config.port],
    ["SERVICE_METRICS_PORT", config.metricsPort],
    ["SERVICE_MTLS_PORT", config.mtlsPort],
  ] as const;
  for (const [at, [name, port]] of ports.entries()) {
    const first = ports.slice(0, at).find(([, other]) => port !== undefined && port !== 0 && other === port);
    if (first !== undefined) read.problem(`${name} is the same port as ${first[0]}`);
  }
  if (config.development) return;
  if (config.magicLinkDevEcho)
    read.problem("SERVICE_MAGIC_LINK_DEV_ECHO is for the development profile only: it hands out sign-in links");
  if (!databaseOnly && !config.mail.off && !read.isSet("SERVICE_SMTP_URL"))
    read.problem("SERVICE_SMTP_URL is required in production; SERVICE_MAIL=off runs the service without mail");
  const required = databaseOnly
    ? ["DATABASE_URL"]
    : ["SERVICE_BASE_URL", "DATABASE_URL", "TEMPORAL_ADDRESS", "SERVICE_INSTANCE_KEY"];
  const hasMigrationUrl = databaseOnly && read.isSet("DATABASE_MIGRATION_URL");
  for (const name of required)
    if (!read.isSet(name) && !hasMigrationUrl) read.problem(`${name} is required in production`);
}

function readBaseUrl(read: Reader): string | undefined {
  const parse = (text: string): string | undefined => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol)) return undefined;
    if (url.username !== "" || url.password !== "" || /[?#]/.test(text)) return undefined;
    if (url.pathname === "/") return url.origin;
    return /\/$|\/\//.test(url.pathname) ? undefined : `${url.origin}${url.pathname}`;
  };
  const expected = "a public URL such as https://id.example.com or https://example.com/id, without a slash at its end";
  return read.parsed("SERVICE_BASE_URL", parse, expected, undefined);
}

function readBootstrap(read: Reader, development: boolean): Config["bootstrap"] {
  const sized = (least: number, most: number) => (text: string) =>
    [...text].length >= least && [...text].length <= most ? text : undefined;
  const org = read.parsed("SERVICE_BOOTSTRAP_ORG", sized(1, 200), "a name of at most 200 characters", undefined);
  const email = read.parsed(
    "SERVICE_BOOTSTRAP_EMAIL",
    (text) => parseEmail(text)?.address,
    "an email address",
    undefined,
  );
  const password = read.parsed(
    "SERVICE_BOOTSTRAP_PASSWORD",
    sized(8, 1_024),
    "a password of 8 to 1,024 characters",
    undefined,
    true,
  );
  if (development) return { org: org ?? "Acme", email: email ?? "owner@acme.test", password };
  const names = ["SERVICE_BOOTSTRAP_ORG", "SERVICE_BOOTSTRAP_EMAIL"];
  // The password alone is removed after the first start. The start warns where it is still needed.
  if (read.text("SERVICE_BOOTSTRAP_PASSWORD") === undefined && names.every((name) => read.text(name) !== undefined))
    return undefined;
  const all = read.allOrNone(...names, "SERVICE_BOOTSTRAP_PASSWORD");
  return all ? { org: org!, email: email!, password } : undefined;
}

function readProvider(read: Reader, keyName: string, secretName: string, baseName: string): Provider | undefined {
  const apiBase = read.url(baseName, ["http", "https"]);
  const all = read.allOrNone(keyName, secretName);
  return all ? { apiKey: read.text(keyName)!, webhookSecret: read.text(secretName)!, apiBase } : undefined;
}

function readLifetimes(read: Reader): Lifetimes {
  const ttl = (name: string, fallback: string): number => read.duration(`SERVICE_TTL_${name}`, fallback);
  return {
    accessMs: ttl("ACCESS", "15m"),
    pairMs: ttl("PAIR", "420s"),
    magicLinkMs: ttl("MAGIC_LINK", "900s"),
    magicAccessMs: ttl("MAGIC_ACCESS", "24h"),
    elevatedMs: ttl("ELEVATED", "900s"),
    mfaTokenMs: ttl("MFA_TOKEN", "300s"),
    stepUpMs: ttl("STEP_UP", "300s"),
    otpMs: ttl("OTP", "10m"),
    invitationMs: ttl("INVITATION", "7d"),
    refreshMs: ttl("REFRESH", "30d"),
    refreshIdleMs: ttl("REFRESH_IDLE", "7d"),
    passwordResetMs: ttl("PASSWORD_RESET", "30m"),
    keyOverlapMs: ttl("KEY_OVERLAP", "24h"),
    secretOverlapMs: ttl("SECRET_OVERLAP", "24h"),
    quoteMs: ttl("QUOTE", "15m"),
    oidcStateMs: ttl("OIDC_STATE", "10m"),
    oidcSessionMs: ttl("OIDC_SESSION", "60s"),
    secretRestoreMs: ttl("SECRET_RESTORE", "30d"),
    cursorMs: ttl("CURSOR", "1h"),
    svidHourMs: ttl("SVID_HOUR", "1h"),
  };
}

function readTiming(read: Reader): Timing {
  return {
    stepUpLockMs: read.duration("SERVICE_STEP_UP_LOCK", "5m"),
    refreshGraceMs: read.duration("SERVICE_REFRESH_GRACE", "10s", { zero: true }),
    webhookScheduleMs: read.durations("SERVICE_WEBHOOK_SCHEDULE", "0s,5s,5m,30m,2h,5h,10h,14h,20h,24h"),
    webhookTimeoutMs: read.duration("SERVICE_WEBHOOK_TIMEOUT", "15s"),
    provisionDeadlineMs: read.duration("SERVICE_PROVISION_DEADLINE", "12h"),
    deprovisionDeadlineMs: read.duration("SERVICE_DEPROVISION_DEADLINE", "72h"),
  };
}

const mailFrom = (text: string): string | undefined =>
  /^[^<>\r\n]*<[^<>@\s]+@[^<>@\s]+>$|^[^<>@\s]+@[^<>@\s]+$/.test(text) ? text : undefined;
const consoleIdle = (text: string): number | undefined => {
  const ms = parseDuration(text) ?? 0;
  return ms >= 300_000 && ms <= 43_200_000 ? ms : undefined;
};
const trustDomain = (text: string): string | undefined =>
  /^[a-z0-9](?:[a-z0-9.-]{0,200}[a-z0-9])?$/.test(text) ? text : undefined;

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) {
    if (typeof part === "object" && part !== null && !Buffer.isBuffer(part)) deepFreeze(part as object);
  }
  return Object.freeze(value);
}
