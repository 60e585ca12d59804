import { expect, test } from "vitest";
import { ConfigError, readConfig } from "../../src/platform/config.ts";
import type { Environment } from "../../src/platform/config.ts";
import { makeIdentity } from "../outgoing/identity.ts";

const noCertificate = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
const noKey = "-----BEGIN PRIVATE KEY-----\nnonsense\n-----END PRIVATE KEY-----\n";

/** Problems with these settings, beside a known other one. */
function problems(env: Environment): readonly string[] {
  try {
    readConfig({ ...env, PORT: "eighty" });
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.filter((problem) => !problem.startsWith("PORT: "));
    throw error;
  }
  return ["no problem"];
}

test("a certificate and a key that do not belong together, or are none, are a problem that names both", async () => {
  const [one, other] = await Promise.all([makeIdentity("localhost"), makeIdentity("localhost")]);
  expect(readConfig({ SERVICE_TLS_CERT: one.cert, SERVICE_TLS_KEY: one.key }).tls).toEqual({
    cert: one.cert.trim(),
    key: one.key.trim(),
  });
  for (const [cert, key] of [
    [one.cert, other.key],
    [noCertificate, one.key],
    [one.cert, one.cert],
  ] as const) {
    const found = problems({ SERVICE_TLS_CERT: cert, SERVICE_TLS_KEY: key });
    expect(found).toEqual([
      expect.stringMatching(/^SERVICE_TLS_CERT and SERVICE_TLS_KEY are not a certificate and its private key \(/u),
    ]);
    expect(found.join("\n")).not.toContain("MIG");
  }
});

test("the TLS material of Temporal is read, with more than one authority", async () => {
  const [one, other] = await Promise.all([makeIdentity("localhost"), makeIdentity("localhost")]);
  const { temporal } = readConfig({
    TEMPORAL_ADDRESS: "temporal:7233",
    TEMPORAL_TLS_SERVER_CA_CERT_DATA: one.cert + other.cert,
    TEMPORAL_TLS_CLIENT_CERT_DATA: one.cert,
    TEMPORAL_TLS_CLIENT_KEY_DATA: one.key,
  });
  expect(temporal.tls).toEqual({
    ca: (one.cert + other.cert).trim(),
    cert: one.cert.trim(),
    key: one.key.trim(),
  });
});

test("TLS material of Temporal that cannot be read or does not belong together is a problem at the start", async () => {
  const [one, other] = await Promise.all([makeIdentity("localhost"), makeIdentity("localhost")]);
  const names = ["TEMPORAL_TLS_CLIENT_CERT_DATA", "TEMPORAL_TLS_CLIENT_KEY_DATA"] as const;
  for (const [cert, key] of [
    [one.cert, other.key],
    [noCertificate, one.key],
    [one.cert, noKey],
  ] as const) {
    const found = problems({ [names[0]]: cert, [names[1]]: key });
    expect(found).toEqual([
      expect.stringContaining(`${names.join(" and ")} are not a certificate and its private key (`),
    ]);
    expect(found.join("\n")).not.toContain("MIG");
  }
  const ca = "TEMPORAL_TLS_SERVER_CA_CERT_DATA";
  const cutOff = other.cert.trim().slice(0, -40);
  for (const text of [noCertificate, one.cert + noCertificate, one.cert + cutOff, cutOff])
    expect(problems({ [ca]: text })).toEqual([
      expect.stringMatching(`^${ca} has a certificate that cannot be read \\(`),
    ]);
  expect(problems({ [ca]: one.key })).toEqual([`${ca} has no certificate`]);
});

test("a certificate file of Temporal that cannot be read is one problem, and a missing key another", async () => {
  const { cert, key } = await makeIdentity("localhost");
  const unreadable = { TEMPORAL_TLS_CLIENT_CERT_PATH: "/none.pem", TEMPORAL_TLS_CLIENT_KEY_DATA: key };
  expect(problems(unreadable)).toEqual(["TEMPORAL_TLS_CLIENT_CERT_PATH: the file /none.pem cannot be read (ENOENT)"]);
  expect(problems({ TEMPORAL_TLS_CLIENT_CERT_DATA: cert })).toEqual([
    "TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH belong together",
  ]);
});
