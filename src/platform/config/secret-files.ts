import { readFileSync } from "node:fs";
import type { Environment, FoundSecret } from "./reader.ts";

/** Variables with a secret. It may stand in a file instead, as containers and systemd credentials provide it. */
const SECRETS = [
  "DATABASE_URL",
  "DATABASE_MIGRATION_URL",
  "TEMPORAL_API_KEY",
  "SERVICE_INSTANCE_KEY",
  "SERVICE_INSTANCE_KEY_PREVIOUS",
  "SERVICE_MASTER_KEY",
  "SERVICE_MASTER_KEY_PREVIOUS",
  "SERVICE_BOOTSTRAP_PASSWORD",
  "SERVICE_SMTP_URL",
  "SERVICE_STRIPE_SECRET_KEY",
  "SERVICE_STRIPE_WEBHOOK_SECRET",
  "SERVICE_PADDLE_API_KEY",
  "SERVICE_PADDLE_WEBHOOK_SECRET",
] as const;

/** Reads a secret from its variable, or from the file that `<NAME>_FILE` names. */
export function findSecret(env: Environment, name: string): FoundSecret {
  const file = `${name}_FILE`;
  const value = env[name]?.trim() ?? "";
  const path = env[file]?.trim() ?? "";
  if (path === "") return value === "" ? {} : { value };
  if (value !== "") return { problem: `${name} and ${file} are both set; set one of them` };
  try {
    const text = readFileSync(path, "utf8").trim();
    return text === "" ? { problem: `${file}: the file ${path} is empty` } : { value: text };
  } catch (error) {
    const { code = "unknown error" } = error as NodeJS.ErrnoException;
    return { problem: `${file}: the file ${path} cannot be read (${code})` };
  }
}

/** Returns every secret by the name of its variable. */
export function readSecrets(env: Environment): ReadonlyMap<string, FoundSecret> {
  return new Map(SECRETS.map((name) => [name, findSecret(env, name)]));
}
