import type { JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect } from "vitest";
import { CredentialsService } from "../../gen/atrium/credentials/v1/credentials_pb.ts";
import { ScimService } from "../../gen/atrium/scim/v1/scim_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { founder } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { sameLives } from "../support/protocols.ts";
import { ENTERPRISE_URN, GROUP_URN, PATCH_URN, USER_URN } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

const rpc = ScimService.method;
const tokens = CredentialsService.method;
const NOBODY = "0b1d2a3e-aaaa-4000-8000-00000000000f";
const BULK_URN = "urn:ietf:params:scim:api:messages:2.0:BulkRequest";
const SEARCH_URN = "urn:ietf:params:scim:api:messages:2.0:SearchRequest";
const [missing, invalid, stale] = ["404 not_found", "400 validation_error", "412 precondition_failed"];

const changes = (...Operations: JsonObject[]): JsonObject => ({ schemas: [PATCH_URN], Operations });

sameLives<Somebody>("users and groups", {
  services: [ScimService],
  also: [tokens.createScimToken, tokens.listScimTokens, tokens.revokeScimToken],
  app: () => app,
  prepare: () => founder(app),
  async live({ ok, refused }, { org: orgUuid, token, userUuid }) {
    const [owner, org] = [{ token }, { orgUuid }];
    const made = await ok(tokens.createScimToken, { ...org, name: "Okta", expiresInDays: 30 }, owner);
    const spare = await ok(tokens.createScimToken, org, owner);
    await refused(tokens.createScimToken, { ...org, name: "x".repeat(129), expiresInDays: 731 }, invalid, owner);
    await refused(tokens.createScimToken, org, "401 unauthorized");
    const scim = { token: made.token };
    const when = (tag = "") => ({ ...scim, headers: { "if-match": tag } });
    const taken = { ...scim, rpc: Code.AlreadyExists };

    const filtered = { ...org, filter: "id pr" };
    await ok(rpc.getServiceProviderConfig, org, scim);
    await refused(rpc.getServiceProviderConfig, filtered, "403 forbidden", scim);
    await ok(rpc.listResourceTypes, org, scim);
    await refused(rpc.listResourceTypes, filtered, "403 forbidden", scim);
    await ok(rpc.listSchemas, org, scim);
    await refused(rpc.listSchemas, filtered, "403 forbidden", scim);
    await ok(rpc.getResourceType, { ...org, id: "user" }, scim);
    await refused(rpc.getResourceType, { ...org, id: "Nothing" }, missing, scim);
    await ok(rpc.getSchema, { ...org, id: ENTERPRISE_URN }, scim);
    await refused(rpc.getSchema, { ...org, id: "urn:none" }, missing, scim);

    // An address has the id of the organization, so that it is nobody's yet.
    const mail = (name: string) => `${name}@${orgUuid}.test`;
    await ok(rpc.replaceUser, { ...org, id: userUuid, resource: { userName: mail("boss") } }, scim);
    const ada: JsonObject = {
      schemas: [USER_URN, ENTERPRISE_URN],
      userName: mail("ada"),
      externalId: "e-1",
      active: true,
      name: { givenName: "Ada", familyName: "Lövelace", honorificPrefix: "" },
      emails: [{ value: mail("ada"), primary: true, type: "work" }],
      phoneNumbers: [{ value: "+1 555 0100" }],
      addresses: [{ country: "GB", primary: false }],
      [ENTERPRISE_URN]: { department: "R&D", manager: { value: userUuid } },
    };
    const user = await ok(rpc.createUser, { ...org, resource: ada }, scim);
    const id = user.id ?? "";
    const bob = { userName: mail("bob"), active: false };
    const other = await ok(rpc.createUser, { ...org, resource: bob, attributes: "userName,meta.version" }, scim);
    const guest = await ok(rpc.createUser, { ...org, resource: { userName: app.owner.email, title: "Guest" } }, scim);
    expect(guest.active).toBe(false);
    await refused(rpc.createUser, { ...org, resource: ada }, "409 conflict", taken);
    for (const resource of [{ userName: "no address" }, { userName: 7 }, { userName: mail("c"), active: "maybe" }])
      await refused(rpc.createUser, { ...org, resource }, invalid, scim);
    await refused(rpc.createUser, { ...org, resource: ada }, "401 unauthorized", owner);

    await ok(rpc.getUser, { ...org, id, excludedAttributes: "emails,name" }, scim);
    await refused(rpc.getUser, { ...org, id: NOBODY }, missing, scim);
    await refused(rpc.getUser, { ...org, id: "x" }, missing, scim);
    const first = user.meta?.version;
    const sent = { ...ada, nickName: "The Countess", phoneNumbers: [] };
    const replaced = await ok(rpc.replaceUser, { ...org, id, resource: sent }, when(first));
    await refused(rpc.replaceUser, { ...org, id, resource: sent }, stale, when(first));
    await refused(rpc.replaceUser, { ...org, id: NOBODY, resource: sent }, missing, scim);
    const elsewhere = { ...ada, emails: [{ value: app.owner.email }] };
    await refused(rpc.replaceUser, { ...org, id, resource: elsewhere }, "409 conflict", taken);
    const patch = changes({ op: "Replace", path: "title", value: "Dr" }, { op: "add", value: { locale: "en" } });
    await ok(rpc.patchUser, { ...org, id, operations: patch }, when(replaced.meta?.version));
    await ok(rpc.patchUser, { ...org, id, operations: { active: "True" }, attributes: "active" }, when("*"));
    await refused(rpc.patchUser, { ...org, id, operations: patch }, stale, when(first));
    for (const path of ["nothing", "emails[type eq", "id", 'ims[type eq "x"].value'])
      await refused(
        rpc.patchUser,
        { ...org, id, operations: changes({ op: "replace", path, value: "x" }) },
        invalid,
        scim,
      );
    await refused(rpc.patchUser, { ...org, id: userUuid, operations: { active: false } }, "409 conflict", scim);

    await ok(rpc.listUsers, { ...org, sortBy: "userName" }, scim);
    await ok(rpc.listUsers, { ...org, filter: `userName eq "${mail("ADA")}"`, attributes: "userName" }, scim);
    await ok(rpc.listUsers, { ...org, startIndex: 2, count: 1, sortBy: "userName", sortOrder: "descending" }, scim);
    await ok(rpc.listUsers, { ...org, startIndex: 0, count: 0 }, scim);
    const page = { ...org, count: 2, attributes: "userName" };
    const { nextCursor = "" } = await ok(rpc.listUsers, { ...page, cursor: "" }, scim);
    await ok(rpc.listUsers, { ...page, cursor: nextCursor }, scim);
    for (const wrong of [{ filter: "shoe eq 7" }, { sortBy: "shoe" }, { cursor: "x" }, { cursor: "", count: 201 }])
      await refused(rpc.listUsers, { ...org, ...wrong }, invalid, scim);
    const search = { ...org, schemas: [SEARCH_URN], attributes: ["userName", "name.familyName"] };
    await ok(rpc.searchUsers, { ...search, filter: "active eq true", sortBy: "userName" }, scim);
    await refused(rpc.searchUsers, { ...search, filter: "((" }, invalid, scim);
    await refused(rpc.searchUsers, { ...search, cursor: nextCursor, sortBy: "userName" }, invalid, scim);

    const team = { schemas: [GROUP_URN], displayName: "Team", members: [{ value: id }] };
    const group = await ok(rpc.createGroup, { ...org, resource: team }, scim);
    const groupId = group.id ?? "";
    await refused(rpc.createGroup, { ...org, resource: { ...team, displayName: "TEAM" } }, "409 conflict", taken);
    for (const value of [NOBODY, groupId]) {
      const resource = { displayName: "Strangers", members: [{ value }] };
      await refused(rpc.createGroup, { ...org, resource }, invalid, scim);
    }
    await ok(rpc.getGroup, { ...org, id: groupId, excludedAttributes: "members" }, scim);
    await refused(rpc.getGroup, { ...org, id: NOBODY }, missing, scim);
    const resource = { ...team, displayName: "Crew", externalId: "g-1" };
    const crew = await ok(rpc.replaceGroup, { ...org, id: groupId, resource }, when(group.meta?.version));
    const old = when(group.meta?.version);
    await refused(rpc.replaceGroup, { ...org, id: groupId, resource }, stale, old);
    const inside = await ok(rpc.getUser, { ...org, id }, scim);
    expect(inside.groups).toHaveLength(1);
    // A group with one member at a time: several are listed by id.
    const leaving = { op: "remove", path: `members[value eq "${id}"]` };
    const joining = changes(leaving, { op: "add", path: "members", value: [{ value: other.id ?? "" }] });
    await ok(rpc.patchGroup, { ...org, id: groupId, operations: joining }, when(crew.meta?.version));
    await refused(rpc.patchGroup, { ...org, id: groupId, operations: joining }, stale, old);
    await refused(rpc.patchGroup, { ...org, id: groupId, operations: changes({ op: "remove" }) }, invalid, scim);
    await ok(rpc.listGroups, { ...org, filter: `members.value eq "${other.id}"` }, scim);
    await refused(rpc.listGroups, { ...org, filter: "displayName xx 1" }, invalid, scim);
    await ok(rpc.searchGroups, { ...search, attributes: ["displayName"], filter: 'displayName sw "C"' }, scim);
    await refused(rpc.searchGroups, { ...search, cursor: "", count: -1 }, invalid, scim);

    const Operations = [
      { method: "POST", path: "/Users", bulkId: "c", data: { userName: mail("cy") } },
      { method: "POST", path: "/Groups", bulkId: "g", data: { displayName: "B", members: [{ value: "bulkId:c" }] } },
      { method: "PATCH", path: `/Users/${id}`, version: 'W/"0"', data: patch },
      { method: "DELETE", path: `/Groups/${NOBODY}` },
      { method: "POST", path: "/Users", bulkId: "d", data: ada },
      { method: "PUT", path: "/Users/bulkId:x", data: bob },
      { method: "DELETE", path: `/Users/${guest.id}` },
    ];
    const bulk = await ok(rpc.bulk, { ...org, request: { schemas: [BULK_URN], Operations } }, scim);
    expect(bulk.Operations.map(({ status }) => status)).toEqual(["201", "201", "412", "404", "409", "409", "204"]);
    await refused(rpc.bulk, { ...org, request: { schemas: [BULK_URN], Operations: "all" } }, invalid, scim);
    const many = Array.from({ length: 1_001 }, () => ({ method: "DELETE", path: `/Users/${NOBODY}` }));
    const request = { schemas: [BULK_URN], Operations: many };
    await refused(rpc.bulk, { ...org, request }, "413 payload_too_large", scim);

    await refused(rpc.deleteUser, { ...org, id }, stale, when(first));
    await ok(rpc.deleteUser, { ...org, id }, scim);
    await refused(rpc.deleteUser, { ...org, id }, missing, scim);
    await refused(rpc.deleteUser, { ...org, id: userUuid }, "409 conflict", scim);
    await refused(rpc.deleteGroup, { ...org, id: groupId }, stale, old);
    await ok(rpc.deleteGroup, { ...org, id: groupId }, scim);
    await refused(rpc.deleteGroup, { ...org, id: groupId }, missing, scim);

    await ok(tokens.listScimTokens, { ...org, sort: "created_at" }, owner);
    await refused(tokens.listScimTokens, { ...org, limit: 0, sort: "token" }, invalid, owner);
    await ok(tokens.revokeScimToken, { ...org, tokenId: spare.tokenId }, owner);
    await refused(tokens.revokeScimToken, { ...org, tokenId: NOBODY }, missing, owner);
    await refused(rpc.listUsers, org, "401 unauthorized", { token: spare.token });
  },
});
