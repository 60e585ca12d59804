import { readFileSync } from "node:fs";
import type { DescMethod } from "@bufbuild/protobuf";
import { composeServices } from "../../src/app/services.ts";

/** An rpc of the contract and whether it has an implementation. */
export interface RpcState {
  rpc: DescMethod;
  built: boolean;
}

/** Stands for any domain: it is handed around while services are wired, and nothing of it is called for real. */
const anything: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === Symbol.toPrimitive ? () => "" : anything),
  apply: () => anything,
});

/** Every rpc of the contract, as the program is composed: built when there is code behind it, else it answers 501. */
export function rpcStates(): RpcState[] {
  return composeServices(anything as never, anything as never).flatMap(({ service, implementation }) =>
    service.methods.map((rpc) => ({ rpc, built: rpc.localName in implementation })),
  );
}

/** The line the README has to carry, word for word. */
export function builtLine(): string {
  const states = rpcStates();
  return `Built: ${states.filter(({ built }) => built).length} of ${states.length} rpcs`;
}

/** The README's table, word for word: every area with rpcs that are not built, and which. */
export function unbuiltTable(): string {
  const areas = Map.groupBy(rpcStates(), ({ rpc }) => rpc.parent);
  const rows = [...areas].flatMap(([service, states]) => {
    const missing = states.filter(({ built }) => !built).map(({ rpc }) => rpc.name);
    if (missing.length === 0) return [];
    const named = missing.length === states.length ? `all ${states.length}` : missing.join(", ");
    return [`| \`${service.typeName}\` | ${named} |`];
  });
  return ["| service | rpcs that answer `unimplemented` |", "| --- | --- |", ...rows].join("\n");
}

/** The README. */
export function readme(): string {
  return readFileSync(new URL("../../README.md", import.meta.url), "utf8");
}

/** The README's lines of that form. */
export function readmeLines(): string[] {
  return readme().match(/^Built: .*$/gmu) ?? [];
}

if (import.meta.main) console.log(`${builtLine()}\n\n${unbuiltTable()}`);
