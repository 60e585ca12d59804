import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { describe, expect, it } from "vitest";
import { openedByRole, ROLE_OPERATIONS } from "../../src/console/pages/api-keys/reach.ts";
import { inviteesIn } from "../../src/console/pages/invitations/invitees.ts";
import { expiresSoon } from "../../src/console/pages/delegated/expiry.ts";
import { byResource, diffOf } from "../../src/console/pages/roles/permissions.ts";

describe("the difference of two sets of permissions", () => {
  it("names what is gained, lost and kept, each sorted and once", () => {
    expect(diffOf(["user:read", "app:read", "app:read"], ["vault:read", "app:read", "event:read"])).toEqual({
      gained: ["event:read", "vault:read"],
      lost: ["user:read"],
      kept: ["app:read"],
    });
  });

  it("is empty for the same permissions in another order", () => {
    expect(diffOf(["a:read", "b:read"], ["b:read", "a:read"])).toEqual({
      gained: [],
      lost: [],
      kept: ["a:read", "b:read"],
    });
  });

  it("from nothing gains all, and to nothing loses all", () => {
    expect(diffOf([], ["a:read"])).toEqual({ gained: ["a:read"], lost: [], kept: [] });
    expect(diffOf(["a:read"], [])).toEqual({ gained: [], lost: ["a:read"], kept: [] });
  });

  it("permissions are grouped by resource in the order of the catalogue", () => {
    const named = (name: string) => ({ name });
    expect(byResource(["user:read", "app:read", "user:create"].map(named))).toEqual([
      ["user", [named("user:read"), named("user:create")]],
      ["app", [named("app:read")]],
    ]);
  });
});

describe("people in a pasted text", () => {
  const roles = ["admin", "manager", "QA lead"];

  it("each line gives its address, and a role beside it", () => {
    expect(inviteesIn('ada@example.com\r\n\r\ngrace@example.com, Manager\n"kay@example.com";qa lead', roles)).toEqual([
      { line: "ada@example.com", email: "ada@example.com", role: undefined },
      { line: "grace@example.com, Manager", email: "grace@example.com", role: "manager" },
      { line: '"kay@example.com";qa lead', email: "kay@example.com", role: "QA lead" },
    ]);
  });

  it("a heading is skipped, a second mention too, and a line without an address is kept to be told", () => {
    expect(inviteesIn("Email,Role\nada@example.com\nADA@example.com\nno address here", roles)).toEqual([
      { line: "ada@example.com", email: "ada@example.com", role: undefined },
      { line: "no address here", email: undefined, role: undefined },
    ]);
  });

  it("one line may have many addresses, with names", () => {
    const line = "Ada <ada@example.com>, grace@example.com kay@example.com";
    expect(inviteesIn(line, roles).map(({ email }) => email)).toEqual([
      "ada@example.com",
      "grace@example.com",
      "kay@example.com",
    ]);
  });
});

describe("what a service identity opens by its role", () => {
  it("grows from the role observer to the role admin, which opens all but what owners and the platform do", () => {
    const [observer, employee, admin] = ["observer", "employee", "admin"].map(openedByRole);
    expect(observer).toContain("AccessService.GetMe");
    expect(observer).not.toContain("PublisherService.PublishApp");
    expect(employee).toContain("PublisherService.PublishApp");
    expect(employee).not.toContain("UsersService.ListUsers");
    expect(admin).toEqual(expect.arrayContaining(employee ?? []));
    expect(admin).toContain("UsersService.ListUsers");
    expect(admin).not.toContain("UsersService.DeleteOrganization");
    expect(admin).not.toContain("UsersService.GetProfile");
    expect(admin?.length).toBeLessThanOrEqual(ROLE_OPERATIONS);
  });
});

describe("the warning that a credential expires", () => {
  const day = 86_400_000;
  const of = (lifeMs: number, status = "active") => ({
    status,
    createdAt: timestampFromMs(0),
    expiresAt: timestampFromMs(lifeMs),
  });

  it("comes a week before the end of a long life, and in the last fifth of a short one", () => {
    expect([82, 83, 89].map((at) => expiresSoon(of(90 * day), at * day))).toEqual([false, true, true]);
    expect([7.9, 8].map((at) => expiresSoon(of(10 * day), at * day))).toEqual([false, true]);
  });

  it("is not given for what has ended", () => {
    expect(expiresSoon(of(day, "revoked"), day)).toBe(false);
    expect(expiresSoon(of(day, "expired"), 2 * day)).toBe(false);
  });
});
