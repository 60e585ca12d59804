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
  for (const text of [noCertificate, one.cert + noCertificate])
    expect(problems({ [ca]: text })).toEqual([
      expect.stringMatching(`^${ca} has a certificate that cannot be read \\(`),
    ]);
  expect(problems({ [ca]: one.key })).toEqual([`${ca} has no certificate`]);
});
