import { afterAll, beforeAll, expect, test } from "vitest";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { elevate } from "../support/elevate.ts";
import { founder, outcome, password } from "../support/people.ts";
import { signIn } from "../sessions/support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
});
afterAll(() => app.close());

/** The signing keys of a new organization, as its owner. */
async function keysOfNew() {
  const { org, token } = await founder(app);
  const elevated = await elevate(app, token, password);
  const path = `/api/admin/organizations/${org}/signing-keys`;
  return {
    create: (algorithm: string) => app.call("POST", path, { token, body: { algorithm } }),
    rotate: () => app.call("POST", `${path}/rotate`, { token: elevated }),
    async algorithmOf(keyId: string): Promise<string | undefined> {
      const { data } = (await app.call("GET", path, { token })).body;
      return (data as { key_id: string; algorithm: string }[]).find(({ key_id: id }) => id === keyId)?.algorithm;
    },
  };
}

/** Whether ten calls are refused before two RSA keys, which are generated one after the other, exist. */
async function tenRefusedFirst(call: () => Promise<void>): Promise<boolean> {
  const other = await keysOfNew();
  const generated = Promise.all([other.create("rsa4096"), other.create("rsa4096")]).then(() => false);
  const refused = (async () => {
    for (let calls = 0; calls < 10; calls++) await call();
    return true;
  })();
  const isFirst = await Promise.race([generated, refused]);
  await Promise.all([generated, refused]);
  return isFirst;
}

test("a rotation keeps the algorithm of a key that became active while its own was generated", async () => {
  const { create, rotate, algorithmOf } = await keysOfNew();
  expect((await create("rsa4096")).status).toBe(201);
  // Generating an RSA key takes long enough for what follows.
  const rotation = rotate();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect((await create("ed25519")).status).toBe(201);
  const { status, body } = await rotation;
  expect(status).toBe(200);
  expect(await algorithmOf(body.new_key_id as string)).toBe(await algorithmOf(body.previous_key_id as string));
});

test("a rotation is refused while another one is under way, without generating a key", async () => {
  const { create, rotate } = await keysOfNew();
  expect((await rotate()).status).toBe(200);
  expect((await create("rsa4096")).status).toBe(201);
  const refused = async () => expect(outcome(await rotate())).toBe("422 rotation_in_progress");
  expect(await tenRefusedFirst(refused)).toBe(true);
});

test("a key beyond the tenth is refused without being generated", async () => {
  const { create } = await keysOfNew();
  for (let made = 1; made < 10; made++) expect((await create("ed25519")).status).toBe(201);
  const refused = async () => expect(outcome(await create("rsa4096"))).toBe("409 conflict");
  expect(await tenRefusedFirst(refused)).toBe(true);
});

test("a rotation ends when its previous key is deleted, and not when another key becomes active", async () => {
  const who = await founder(app);
  const path = `/api/admin/organizations/${who.org}/signing-keys`;
  const rotate = (token: string) => app.call("POST", `${path}/rotate`, { token });
  const first = await rotate(await elevate(app, who.token, password));
  expect(first.status).toBe(200);
  // What the previous key signed ends with it.
  const token = await elevate(app, (await signIn(app, who)).token, password);
  expect(outcome(await app.call("POST", path, { token, body: { algorithm: "ed25519" } }))).toBe("201");
  expect(outcome(await rotate(token))).toBe("422 rotation_in_progress");
  expect(outcome(await app.call("DELETE", `${path}/${first.body.previous_key_id}`, { token }))).toBe("204");
  expect(outcome(await rotate(token))).toBe("200");
});

test("a rotation that would make an eleventh key is refused", async () => {
  const { create, rotate } = await keysOfNew();
  for (let made = 1; made < 10; made++) expect((await create("ed25519")).status).toBe(201);
  expect(outcome(await rotate())).toBe("409 conflict");
});
