import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { compileUuidCase } from "../../src/platform/uuid-case.ts";
import { messageType } from "./contract.ts";

const upper = "0B8F6A9E-1F5A-4C8E-9A53-0D2F6C1B7A01";
const lower = upper.toLowerCase();
const desc = messageType("IdsRequest");

function changed(init: Record<string, unknown>) {
  const message = create(desc, init as never);
  compileUuidCase(desc)?.(message);
  return message;
}

test("every UUID of a message is written in lower case, wherever it stands, and no other text", () => {
  const ids = (id: string) => ({ id, other: id, ids: [id, id], named: { [upper]: id }, name: upper });
  expect(
    changed({
      ...ids(upper),
      choice: { case: "chosen", value: upper },
      inner: [{ ids: [upper], inner: [{ id: upper }] }],
    }),
  ).toMatchObject({
    ...ids(lower),
    choice: { case: "chosen", value: lower },
    inner: [{ ids: [lower], inner: [{ id: lower }] }],
  });
  expect(changed({ choice: { case: "text", value: upper } })).toMatchObject({ choice: { case: "text", value: upper } });
});

test("messages without UUIDs stay as they are, also of a type that occurs twice", () => {
  const notes = { first: { text: "a" }, others: [{ text: "b" }, { text: "c" }] };
  expect(changed({ id: upper, ...notes })).toMatchObject({ id: lower, ...notes });
});

test("fields that are not set remain so, and a message without UUIDs needs no change", () => {
  expect(changed({})).toEqual(create(desc, {}));
  expect(compileUuidCase(messageType("CreateRequest"))).toBeUndefined();
});
