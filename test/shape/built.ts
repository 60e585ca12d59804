import { readFileSync } from "node:fs";
import type { DescMethod } from "@bufbuild/protobuf";
import { composeServices } from "../../src/compose/services.ts";

/** An rpc of the contract and whether it has an implementation. */
export interface RpcState {
  rpc: DescMethod;
  built: boolean;
}

/** Stands for any domain: it is handed around while services are wired, and nothing of it is called for real. */
const anything: unknown = new Proxy(() => undefined, { get: (_target, name) => (name === Symbol.toPrimitive ? () => "" : anything), apply: () => anything });

/** Every rpc of the contract, as the program is composed: built when there is code behind it, else it answers 501. */
export function rpcStates(): RpcState[] {
  return composeServices(anything as never, anything as never).flatMap(({ service, implementation }) => service.methods.map((rpc) => ({ rpc, built: rpc.localName in implementation })));
}

/** The line the README has to carry, word for word. */
export function builtLine(): string {
  const states = rpcStates();
  return `Built: ${states.filter(({ built }) => built).length} of ${states.length} rpcs`;
}

/** The README's lines of that form. */
export function readmeLines(): string[] {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  return readme.match(/^Built: .*$/gmu) ?? [];
}

if (import.meta.main) console.log(builtLine());
