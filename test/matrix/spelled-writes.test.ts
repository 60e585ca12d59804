import { ScalarType } from "@bufbuild/protobuf";
import type { DescField } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Answer, TestApp } from "../support/app.ts";
import { outcome } from "../support/people.ts";
import { openStage, sql } from "./late-writes-stage.ts";
import { pathOf, writes, writingRoutes } from "./late-writes.ts";
import { parametersOf } from "./paths.ts";
import { startMatrixApp } from "./world.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startMatrixApp();
});
afterAll(() => app.close());

const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z0-9])/gu, (_, letter: string) => letter.toUpperCase());

/** A JSON value of another type than a field has; messages are objects, or wrap a text. */
function wrongFor(field: DescField): unknown {
  if (field.fieldKind === "enum") return {};
  const isText = field.fieldKind === "message" || (field.fieldKind === "scalar" && field.scalar === ScalarType.STRING);
  return isText ? 7 : "x";
}

/** A member that is any JSON, in which a card number is looked for. */
const anything: ReadonlySet<string> = new Set(["POST /api/billing/cards card"]);
/** Areas that say `bad_request` for their fields (decisions 1.13). */
const PLAIN = /\/mfa\/|\/step-up\//u;

it("every write takes both spellings of members, ignores unknown ones, and has the status of the table", async () => {
  const on = await openStage(app);
  const faults: string[] = [];
  for (const { name, binding } of writingRoutes()) {
    const { method, path, rpc, status } = binding;
    const { body: given, headers = {}, ids = {} } = (await writes[name]?.(on)) ?? {};
    const filled = pathOf(binding, on, { ids });
    const send = (body: unknown): Promise<Answer> =>
      app.call(method, filled, { token: on.actor.token, headers, ...(body === undefined ? {} : { body }) });
    const isJson = !(given instanceof Uint8Array);
    const body: Record<string, unknown> = isJson ? { ...(given as object | undefined) } : {};

    const inPath = new Set(parametersOf(path));
    const fields = isJson && method !== "DELETE" ? rpc.input.fields.filter((one) => !inPath.has(one.name)) : [];
    for (const field of fields.filter((one) => !anything.has(`${name} ${one.name}`))) {
      const wrong = await send({ ...body, [field.name]: wrongFor(field) });
      const code = PLAIN.test(path) ? "bad_request" : "validation_error";
      const named = (wrong.body?.errors as { field: string }[] | undefined)?.map((one) => one.field);
      if (outcome(wrong) !== `400 ${code}` || !named?.some((one) => one.startsWith(field.name)))
        faults.push(`${name}, ${field.name} of another type: ${outcome(wrong)} ${named?.join()}`);
      if (field.jsonName === field.name) continue;
      const twice = await send({ ...body, [field.name]: null, [field.jsonName]: null });
      if (outcome(twice) !== "400 bad_request")
        faults.push(`${name}, ${field.name} in both spellings: ${outcome(twice)}`);
    }

    const spelled = Object.fromEntries(Object.entries(body).map(([member, value]) => [camelCase(member), value]));
    const done = await send(given === undefined || !isJson ? given : { ...spelled, unknown_member: { a: [1] } });
    if (done.status !== status) faults.push(`${name}: ${done.status} instead of ${status}: ${done.text}`);
    if (status === 204 && (done.text !== "" || done.headers.has("content-type"))) faults.push(`${name}: has a body`);
    await sql(on, "update sessions set revoked_at = null where uuid = $1", on.sid);
    await sql(on, "update sessions set source_uuid = null, idle_until = null where source_uuid = $1", on.sid);
  }
  expect(faults).toEqual([]);
});
