import { describe, expect, it } from "vitest";
import { filesBelow, importsOf } from "../shape/sources.ts";
import { rpcNames, rpcsIn, rpcsOfConsole } from "./rpcs-in-use.ts";
import { EXCEPTIONS } from "./unused-rpcs.ts";

const used = rpcsOfConsole();

describe("the console and the contract", () => {
  it("every rpc is used by a page, or is an exception with its reason", () => {
    const listed = new Set(Object.values(EXCEPTIONS).flat());
    expect(rpcNames.filter((name) => !used.has(name) && !listed.has(name))).toEqual([]);
  });

  it("no rpc that a page uses is listed as an exception", () => {
    const listed = Object.values(EXCEPTIONS).flat();
    expect(listed.filter((name) => used.has(name))).toEqual([]);
  });

  it("the lists name each rpc once, and only rpcs of the contract", () => {
    const listed = Object.values(EXCEPTIONS).flat();
    expect(listed.filter((name, at) => !rpcNames.includes(name) || listed.indexOf(name) !== at)).toEqual([]);
  });

  it("a use is found in each of its forms, and only for the service that is imported", () => {
    const from = "../../gen/atrium/users/v1/users_pb.ts";
    const found = rpcsIn(
      `import { UsersService, User } from "${from}";\n` +
        "const { listUsers: list, updateUser } = UsersService.method;\n" +
        "useCall(UsersService.method.createInvitation);\n" +
        `const users = createClient(UsersService, transport); users.setUserRole({});`,
    );
    expect([...found].sort()).toEqual(
      ["createInvitation", "listUsers", "setUserRole", "updateUser"].map((name) => `UsersService.${name}`),
    );
    expect(rpcsIn(`import { UsersService } from "./users_pb.ts"; UsersService.method.listUsers`).size).toBe(0);
  });

  it("the console talks to the service through @atrium/client alone", () => {
    const direct = filesBelow("src/console", [".ts", ".tsx"]).filter((file) =>
      importsOf(file).some(({ to }) => to === "@connectrpc/connect-web"),
    );
    expect(direct).toEqual([]);
  });
});
