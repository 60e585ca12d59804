import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, expect } from "vitest";
import { VaultService } from "../../gen/atrium/vault/v1/vault_pb.ts";
import { MASTER_KEY, startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevated, founder, member } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";
import { sameLives } from "../support/protocols.ts";

let app: TestApp;
let operator: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  operator = await app.login();
});
afterAll(() => app.close());

interface World extends Somebody {
  employee: string;
  elevated: string;
}

const rpc = VaultService.method;
/** What a codec may change: line ends, an astral character, a byte order mark, what JSON escapes. */
const VALUE = `\u0001 \r\n\t "\\" é 漢 \u{1f511} \ufeff\u2028 \u007f ${"ab ".repeat(20_000)}`;

sameLives<World>("secrets", {
  services: [VaultService],
  app: () => app,
  async prepare() {
    const owner = await founder(app);
    const { token } = await member(app, owner);
    return { ...owner, employee: token, elevated: await elevated(app, owner.token) };
  },
  async live({ ok, refused }, { org: orgUuid, token, employee, elevated: stepped }) {
    const [owner, person] = [{ token }, { token: employee }];
    const named = (name: string) => ({ orgUuid, name });
    const tags = (...words: string[]) => ({
      values: words.map((value) => ({ kind: { case: "stringValue" as const, value } })),
    });
    const condition = (tag: string) => ({ token, headers: { "if-match": tag } });

    const entry = { ...named("db.main"), tags: tags("prod", "é"), description: "primary" };
    await ok(rpc.putSecret, { ...entry, value: VALUE, expectedVersion: 0 }, owner);
    await ok(rpc.putSecret, { ...named("db.main"), value: "" }, condition('"1"'));
    await ok(rpc.putSecret, { ...named("empty"), value: "", tags: tags(), description: "" }, owner);
    await ok(rpc.putSecret, { ...named("app_one"), value: "x" }, { token, headers: { "if-none-match": "*" } });
    const conflict = "409 version_conflict";
    const aborted = { rpc: Code.Aborted };
    await refused(rpc.putSecret, { ...entry, value: "x", expectedVersion: 1 }, conflict, { token, ...aborted });
    await refused(rpc.putSecret, { ...entry, value: "x" }, conflict, { ...condition('"1"'), ...aborted });
    await refused(rpc.putSecret, { ...entry, value: "x" }, "400 bad_request", condition("one"));
    await refused(rpc.putSecret, { ...entry, value: "x", tags: tags("") }, "400 validation_error", owner);
    await refused(rpc.putSecret, { ...named("a b"), description: "é".repeat(1_025) }, "400 validation_error", owner);
    await refused(rpc.putSecret, { ...entry, value: `${VALUE}${VALUE}` }, "400 validation_error", owner);
    await refused(rpc.putSecret, { ...entry, value: "x" }, "403 forbidden", person);

    expect((await ok(rpc.getVersion, { ...named("db.main"), version: 1 }, owner)).value).toBe(VALUE);
    await refused(rpc.getVersion, { ...named("db.main"), version: 9 }, "404 secret_not_found", owner);
    await refused(rpc.getVersion, { ...named("db.main"), version: 0 }, "400 validation_error", owner);
    await ok(rpc.getSecret, named("db.main"), owner);
    await ok(rpc.getSecret, named("empty"), owner);
    await refused(rpc.getSecret, named("none"), "404 secret_not_found", owner);
    await refused(rpc.getSecret, named("a b"), "400 validation_error", owner);
    await refused(rpc.getSecret, named("db.main"), "401 unauthorized");
    await ok(rpc.listVersions, named("db.main"), owner);
    await refused(rpc.listVersions, named("none"), "404 secret_not_found", owner);

    await ok(rpc.listSecrets, { orgUuid }, owner);
    await ok(rpc.listSecrets, { orgUuid, limit: 1, offset: 1, sort: "-name", q: "P" }, owner);
    await ok(rpc.listSecrets, { orgUuid, folder: "db", includeFolders: true }, owner);
    await ok(rpc.listSecrets, { orgUuid, q: "nothing" }, owner);
    await refused(rpc.listSecrets, { orgUuid, limit: 0, sort: "value" }, "400 validation_error", owner);

    await refused(rpc.restoreSecret, named("db.main"), "409 conflict", owner);
    await refused(rpc.deleteSecret, named("db.main"), conflict, { ...condition('"1"'), ...aborted });
    await ok(rpc.deleteSecret, named("db.main"), condition('"2"'));
    await refused(rpc.deleteSecret, named("db.main"), "404 secret_not_found", owner);
    await refused(rpc.getSecret, named("db.main"), "404 secret_not_found", owner);
    await ok(rpc.listSecrets, { orgUuid, deleted: true }, owner);
    await ok(rpc.restoreSecret, named("db.main"), owner);
    await refused(rpc.restoreSecret, named("none"), "404 secret_not_found", owner);
    await ok(rpc.getSecret, named("db.main"), owner);

    await refused(rpc.rotateKmsKey, { orgUuid }, "403 step_up_required", owner);
    await ok(rpc.rotateKmsKey, { orgUuid }, { token: stepped });
    await ok(rpc.rotateKmsKey, { orgUuid }, { token: stepped });
    expect((await ok(rpc.getVersion, { ...named("db.main"), version: 1 }, owner)).value).toBe(VALUE);

    const key = MASTER_KEY.toString("base64");
    await ok(rpc.getSealStatus, {}, { token: operator });
    await refused(rpc.getSealStatus, {}, "403 forbidden", owner);
    await refused(rpc.seal, {}, "403 forbidden", owner);
    await ok(rpc.seal, {}, { token: operator });
    try {
      await ok(rpc.getSealStatus, {}, { token: operator });
      await refused(rpc.getSecret, named("db.main"), "423 vault_sealed", owner);
      await refused(rpc.putSecret, { ...entry, value: "x" }, "423 vault_sealed", owner);
      await refused(rpc.unseal, {}, "400 validation_error", { token: operator });
      await refused(rpc.unseal, { key: "short" }, "400 validation_error", { token: operator });
      const wrong = Buffer.alloc(32, 1).toString("base64");
      await refused(rpc.unseal, { key: wrong }, "400 unseal_failed", { token: operator });
    } finally {
      await ok(rpc.unseal, { key }, { token: operator });
    }
    await ok(rpc.unseal, { key }, { token: operator });
    await ok(rpc.getSecret, named("db.main"), owner);
  },
});
