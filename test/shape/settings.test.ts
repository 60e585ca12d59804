import { expect, it } from "vitest";
import { readConfig } from "../../src/platform/config.ts";
import { textOf } from "./sources.ts";

/** Every variable the program asks for; the page describes the `_FILE` forms of secrets in one sentence. */
function settings(): string[] {
  const asked = new Set<string>();
  readConfig(new Proxy({}, { get: (_target, name) => void asked.add(String(name)) }));
  return [...asked].filter((name) => name !== "NODE_ENV" && !name.endsWith("_FILE")).toSorted();
}

it("docs/configuration.md names every setting in full, and no other", () => {
  const rows = textOf("docs/configuration.md")
    .split("\n")
    .filter((line) => line.startsWith("|"));
  const named = rows.flatMap((row) =>
    [...(row.split("|")[1] ?? "").matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, name = ""]) => name),
  );
  const also = rows.flatMap((row) => [...row.matchAll(/`(TEMPORAL_TLS_\w+_DATA)`/g)].map(([, name = ""]) => name));
  expect([...named, ...also].toSorted()).toEqual(settings());
});
