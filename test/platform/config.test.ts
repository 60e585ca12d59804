import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ConfigError, parseDuration, readConfig } from "../../src/platform/config.ts";
import type { Environment, ReadOptions } from "../../src/platform/config.ts";

const production: Environment = {
  SERVICE_PROFILE: "production",
  SERVICE_BASE_URL: "https://id.example.com/",
  DATABASE_URL: "postgres://app:p%40ss@db/atrium",
  TEMPORAL_ADDRESS: "temporal:7233",
  SERVICE_INSTANCE_KEY: randomBytes(32).toString("base64"),
  SERVICE_SMTP_URL: "smtp://mail.example.com",
};
const problems = (env: Environment, options: ReadOptions = {}): readonly string[] => {
  try {
    readConfig(env, options);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems;
  }
};

describe("readConfig", () => {
  test("development needs no settings", () => {
    const config = readConfig({});
    expect(config).toMatchObject({
      profile: "development",
      host: "127.0.0.1",
      port: 8080,
      baseUrl: "http://localhost:8080",
      dataDir: ".atrium",
      openSignup: true,
      rateLimits: false,
      reflection: true,
      bootstrap: { org: "Acme", email: "owner@acme.test", password: undefined },
      outgoing: { allow: [], allowLoopback: true },
      cors: { anyLoopback: true },
      trustDomain: "atrium.local",
    });
    expect(config.ttl).toMatchObject({
      accessMs: 900_000,
      pairMs: 420_000,
      magicAccessMs: 86_400_000,
      invitationMs: 604_800_000,
      svidHourMs: 3_600_000,
    });
    expect(config.timing.webhookScheduleMs).toEqual(
      [0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400].map((s) => s * 1000),
    );
    expect(
      Object.isFrozen(config) && Object.isFrozen(config.ttl) && Object.isFrozen(config.timing.webhookScheduleMs),
    ).toBe(true);
  });

  test("a secret may stand in a file; both forms, an unreadable and an empty file are problems", () => {
    const folder = mkdtempSync(join(tmpdir(), "atrium-secrets-"));
    const [url, key, empty] = ["url", "key", "empty"].map((name) => join(folder, name)) as [string, string, string];
    writeFileSync(url, "postgres://app:hidden@db/atrium\n");
    writeFileSync(key, `${randomBytes(32).toString("base64")}\r\n`);
    writeFileSync(empty, "\n");
    const { DATABASE_URL: _url, SERVICE_INSTANCE_KEY: _key, ...rest } = production;
    const files = { ...rest, DATABASE_URL_FILE: url, SERVICE_INSTANCE_KEY_FILE: key };
    expect(readConfig(files).database.url).toBe("postgres://app:hidden@db/atrium");
    expect(readConfig(files).instanceKey).toHaveLength(32);
    expect(problems({ ...production, DATABASE_URL_FILE: url })).toEqual([
      "DATABASE_URL and DATABASE_URL_FILE are both set; set one of them",
    ]);
    expect(problems({ ...rest, DATABASE_URL_FILE: url, SERVICE_INSTANCE_KEY_FILE: join(folder, "none") })).toEqual([
      `SERVICE_INSTANCE_KEY_FILE: the file ${join(folder, "none")} cannot be read (ENOENT)`,
    ]);
    const { SERVICE_SMTP_URL: _smtp, ...unmailed } = production;
    expect(problems({ ...unmailed, SERVICE_SMTP_URL_FILE: empty })).toEqual([
      `SERVICE_SMTP_URL_FILE: the file ${empty} is empty`,
    ]);
    expect(problems({ ...production, SERVICE_MASTER_KEY_FILE: empty })).toEqual([
      `SERVICE_MASTER_KEY_FILE: the file ${empty} is empty`,
    ]);
    expect(problems({ ...production, SERVICE_BASE_URL_FILE: url })).toEqual([
      "SERVICE_BASE_URL_FILE is not a setting of this service",
    ]);
    rmSync(folder, { recursive: true });
  });

  test("a secret whose file cannot be read is not missing besides", () => {
    const unreadable = (name: string) => `${name}_FILE: the file /none cannot be read (ENOENT)`;
    for (const name of ["SERVICE_SMTP_URL", "DATABASE_URL"])
      expect(problems({ ...production, [name]: undefined, [`${name}_FILE`]: "/none" })).toEqual([unreadable(name)]);
    const stripe = { SERVICE_STRIPE_SECRET_KEY_FILE: "/none", SERVICE_STRIPE_WEBHOOK_SECRET: "whsec_x" };
    expect(problems({ ...production, ...stripe })).toEqual([unreadable("SERVICE_STRIPE_SECRET_KEY")]);
    const migrating = { SERVICE_PROFILE: "production", DATABASE_MIGRATION_URL_FILE: "/none" };
    expect(problems(migrating, { databaseOnly: true })).toEqual([unreadable("DATABASE_MIGRATION_URL")]);
  });

  test("a DATABASE_URL says what is wrong with it, and never its password", () => {
    const url = "postgres://app:geheim@db/atrium?sslmode=verify-full";
    expect(problems({ ...production, DATABASE_URL: `${url}&sslrootcert=/none/ca.pem` })).toEqual([
      "DATABASE_URL: the file /none/ca.pem cannot be read (ENOENT)",
    ]);
    expect(problems({ ...production, DATABASE_MIGRATION_URL: `${url}&sslkey=/none/key.pem` })).toEqual([
      "DATABASE_MIGRATION_URL: the file /none/key.pem cannot be read (ENOENT)",
    ]);
    expect(problems({ ...production, DATABASE_URL: "postgres://app:ge/heim@db/atrium" })).toEqual([
      expect.stringMatching(/^DATABASE_URL is not a URL .* percent-encoded$/u),
    ]);
  });

  test("production has other defaults, by either variable", () => {
    for (const env of [production, { ...production, SERVICE_PROFILE: undefined, NODE_ENV: "production" }]) {
      expect(readConfig(env)).toMatchObject({
        profile: "production",
        host: "0.0.0.0",
        baseUrl: "https://id.example.com",
        openSignup: false,
        rateLimits: true,
        reflection: false,
        bootstrap: undefined,
        cors: { origins: [], anyLoopback: false },
        outgoing: { allowLoopback: false },
      });
    }
  });

  test("all problems are reported at once", () => {
    const found = problems({
      NODE_ENV: "production",
      PORT: "eighty",
      SERVICE_TTL_ACCESS: "900",
      SERVICE_WEBHOOK_SCHEDULE: "0s,soon",
      SERVICE_RATE_LIMITS: "maybe",
      SERVICE_TRUSTED_PROXIES: "10.0.0.0/8,10.0.0.0/99",
      SERVICE_OUTGOING_ALLOW: "here",
      SERVICE_CORS_ORIGINS: "https://a.example/path",
      SERVICE_MAGIC_LINK_DEV_ECHO: "1",
      SERVICE_TYPO: "x",
      SERVICE_BOOTSTRAP_ORG: "Acme",
      SERVICE_TLS_CERT: "/nowhere/cert.pem",
      SERVICE_STRIPE_SECRET_KEY: "sk_test",
      SERVICE_LOG_LEVEL: "loud",
      DATABASE_URL: "mysql://root:geheim@db",
      SERVICE_INSTANCE_KEY: "geheim",
    });
    for (const name of [
      "PORT",
      "SERVICE_TTL_ACCESS",
      "SERVICE_WEBHOOK_SCHEDULE",
      "SERVICE_RATE_LIMITS",
      "SERVICE_TRUSTED_PROXIES",
      "SERVICE_OUTGOING_ALLOW",
      "SERVICE_CORS_ORIGINS",
      "SERVICE_MAGIC_LINK_DEV_ECHO",
      "SERVICE_TYPO",
      "SERVICE_BOOTSTRAP_EMAIL",
      "SERVICE_TLS_KEY",
      "/nowhere/cert.pem",
      "SERVICE_STRIPE_WEBHOOK_SECRET",
      "SERVICE_LOG_LEVEL",
      "DATABASE_URL",
      "SERVICE_INSTANCE_KEY",
      "SERVICE_BASE_URL is required",
      "TEMPORAL_ADDRESS is required",
    ])
      expect(
        found.some((one) => one.includes(name)),
        name,
      ).toBe(true);
    expect(found.join("\n")).not.toContain("geheim");
    expect(found.join("\n")).not.toContain("sk_test");
  });

  test("a first owner who could not sign in and ports given twice are refused", () => {
    const found = problems({
      SERVICE_BOOTSTRAP_EMAIL: "nobody",
      SERVICE_BOOTSTRAP_PASSWORD: "geheim",
      SERVICE_BOOTSTRAP_ORG: "x".repeat(201),
      SERVICE_METRICS_PORT: "8080",
    });
    expect(found.map((one) => one.split(/[ :]/)[0])).toEqual([
      "SERVICE_BOOTSTRAP_ORG",
      "SERVICE_BOOTSTRAP_EMAIL",
      "SERVICE_BOOTSTRAP_PASSWORD",
      "SERVICE_METRICS_PORT",
    ]);
    expect(found.join("\n")).not.toContain("geheim");
    expect(readConfig({ PORT: "0", SERVICE_METRICS_PORT: "0" }).metricsPort).toBe(0);
  });

  test("a first owner whose password was removed after the first start is ignored in production", () => {
    const env = { ...production, SERVICE_BOOTSTRAP_ORG: "Acme", SERVICE_BOOTSTRAP_EMAIL: "a@b.example" };
    expect(readConfig(env).bootstrap).toBeUndefined();
    expect(problems({ ...env, SERVICE_BOOTSTRAP_EMAIL: undefined })).toHaveLength(1);
  });

  test("the dev echo is refused outside development", () => {
    expect(problems({ ...production, SERVICE_MAGIC_LINK_DEV_ECHO: "1" })).toHaveLength(1);
    expect(readConfig({ SERVICE_MAGIC_LINK_DEV_ECHO: "1" }).magicLinkDevEcho).toBe(true);
  });

  test("settings of each form are parsed", () => {
    const config = readConfig({
      ...production,
      SERVICE_TRUSTED_PROXIES: "10.0.0.0/8, ::1,192.0.2.7",
      SERVICE_OUTGOING_ALLOW: "localhost:9000,[::1]:80",
      SERVICE_CORS_ORIGINS: "https://a.example,https://b.example:8443",
      SERVICE_REFRESH_GRACE: "0s",
      SERVICE_TTL_PAIR: "250ms",
      TEMPORAL_TLS: "1",
      SERVICE_MASTER_KEY: randomBytes(32).toString("base64"),
      SERVICE_OPEN_SIGNUP: "on",
      SERVICE_BOOTSTRAP_ORG: "Acme",
      SERVICE_BOOTSTRAP_EMAIL: "a@b.example",
      SERVICE_BOOTSTRAP_PASSWORD: "correct horse",
      SERVICE_HOST: "",
    });
    expect(config).toMatchObject({
      trustedProxies: ["10.0.0.0/8", "::1/128", "192.0.2.7/32"],
      outgoing: {
        allow: [
          { host: "localhost", port: 9000 },
          { host: "::1", port: 80 },
        ],
      },
      cors: { origins: ["https://a.example", "https://b.example:8443"] },
      timing: { refreshGraceMs: 0 },
      ttl: { pairMs: 250 },
      temporal: { tls: true, address: "temporal:7233", namespace: "atrium" },
      openSignup: true,
      host: "0.0.0.0",
      bootstrap: { org: "Acme", email: "a@b.example", password: "correct horse" },
    });
    expect(config.masterKey).toHaveLength(32);
  });

  test("a program that only migrates needs a database alone", () => {
    const env = { SERVICE_PROFILE: "production", DATABASE_MIGRATION_URL: "postgres://owner@db/atrium" };
    expect(readConfig(env, { databaseOnly: true }).database.migrationUrl).toBe("postgres://owner@db/atrium");
    expect(problems(env)).toHaveLength(5);
  });

  test("production without SMTP starts only with SERVICE_MAIL=off", () => {
    const { SERVICE_SMTP_URL: _, ...without } = production;
    expect(problems(without)).toEqual([expect.stringContaining("SERVICE_SMTP_URL is required in production")]);
    expect(readConfig({ ...without, SERVICE_MAIL: "off" }).mail).toMatchObject({ off: true, smtpUrl: undefined });
    expect(readConfig(production).mail.off).toBe(false);
    expect(readConfig({}).mail.off).toBe(false);
  });

  test("a base URL may have a path but no trailing slash", () => {
    const base = (url: string) => readConfig({ SERVICE_BASE_URL: url }).baseUrl;
    expect(base("https://example.com/id/atrium")).toBe("https://example.com/id/atrium");
    for (const bad of [
      "https://example.com/id/",
      "https://example.com//id",
      "https://example.com/id?x",
      "https://example.com/#",
      "ftp://example.com",
      "https://a:b@example.com",
    ]) {
      expect(problems({ SERVICE_BASE_URL: bad }), bad).toHaveLength(1);
    }
  });

  test("settings of planned features are known and validated", () => {
    const key = randomBytes(32).toString("base64");
    const config = readConfig({
      SERVICE_TTL_CURSOR: "2h",
      SERVICE_CONSOLE: "off",
      SERVICE_CONSOLE_IDLE: "5m",
      SERVICE_INSTANCE_KEY_PREVIOUS: key,
      SERVICE_MASTER_KEY_PREVIOUS: key,
    });
    expect(config).toMatchObject({ ttl: { cursorMs: 7_200_000 }, console: { on: false, idleMs: 300_000 } });
    expect(config.previousInstanceKey).toHaveLength(32);
    expect(config.previousMasterKey).toHaveLength(32);
    expect(problems({ SERVICE_CONSOLE_IDLE: "4m" })).toHaveLength(1);
  });

  test("trusted proxies are whole addresses, not the short forms of inet_aton", () => {
    for (const bad of ["1", "10/8", "10.1/16", "0x7f.1", "010.0.0.1", "10.0.0.0/8/8", "10.0.0.0/", "::g", "proxy"])
      expect(problems({ SERVICE_TRUSTED_PROXIES: `192.0.2.7,${bad}` }), bad).toEqual([
        `SERVICE_TRUSTED_PROXIES: "${bad}" is not an address or a network such as 10.0.0.0/8`,
      ]);
    expect(readConfig({ SERVICE_TRUSTED_PROXIES: "fd00::/8,::ffff:192.0.2.7" }).trustedProxies).toEqual([
      "fd00::/8",
      "192.0.2.7/32",
    ]);
  });

  test("durations are parsed in each unit", () => {
    expect(["420s", "15m", "24h", "7d", "250ms", "0s"].map(parseDuration)).toEqual([
      420_000, 900_000, 86_400_000, 604_800_000, 250, 0,
    ]);
    expect(["", "15", "m", "-1s", "1.5h", "15 m", "99999999999d", "1w"].map(parseDuration)).toEqual(
      Array(8).fill(undefined),
    );
  });
});
