import { expect, test } from "vitest";
import { parseDuration, readConfig } from "../../src/platform/config.ts";

/** Durations of decisions 14, by variable. */
const DEFAULTS: Readonly<Record<string, string>> = {
  SERVICE_TTL_ACCESS: "15m",
  SERVICE_TTL_PAIR: "420s",
  SERVICE_TTL_MAGIC_LINK: "900s",
  SERVICE_TTL_MAGIC_ACCESS: "24h",
  SERVICE_TTL_ELEVATED: "900s",
  SERVICE_TTL_MFA_TOKEN: "300s",
  SERVICE_TTL_STEP_UP: "300s",
  SERVICE_TTL_OTP: "10m",
  SERVICE_TTL_INVITATION: "7d",
  SERVICE_TTL_REFRESH: "30d",
  SERVICE_TTL_REFRESH_IDLE: "7d",
  SERVICE_TTL_PASSWORD_RESET: "30m",
  SERVICE_TTL_KEY_OVERLAP: "24h",
  SERVICE_TTL_SECRET_OVERLAP: "24h",
  SERVICE_TTL_QUOTE: "15m",
  SERVICE_TTL_OIDC_STATE: "10m",
  SERVICE_TTL_OIDC_SESSION: "60s",
  SERVICE_TTL_SECRET_RESTORE: "30d",
  SERVICE_TTL_SVID_HOUR: "1h",
  SERVICE_TTL_CURSOR: "1h",
  SERVICE_CONSOLE_IDLE: "60m",
  SERVICE_STEP_UP_LOCK: "5m",
  SERVICE_REFRESH_GRACE: "10s",
  SERVICE_WEBHOOK_TIMEOUT: "15s",
  SERVICE_PROVISION_DEADLINE: "12h",
  SERVICE_DEPROVISION_DEADLINE: "72h",
};

/** Every setting with its path, such as `ttl.accessMs`. */
function leaves(value: unknown, path = ""): Map<string, unknown> {
  if (typeof value !== "object" || value === null) return new Map([[path, value]]);
  return new Map(Object.entries(value).flatMap(([name, part]) => [...leaves(part, `${path}.${name}`)]));
}

const before = leaves(readConfig({}));

test.each(Object.entries(DEFAULTS))("%s is %s by default, and changes nothing else", (name, duration) => {
  const after = leaves(readConfig({ [name]: "777s" }));
  const changed = [...after].filter(([path, value]) => before.get(path) !== value);
  expect(changed.map(([path, value]) => [before.get(path), value])).toEqual([[parseDuration(duration), 777_000]]);
});

test("every duration of the configuration is one of these or the schedule of webhooks", () => {
  const durations = [...before.keys()].filter((path) => /Ms(?:\.|$)/u.test(path) && !path.includes("webhookSchedule"));
  expect(durations).toHaveLength(Object.keys(DEFAULTS).length);
});
