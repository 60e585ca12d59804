import { expect, it } from "vitest";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { composeServices } from "../../src/app/services.ts";
import { registration } from "../../src/platform/rpc.ts";

const access = registration(AccessService, {});

it("a service that is registered twice stops the start", () => {
  expect(() => composeServices([access, access])).toThrow("atrium.access.v1.AccessService is registered twice");
});

it("an rpc without an implementation stops the start", () => {
  expect(() => composeServices([access])).toThrow(/^atrium\.access\.v1\.AccessService has no implementation of GetMe/u);
});
