import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, mailsTo, member, newcomer, password, tokenTo } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { persistently } from "../support/persistently.ts";
import { directoryOf, ENTERPRISE_URN, refusal, USER_URN } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let owner: Somebody;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  owner = await founder(app);
  directory = await directoryOf(app, owner);
});
afterAll(() => app.close());

let made = 0;
const fresh = () => `user${++made}@scim.test`;

describe("a user", () => {
  test("a user is created as a member, and is returned with everything that was sent", async () => {
    const userName = fresh();
    const body = {
      schemas: [USER_URN, ENTERPRISE_URN],
      userName,
      externalId: "00u1",
      name: { givenName: "Barbara", familyName: "Jensen" },
      displayName: "Babs",
      password: "t0p-secret",
      nosuch: true,
      emails: [{ value: userName, type: "work", primary: true }],
      [ENTERPRISE_URN]: { department: "Tours", manager: { value: "26118915", $ref: "../Users/26118915" } },
    };
    const answer = await directory.call("POST", "/Users", body);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("content-type")).toBe("application/scim+json");
    const { id } = answer.body;
    const location = `http://atrium.test${directory.base}/Users/${id}`;
    expect(answer.headers.get("location")).toBe(location);
    expect(answer.headers.get("etag")).toBe(answer.body.meta.version);
    const { password: _secret, nosuch: _unknown, ...kept } = body;
    expect(answer.body).toEqual({
      ...kept,
      id,
      active: true,
      meta: {
        resourceType: "User",
        created: expect.any(String),
        lastModified: expect.any(String),
        location,
        version: expect.stringMatching(/^W\/"[^"]+"$/u),
      },
    });
    expect((await directory.call("GET", `/Users/${id}`)).body).toEqual(answer.body);
    const { body: members } = await app.call("GET", `/api/users?email=${userName}`, { token: owner.token });
    expect(members.data[0]).toMatchObject({ user_uuid: id, email: userName, first_name: "Barbara", role: "employee" });
  });

  test("a user who is deleted and created again has another ETag than before", async () => {
    const userName = fresh();
    const before = await directory.user({ userName, emails: [{ value: userName }], title: "Guide" });
    await directory.call("DELETE", `/Users/${before.id}`);
    app.clock.advance(1_000);
    const again = await directory.user({ userName, emails: [{ value: userName }], title: "Ranger" });
    expect(again.id).toBe(before.id);
    const headers = (name: string) => ({ [name]: before.meta.version });
    const read = await directory.call("GET", `/Users/${again.id}`, undefined, headers("if-none-match"));
    expect([read.status, read.body.title]).toEqual([200, "Ranger"]);
    expect((await directory.call("DELETE", `/Users/${again.id}`, undefined, headers("if-match"))).status).toBe(412);
  });

  test("a user who was replaced by the same attributes keeps their ETag, and no event is recorded", async () => {
    const userName = fresh();
    const user = await directory.user({ userName, emails: [{ value: userName }], title: "Guide" });
    const before = (await auditOf(app, owner, "scim.user.updated")).length;
    const same = await directory.call("PUT", `/Users/${user.id}`, user);
    expect([same.status, same.headers.get("etag")]).toEqual([200, user.meta.version]);
    expect((await auditOf(app, owner, "scim.user.updated")).length).toBe(before);
    const changed = await directory.call("PUT", `/Users/${user.id}`, { ...user, title: undefined, nickName: "Bab" });
    expect(changed.body).toMatchObject({ nickName: "Bab" });
    expect(changed.body.meta.version).not.toBe(user.meta.version);
    expect(changed.body.title).toBeUndefined();
    expect((await auditOf(app, owner, "scim.user.updated")).length).toBe(before + 1);
  });

  test("a user who was created inactive keeps their ETag when the same attributes are sent again", async () => {
    const user = await directory.user({ userName: fresh(), active: false });
    const before = (await auditOf(app, owner, "scim.user.updated")).length;
    const same = await directory.call("PUT", `/Users/${user.id}`, user);
    expect([same.status, same.body]).toEqual([200, user]);
    const again = await directory.patch(`/Users/${user.id}`, { op: "Replace", path: "active", value: "False" });
    expect([again.status, again.body]).toEqual([200, user]);
    expect((await auditOf(app, owner, "scim.user.updated")).length).toBe(before);
  });

  test("a userName in use returns 409 uniqueness, without case", async () => {
    const userName = fresh();
    await directory.user({ userName });
    expect(refusal(await directory.call("POST", "/Users", { userName: userName.toUpperCase() }))).toBe(
      "409 uniqueness conflict",
    );
    const other = fresh();
    const body = { userName, emails: [{ value: other }] };
    expect(refusal(await directory.call("POST", "/Users", body))).toBe("409 uniqueness conflict");
  });

  test("a user without an address returns 400 invalidValue", async () => {
    for (const body of [
      { userName: "no address" },
      { emails: [{ value: fresh() }] },
      { userName: fresh(), active: "maybe" },
      { userName: fresh(), emails: [{ value: "nobody" }] },
      { userName: fresh(), name: "Babs" },
      { userName: "x".repeat(10_000), emails: [{ value: fresh() }] },
    ])
      expect(refusal(await directory.call("POST", "/Users", body))).toBe("400 invalidValue validation_error");
  });

  test("an email without an address is none: the next one, or else the userName, is the address", async () => {
    const [userName, second] = [fresh(), fresh()];
    for (const [emails, email] of [
      [[{ type: "work", value: "" }], userName],
      [[{ type: "work", primary: true }, { value: second }], second],
    ] as const) {
      const user = await directory.user({ userName: email === userName ? userName : fresh(), emails });
      const { body } = await app.call("GET", `/api/users?email=${email}`, { token: owner.token });
      expect(body.data[0]).toMatchObject({ user_uuid: user.id, email });
    }
  });

  test("a replacement by a body that no user can have returns 400, whether the user exists or not", async () => {
    const user = await directory.user({ userName: fresh() });
    for (const id of [user.id, "0b1d2a3e-aaaa-4000-8000-00000000000f"])
      for (const body of [{ title: "T" }, { userName: "no address" }])
        expect(refusal(await directory.call("PUT", `/Users/${id}`, body))).toBe("400 invalidValue validation_error");
  });

  test("If-Match with another version returns 412, and 50 parallel replacements of one version succeed once", async () => {
    const user = await directory.user({ userName: fresh() });
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        persistently(() =>
          directory.call("PUT", `/Users/${user.id}`, { ...user, title: `T${n}` }, { "if-match": user.meta.version }),
        ),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(refusal))).toEqual(
      new Set(["412 precondition_failed"]),
    );
    const deleted = await directory.call("DELETE", `/Users/${user.id}`, undefined, { "if-match": user.meta.version });
    expect(refusal(deleted)).toBe("412 precondition_failed");
  });
});

describe("deprovisioning", () => {
  test("deactivation ends sessions and keys of the organization at once, and reactivation restores nothing", async () => {
    const joiner = await member(app, owner, 1);
    const key = await app.call("POST", `/api/admin/organizations/${owner.org}/api-keys`, {
      token: joiner.token,
      body: { name: "k", scopes: ["read:users"] },
    });
    const user = (await directory.call("GET", `/Users/${joiner.userUuid}`)).body;
    expect(user).toMatchObject({
      userName: joiner.email,
      active: true,
      emails: [{ value: joiner.email, primary: true }],
    });
    const off = await directory.call("PUT", `/Users/${joiner.userUuid}`, { ...user, active: false });
    expect(off.body.active).toBe(false);
    expect((await app.call("GET", "/api/auth/me", { token: joiner.token })).status).toBe(401);
    expect((await app.call("GET", "/api/users", { token: key.body.api_key })).status).toBe(401);
    expect((await app.call("POST", "/api/auth/refresh", { body: { refresh_token: joiner.refreshToken } })).status).toBe(
      401,
    );
    const [event] = await auditOf(app, owner, "session.bulk_revoked");
    expect(event).toMatchObject({ metadata: { reason: "scim" }, actor: { type: "scim_token" } });
    const on = await directory.call("PUT", `/Users/${joiner.userUuid}`, { ...user, active: true });
    expect(on.body.active).toBe(true);
    expect((await app.call("GET", "/api/auth/me", { token: joiner.token })).status).toBe(401);
  });

  test("the next request on another instance is refused", async () => {
    const second = await startApp({ databaseUrl: app.databaseUrl, clock: app.clock });
    try {
      // Few at a time: on a busy machine, those who wait long for a connection are answered with 503.
      const people: Somebody[] = [];
      while (people.length < 20) people.push(...(await Promise.all([1, 2, 3, 4].map(() => member(app, owner, 1)))));
      const me = (person: Somebody) => second.call("GET", "/api/auth/me", { token: person.token });
      expect((await Promise.all(people.map(me))).map(({ status }) => status)).toEqual(people.map(() => 200));
      const ended = async (person: Somebody, n: number) => {
        const path = `/Users/${person.userUuid}`;
        const end =
          n % 2 === 0
            ? await directory.call("DELETE", path)
            : await directory.patch(path, { op: "replace", path: "active", value: false });
        return [end.status, (await me(person)).status];
      };
      for (let at = 0; at < people.length; at += 4)
        expect(await Promise.all(people.slice(at, at + 4).map(ended))).toEqual([
          [204, 401],
          [200, 401],
          [204, 401],
          [200, 401],
        ]);
    } finally {
      await second.close();
    }
  });

  test("an owner is neither deactivated nor removed", async () => {
    const user = (await directory.call("GET", `/Users/${owner.userUuid}`)).body;
    const off = await directory.call("PUT", `/Users/${owner.userUuid}`, { ...user, active: false });
    expect(refusal(off)).toBe("409 mutability conflict");
    expect(refusal(await directory.call("DELETE", `/Users/${owner.userUuid}`))).toBe("409 mutability conflict");
    expect((await directory.call("GET", `/Users/${owner.userUuid}`)).body).toEqual(user);
  });

  test("a deleted user is gone, and is a member again when SCIM creates them again", async () => {
    const userName = fresh();
    const user = await directory.user({ userName, name: { givenName: "Ann" } });
    expect((await directory.call("DELETE", `/Users/${user.id}`)).status).toBe(204);
    expect(refusal(await directory.call("GET", `/Users/${user.id}`))).toBe("404 not_found");
    expect(refusal(await directory.call("DELETE", `/Users/${user.id}`))).toBe("404 not_found");
    const again = await directory.user({ userName, name: { givenName: "Anna" } });
    expect(again).toMatchObject({ id: user.id, active: true });
  });
});

describe("somebody who is known elsewhere", () => {
  test("is invited, is active once they accept, and their account is not changed", async () => {
    const guest = await founder(app);
    const user = await directory.user({ userName: guest.email, name: { givenName: "Other" }, active: true });
    expect(user).toMatchObject({ id: guest.userUuid, active: false });
    expect(await mailsTo(app, guest.email)).not.toHaveLength(0);
    const waiting = await directory.call("PUT", `/Users/${user.id}`, { ...user, active: true });
    expect(waiting.body).toMatchObject({ active: false, meta: { version: user.meta.version } });
    const token = await tokenTo(app, guest.email);
    const accepted = await app.call("POST", "/api/auth/invite/accept", {
      body: { token, ...newcomer(), password },
    });
    expect(accepted.status).toBe(200);
    expect((await directory.call("GET", `/Users/${user.id}`)).body.active).toBe(true);
    const profile = await app.call("GET", "/api/profile", { token: guest.token });
    expect(profile.body.data?.first_name ?? profile.body.first_name).toBe("Fay");
  });

  test("DELETE and active false withdraw the invitation", async () => {
    for (const end of ["DELETE", "PUT"]) {
      const guest = await founder(app);
      const user = await directory.user({ userName: guest.email });
      const token = await tokenTo(app, guest.email);
      const answer = await directory.call(
        end,
        `/Users/${user.id}`,
        end === "PUT" ? { ...user, active: false } : undefined,
      );
      expect(answer.status).toBeLessThan(300);
      expect((await app.call("GET", `/api/auth/invite/${token}`)).status).toBe(404);
      expect((await app.call("GET", "/api/auth/me", { token: guest.token })).status).toBe(200);
    }
  });
});

test("a user of another organization returns the 404 of an unknown one", async () => {
  const stranger = await founder(app);
  const foreign = await directoryOf(app, stranger);
  const user = await directory.user({ userName: fresh() });
  for (const [method, body] of [["GET"], ["PUT", user], ["DELETE"]] as const) {
    const known = await foreign.call(method, `/Users/${user.id}`, body);
    const unknown = await foreign.call(method, "/Users/0b1d2a3e-aaaa-4000-8000-00000000000f", body);
    expect([known.status, known.body]).toEqual([404, unknown.body]);
  }
  expect((await directory.call("GET", `/Users/${user.id}`)).body).toEqual(user);
});
