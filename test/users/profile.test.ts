import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LoginService } from "../../gen/atrium/login/v1/login_pb.ts";
import { UsersService } from "../../gen/atrium/users/v1/users_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder, invite, outcome, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1", SERVICE_MAGIC_LINK_DEV_ECHO: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const put = (token: string, body: unknown) => app.call("PUT", "/api/profile", { token, body });
const read = async (token: string) => (await app.call("GET", "/api/profile", { token })).body;

describe("a profile", () => {
  it("people read and change their profile, where absent members stay and an empty number removes it", async () => {
    const before = await read(owner.token);
    expect(before).toEqual({
      id: before.id,
      user_uuid: owner.userUuid,
      email: owner.email,
      first_name: "Fay",
      last_name: "",
      has_password: true,
    });
    expect((await put(owner.token, { first_name: "Fée", phone: "+4915112345678" })).body).toEqual({ status: "ok" });
    expect(await read(owner.token)).toMatchObject({ first_name: "Fée", phone: "+4915112345678" });
    expect((await put(owner.token, { first_name: "Fay" })).status).toBe(200);
    expect(await read(owner.token)).toMatchObject({ first_name: "Fay", phone: "+4915112345678" });
    expect((await put(owner.token, { phone: "", email: "other@people.test", is_superuser: true })).status).toBe(200);
    expect(await read(owner.token)).toEqual(before);
  });

  it.each([["0151"], ["+0151"], ["+49 151"], ["+1234567890123456"], ["x"]])(
    "a profile refuses the telephone number %s",
    async (phone) => {
      expect(outcome(await put(owner.token, { phone }))).toBe("400 invalid_phone");
    },
  );

  it("a profile refuses a blank or overlong name, and stores others without spaces around them", async () => {
    for (const first_name of ["", "   ", "\u00a0", "x".repeat(101)])
      expect(outcome(await put(owner.token, { first_name })), first_name).toBe("400 validation_error");
    expect((await put(owner.token, { first_name: "  Fay " })).status).toBe(200);
    expect(await read(owner.token)).toMatchObject({ first_name: "Fay" });
  });

  it("people without an organization have a profile too", async () => {
    const { body: sent } = await app.call("POST", "/api/auth/magic-link/send", {
      body: { email: "alone@people.test" },
    });
    const { body } = await app.call("POST", "/api/auth/magic-link/verify", { body: { token: sent.dev_token } });
    expect(await read(body.access_token)).toMatchObject({ email: "alone@people.test", has_password: false });
    expect((await put(body.access_token, { first_name: "Al" })).status).toBe(200);
    expect(outcome(await app.call("GET", "/api/users", { token: body.access_token }))).toBe("403 forbidden");
  });
});

describe.each(["connect", "grpc", "grpc-web"])("over %s", (protocol) => {
  const client = <S extends typeof UsersService | typeof LoginService>(service: S, token?: string) => {
    const options = {
      baseUrl: app.url,
      httpVersion: "2" as const,
      interceptors: [
        (next: (request: never) => Promise<never>) => (request: { header: Headers }) => {
          if (token !== undefined) request.header.set("authorization", `Bearer ${token}`);
          return next(request as never);
        },
      ],
    };
    const transport =
      protocol === "connect"
        ? createConnectTransport(options as never)
        : protocol === "grpc"
          ? createGrpcTransport(options as never)
          : createGrpcWebTransport(options as never);
    return createClient(service, transport);
  };

  it("over the other protocols the same people are invited, join, are listed and removed", async () => {
    const email = `${protocol}@people.test`;
    const users = client(UsersService, owner.token);
    const made = await users.createInvitation({ orgUuid: owner.org, email, roleId: 3 });
    expect(made).toMatchObject({ email, role: "employee", status: "pending" });
    const { token } = await invite(app, owner, email, 4);
    const { data } = await client(LoginService).acceptInvite({
      token,
      firstName: "Pro",
      lastName: "Col",
      username: `over-${protocol}`,
      password,
    });
    expect(data).toMatchObject({ role: "observer", orgUuid: owner.org, tokenType: "Bearer" });
    const { data: found } = await users.listUsers({ email });
    expect(found).toMatchObject([{ userUuid: data?.userUuid, role: "observer", status: "active" }]);
    const picture = await users.getPicture({ userUuid: data?.userUuid ?? "" });
    expect(picture.contentType).toBe("image/png");
    await users.deleteUser({ userUuid: data?.userUuid ?? "" });
    await expect(client(UsersService, data?.accessToken).getProfile({})).rejects.toThrow(/unauthenticated/u);
    await expect(client(LoginService).acceptInvite({ token })).rejects.toThrow(/expired or was used/u);
    await expect(users.deleteOrganization({ orgUuid: owner.org })).rejects.toThrow(/elevated/u);
  });
});
