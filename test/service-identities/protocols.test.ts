import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll } from "vitest";
import { ServiceIdentitiesService } from "../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { SpiffeService } from "../../gen/atrium/spiffe/v1/spiffe_pb.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { sameLives } from "../support/protocols.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

interface World extends Somebody {
  employee: string;
  admin: string;
  elevated: string;
}

const rpc = ServiceIdentitiesService.method;
const { issueSvid, issueJwtSvid } = SpiffeService.method;
const NOBODY = "0b1d2a3e-aaaa-4000-8000-00000000000f";

sameLives<World>("service identities", {
  services: [ServiceIdentitiesService],
  // What an identity does with its own token.
  also: [issueSvid, issueJwtSvid],
  app: () => app,
  async prepare() {
    const owner = await founder(app);
    const [admin, employee] = [await member(app, owner, 2), await member(app, owner)];
    const stepped = await elevated(app, owner.token);
    return { ...owner, admin: admin.token, employee: employee.token, elevated: stepped };
  },
  async live({ ok, refused }, { org: orgUuid, token, admin, employee, elevated: stepped }) {
    const [owner, person] = [{ token }, { token: employee }];
    const missing = "404 not_found";
    const invalid = "400 validation_error";
    const taken = { token, rpc: Code.AlreadyExists };

    const made = { orgUuid, name: "Déployer", description: "", roleId: 2 };
    const { identityId } = await ok(rpc.createServiceIdentity, made, owner);
    const { identityId: other } = await ok(rpc.createServiceIdentity, { orgUuid, name: "b", roleId: 3 }, owner);
    await refused(rpc.createServiceIdentity, made, "409 name_taken", taken);
    await refused(rpc.createServiceIdentity, { ...made, name: "c", roleId: 999 }, "400 invalid_role", owner);
    await refused(rpc.createServiceIdentity, { orgUuid, description: "x".repeat(1_025) }, invalid, owner);
    await refused(rpc.createServiceIdentity, { ...made, name: "c", roleId: 1 }, "403 forbidden", { token: admin });
    await refused(rpc.createServiceIdentity, { ...made, name: "c" }, "403 forbidden", person);

    const one = { orgUuid, identityId };
    await ok(rpc.getServiceIdentity, { orgUuid, identityId: other }, owner);
    await refused(rpc.getServiceIdentity, { orgUuid, identityId: NOBODY }, missing, owner);
    await refused(rpc.getServiceIdentity, { orgUuid, identityId: "x" }, "400 invalid_uuid", owner);
    await ok(rpc.updateServiceIdentity, { ...one, description: "CI" }, owner);
    await ok(rpc.updateServiceIdentity, { ...one, name: "deployer", description: "", roleId: 3 }, owner);
    await refused(rpc.updateServiceIdentity, { ...one, name: "b" }, "409 name_taken", taken);
    await refused(rpc.updateServiceIdentity, { ...one, name: "" }, invalid, owner);
    await refused(rpc.updateServiceIdentity, { orgUuid, identityId: NOBODY, name: "x" }, missing, owner);

    const wish = { ...one, name: "nightly", expiresIn: 600 };
    const automation = await ok(rpc.createAutomationToken, wish, { token: stepped });
    await ok(rpc.createAutomationToken, { orgUuid, identityId: other, name: "b" }, { token: stepped });
    await refused(rpc.createAutomationToken, { ...wish, name: "", expiresIn: 0 }, invalid, { token: stepped });
    await refused(rpc.createAutomationToken, { ...wish, identityId: NOBODY }, missing, { token: stepped });
    await refused(rpc.createAutomationToken, wish, "403 forbidden", person);

    const itself = { token: automation.token };
    await ok(issueSvid, { serviceIdentityId: identityId }, itself);
    await refused(issueSvid, { serviceIdentityId: other }, "403 forbidden", itself);
    await ok(issueJwtSvid, { audience: ["api"] }, itself);
    await refused(issueJwtSvid, { identityId: other, audience: ["api"] }, "403 forbidden", itself);
    await ok(rpc.getServiceIdentity, one, owner);
    await ok(rpc.listServiceIdentities, { orgUuid, sort: "name" }, owner);
    await ok(rpc.listServiceIdentities, { orgUuid, q: "DEP", limit: 1, offset: 1 }, owner);
    await refused(rpc.listServiceIdentities, { orgUuid, limit: 0 }, invalid, owner);

    await ok(rpc.listAutomationTokens, { orgUuid, sort: "name" }, owner);
    await ok(rpc.listAutomationTokens, { orgUuid, identityId: other, limit: 1 }, owner);
    await refused(rpc.listAutomationTokens, { orgUuid, identityId: "x", sort: "x" }, invalid, owner);
    await ok(rpc.revokeAutomationToken, { orgUuid, tokenId: automation.tokenId }, owner);
    await refused(rpc.revokeAutomationToken, { orgUuid, tokenId: NOBODY }, missing, owner);
    await refused(issueJwtSvid, { audience: ["api"] }, "401 unauthorized", itself);
    await ok(rpc.listAutomationTokens, { orgUuid, identityId }, owner);

    await ok(rpc.deleteServiceIdentity, one, owner);
    await refused(rpc.deleteServiceIdentity, one, missing, owner);
    await ok(rpc.listServiceIdentities, { orgUuid }, owner);
  },
});
