import type { DescMethod } from "@bufbuild/protobuf";
import { composeServices } from "../../src/app/services.ts";
import { DOMAINS } from "../../src/domains/order.ts";
import type { Contributions } from "../../src/platform/domain.ts";
import { textOf } from "./sources.ts";

/** An rpc of the contract and whether it has an implementation. */
export interface RpcState {
  rpc: DescMethod;
  built: boolean;
}

/** Stands for any domain: composition passes it on and calls none of its functions. */
const anything: unknown = new Proxy(() => undefined, {
  get: (_target, name) => (name === Symbol.toPrimitive ? () => "" : anything),
  apply: () => anything,
});

const ground = Object.fromEntries(
  "config database clock random log sealer masterKey hasher outgoing limiter workflows contexts"
    .split(" ")
    .map((name) => [name, anything]),
);

/** Every rpc of the contract, as the program is composed: built when it has an implementation; others return 501. */
export function rpcStates(): RpcState[] {
  const domains = DOMAINS.build(ground as never);
  const registered = Object.values<Contributions>(domains).flatMap((domain) => domain.services ?? []);
  return composeServices([...registered, domains.operator.serviceOf(anything as never)]).flatMap(
    ({ service, implementation }) => service.methods.map((rpc) => ({ rpc, built: rpc.localName in implementation })),
  );
}

/** The line that the README contains, word for word. */
export function builtLine(): string {
  const states = rpcStates();
  return `Built: ${states.filter(({ built }) => built).length} of ${states.length} rpcs`;
}

/** The table that the README contains, word for word: areas with rpcs that are not built, and which; empty for none. */
export function unbuiltTable(): string {
  const areas = Map.groupBy(rpcStates(), ({ rpc }) => rpc.parent);
  const rows = [...areas].flatMap(([service, states]) => {
    const missing = states.filter(({ built }) => !built).map(({ rpc }) => rpc.name);
    if (missing.length === 0) return [];
    const named = missing.length === states.length ? `all ${states.length}` : missing.join(", ");
    return [`| \`${service.typeName}\` | ${named} |`];
  });
  return rows.length === 0
    ? ""
    : ["| service | rpcs that return `unimplemented` |", "| --- | --- |", ...rows].join("\n");
}

/** The lines of that form in the README. */
export function readmeLines(): string[] {
  return textOf("README.md").match(/^Built: .*$/gmu) ?? [];
}

if (import.meta.main) console.log(`${builtLine()}\n\n${unbuiltTable()}`);
