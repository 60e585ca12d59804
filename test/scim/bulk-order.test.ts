import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import { directoryOf, ENTERPRISE_URN } from "./support.ts";
import type { Directory } from "./support.ts";

let app: TestApp;
let directory: Directory;
beforeAll(async () => {
  app = await startApp();
  directory = await directoryOf(app, await founder(app));
});
afterAll(() => app.close());

let made = 0;
const fresh = () => `order${++made}@scim.test`;
const create = (bulkId: string, userName = fresh(), more: object = {}) => ({
  method: "POST",
  path: "/Users",
  bulkId,
  data: { userName, ...more },
});
const replace = (id: string, path: string, value: unknown) => ({
  method: "PATCH",
  path: `/Users/${id}`,
  data: { Operations: [{ op: "replace", path, value }] },
});
const emails = (value: string) => ({ emails: [{ value }] });
const manager = (value: string) => ({ [ENTERPRISE_URN]: { manager: { value } } });
const statuses = async (...Operations: object[]) => {
  const { body } = await directory.call("POST", "/Bulk", { Operations });
  return (body.Operations as { status: string }[]).map(({ status }) => status).join(" ");
};
const user = async () => {
  const userName = fresh();
  return { userName, id: (await directory.user({ userName })).id as string };
};

test("a create takes the userName that an operation before it frees, by PATCH, PUT or DELETE", async () => {
  for (let round = 0; round < 5; round++) {
    const [a, b, c] = [await user(), await user(), await user()];
    expect(
      await statuses(
        replace(a.id, "UserName", fresh()),
        create("a", a.userName, emails(fresh())),
        { method: "PUT", path: `/Users/${b.id}`, data: { userName: fresh() } },
        create("b", b.userName, emails(fresh())),
        { method: "DELETE", path: `/Users/${c.id}` },
        create("c", c.userName),
      ),
    ).toBe("200 201 200 201 204 201");
  }
});

test("an operation loses a userName or an address to the one before it", async () => {
  for (let round = 0; round < 5; round++) {
    const [a, b] = [await user(), await user()];
    const [name, address, other] = [fresh(), fresh(), fresh()];
    expect(
      await statuses(
        create("a", name),
        replace(a.id, "userName", name),
        replace(a.id, "emails", [{ value: address }]),
        replace(b.id, "emails", [{ value: address }]),
        create("b", fresh(), emails(address)),
        create("c", fresh(), { Emails: [{ Value: other }] }),
        create("d", other),
      ),
    ).toBe("201 409 200 409 409 201 409");
  }
});

test("users exchange their userNames in the order given", async () => {
  const [a, b, between] = [await user(), await user(), fresh()];
  expect(
    await statuses(
      replace(a.id, "userName", between),
      replace(b.id, "userName", a.userName),
      replace(a.id, "userName", b.userName),
    ),
  ).toBe("200 200 200");
  expect((await directory.call("GET", `/Users/${a.id}`)).body.userName).toBe(b.userName);
});

test("operations that wait for a user created before them keep their place", async () => {
  const [name, address] = [fresh(), fresh()];
  expect(
    await statuses(
      create("a", fresh(), emails(address)),
      replace("bulkId:a", "emails", [{ value: fresh() }]),
      create("b", name, { ...emails(address), ...manager("bulkId:a") }),
      create("c", name, emails(fresh())),
    ),
  ).toBe("201 200 201 409");
  const leaver = await user();
  const members = [{ value: "bulkId:d" }, { value: leaver.id }];
  expect(
    await statuses(
      create("d"),
      { method: "POST", path: "/Groups", bulkId: "g", data: { displayName: "Order", members } },
      { method: "DELETE", path: `/Users/${leaver.id}` },
    ),
  ).toBe("201 201 204");
});

test("operations that refer to a later one wait for it, and hold up no other", async () => {
  expect(
    await statuses(
      create("a", fresh(), manager("bulkId:z")),
      replace("bulkId:a", "userName", fresh()),
      { method: "DELETE", path: "/Users/bulkId:a" },
      create("z"),
    ),
  ).toBe("201 200 204 201");
});
