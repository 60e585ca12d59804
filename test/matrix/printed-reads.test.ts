import { getOption, hasOption } from "@bufbuild/protobuf";
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import {
  RateClass,
  access,
  null_beside as nullBeside,
  nullable,
  omit_empty as omitEmpty,
  omit_empty_beside as omitBeside,
} from "../../gen/atrium/options/v1/options_pb.ts";
import { printedName } from "../../src/transcoding/index.ts";
import type { TestApp } from "../support/app.ts";
import { bindings } from "../shape/contract-routes.ts";
import type { Binding } from "../shape/contract-routes.ts";
import { openStage } from "./late-writes-stage.ts";
import type { Stage } from "./late-writes-stage.ts";
import { pathOf } from "./late-writes.ts";
import { kindOf, nothingFor, parametersOf, syntaxOf } from "./paths.ts";
import { startMatrixApp } from "./world.ts";

let app: TestApp;
let stage: Stage;
beforeAll(async () => {
  app = await startMatrixApp();
  stage = await openStage(app);
});
afterAll(() => app.close());

/** Whether a member is always there: documented “or null”, or neither optional nor left out when it is empty. */
function isAlways(field: DescField): boolean {
  if (hasOption(field, nullable) && getOption(field, nullable)) return true;
  if ([omitEmpty, omitBeside, nullBeside].some((option) => hasOption(field, option))) return false;
  const isMessage = field.fieldKind === "message";
  return !isMessage && field.oneof === undefined && !field.proto.proto3Optional;
}

/** What is wrong with the members of a printed message, by path. */
function faultsOf(desc: DescMessage, value: unknown, path: string): string[] {
  if (value === null || typeof value !== "object" || desc.typeName.startsWith("google.")) return [];
  const members = value as Record<string, unknown>;
  const known = new Set(desc.fields.map(printedName));
  const strange = Object.keys(members).filter((name) => !known.has(name));
  const missing = desc.fields.filter((field) => isAlways(field) && !(printedName(field) in members));
  const within = desc.fields.flatMap((field) => {
    const { message } = field;
    const name = printedName(field);
    const held = members[name];
    if (message === undefined || held === undefined || held === null) return [];
    const all = field.fieldKind === "message" ? [held] : Object.values(held);
    return all.flatMap((one) => faultsOf(message, one, `${path}.${name}`));
  });
  return [
    ...strange.map((name) => `${path}.${name} is no member`),
    ...missing.map((field) => `${path}.${printedName(field)} is missing`),
    ...within,
  ];
}

const reads = bindings().filter(
  ({ method, auth, rpc }) => method === "GET" && auth !== "scim" && rpc.methodKind === "unary",
);

/** The message that a binding makes of its path. */
const messageOf = ({ rpc, path }: Binding): Record<string, unknown> =>
  Object.fromEntries(
    parametersOf(path).map((name) => {
      const value = stage.side.ids[kindOf(path, name)] ?? nothingFor(rpc, path, name);
      return [name, syntaxOf(rpc, name) === "number" ? Number(value) : value];
    }),
  );

it("every read prints the names of the contract, and what is always there, over REST and Connect", async () => {
  const faults: string[] = [];
  let printed = 0;
  for (const binding of reads) {
    const { rpc } = binding;
    const { token } = stage.actor;
    // At most one of the sixty audit queries a minute.
    if (getOption(rpc, access).rate === RateClass.AUDIT) app.clock.advance(2_100);
    const rest = await app.call("GET", pathOf(binding, stage, {}), { token });
    if (rest.status !== 200 || rest.body === undefined) continue;
    printed += 1;
    const procedure = `/${rpc.parent.typeName}/${rpc.name}`;
    const connect = await app.call("POST", procedure, { token, body: messageOf(binding) });
    if (connect.status !== 200) faults.push(`${rpc.name} over Connect: ${connect.status} ${connect.text}`);
    for (const [protocol, { body }] of [
      ["REST", rest],
      ["Connect", connect],
    ] as const)
      faults.push(...new Set(faultsOf(rpc.output, body, `${rpc.name} over ${protocol}: `)));
  }
  expect(faults).toEqual([]);
  expect(printed).toBeGreaterThan(70);
});
