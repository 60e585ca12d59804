import { create } from "@bufbuild/protobuf";
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { IssueCertificateRequestSchema } from "../../gen/atrium/mtls_ca/v1/mtls_ca_pb.ts";
import { CreateResourceRequestSchema } from "../../gen/atrium/scim/v1/messages_pb.ts";
import { fingerprint } from "../../src/server/fingerprint.ts";

const creation = (resource: JsonObject) =>
  create(CreateResourceRequestSchema, { orgUuid: "an organization", resource, attributes: "userName" });
const hexOf = (resource: JsonObject) => fingerprint(CreateResourceRequestSchema, creation(resource)).toString("hex");

const resource = { userName: "Zoë", "10": [1, -0, 1e300, null], "9": { b: true, a: "" }, active: false };

test("a fingerprint is the one that was stored by earlier versions", () => {
  expect(hexOf(resource)).toBe("dfeb6fba933ff58d1da0d3e573409fdd3132047d16388e68024e615064cc19bb");
  const request = create(IssueCertificateRequestSchema, {
    commonName: "c",
    sans: ["b", "a"],
    metadata: { z: "1", a: "" },
  });
  expect(fingerprint(IssueCertificateRequestSchema, request).toString("hex")).toBe(
    "5d144c5fca9c4ff95b38ad25f182f0a09bc3abc2ef56800e816909fe41818e19",
  );
});

test("a fingerprint does not depend on the order of members, but on everything else", () => {
  const turned = { active: false, "9": { a: "", b: true }, userName: "Zoë", "10": [1, -0, 1e300, null] };
  expect(hexOf(turned)).toBe(hexOf(resource));
  for (const other of [{ ...resource, active: true }, { ...resource, "10": [1, -0, null, 1e300] }, {}])
    expect(hexOf(other)).not.toBe(hexOf(resource));
});

test("a fingerprint depends on every member of an object that looks like a message of the library", () => {
  for (const $typeName of ["x", "google.protobuf.Struct"])
    expect(hexOf({ $typeName, userName: "a" })).not.toBe(hexOf({ $typeName, userName: "b" }));
});
