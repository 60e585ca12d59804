import { expect, it } from "vitest";
import { errors } from "../../src/platform/errors.ts";
import { scimErrorBody } from "../../src/platform/scim-error.ts";

it("an error that names no scimType has one where its status tells which, and no other", () => {
  expect(scimErrorBody(errors.badRequest())).toMatchObject({ status: "400", scimType: "invalidSyntax" });
  expect(scimErrorBody(errors.invalidUuid())).toMatchObject({ status: "400", scimType: "invalidValue" });
  // Such as a request whose Idempotency-Key is in use: nothing is there twice.
  for (const error of [errors.conflict(), errors.notFound()])
    expect(scimErrorBody(error)).not.toHaveProperty("scimType");
});
