import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { AtriumError, Code } from "../../src/clients/typescript/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { expire, openStore, ownerOf, signedIn } from "./support.ts";
import type { CountingFetch } from "./support.ts";

let app: TestApp;
let orgUuid: string;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" } });
  const { atrium } = await signedIn(app);
  orgUuid = (await atrium.access.getMe({})).orgUuid ?? "";
});
afterAll(() => app.close());

/** Lets the service handle the first `count` refreshes, whose answers then never come. */
function hang(network: CountingFetch, count: number): void {
  network.before = async (rpc, request) => {
    if (rpc !== "Refresh" || network.count(rpc) > count) return undefined;
    await globalThis.fetch(request);
    return new Promise<never>((_, reject) => {
      request.signal.addEventListener("abort", () => reject(request.signal.reason as Error));
    });
  };
}

/** Leaves an access token that is about to expire, and still valid. */
function ageToken(store: ReturnType<typeof openStore>): void {
  if (store.tokens !== undefined) store.tokens = { ...store.tokens, expiresAtMs: Date.now() + 20_000 };
}

it("a refresh whose answer hangs is asked for again within the grace period of the service", async () => {
  const store = openStore();
  const { atrium, network } = await signedIn(app, { store });
  expire(store);
  hang(network, 2);
  await expect(atrium.access.getMe({}, { timeoutMs: 10_000 })).resolves.toBeDefined();
  expect(network.count("Refresh")).toBe(3);
});

it("a refresh succeeds over a link on which each answer is late, unless the call may not last that long", async () => {
  const store = openStore();
  const { atrium, network } = await signedIn(app, { store });
  expire(store);
  network.after = async (rpc, response) => {
    if (rpc === "Refresh") await new Promise((resolve) => setTimeout(resolve, 5_500));
    return response;
  };
  const late = (error: unknown) => AtriumError.from(error).code;
  await expect(atrium.access.getMe({}, { timeoutMs: 1_000 }).catch(late)).resolves.toBe(Code.DeadlineExceeded);
  await expect(atrium.access.getMe({}, { timeoutMs: 30_000 })).resolves.toBeDefined();
});

it("calls go on with a valid token while refreshes are refused for the moment, and one refresh is sent", async () => {
  const store = openStore();
  const { atrium, network } = await signedIn(app, { store });
  ageToken(store);
  network.before = (rpc) =>
    rpc === "Refresh"
      ? new Response('{"code":"resource_exhausted"}', {
          status: 429,
          headers: { "content-type": "application/json", "retry-after": "60" },
        })
      : undefined;
  for (let nth = 0; nth < 3; nth++) await expect(atrium.access.getMe({})).resolves.toBeDefined();
  expect(network.count("Refresh")).toBe(1);
});

it("calls go on with a valid token while a refresh hangs", async () => {
  const store = openStore();
  const { atrium, network } = await signedIn(app, { store });
  ageToken(store);
  hang(network, Infinity);
  for (let nth = 0; nth < 3; nth++) await expect(atrium.access.getMe({}, { timeoutMs: 5_000 })).resolves.toBeDefined();
});

it("a refresh that ends after another client of the store signed in leaves that sign-in", async () => {
  const store = openStore();
  const [first, second] = [await signedIn(app, { store }), await signedIn(app, { store })];
  expire(store);
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (release = resolve));
  first.network.after = async (rpc, response) => {
    if (rpc === "Refresh") await held;
    return response;
  };
  const call = first.atrium.access.getMe({});
  await vi.waitFor(() => expect(first.network.count("Refresh")).toBe(1));
  const login = await second.atrium.login.login(ownerOf(app));
  await second.credential.signIn(login);
  release();
  await call;
  expect(store.tokens?.accessToken).toBe(login.accessToken);
});

it("an elevated token counts no more once another client of the store has signed in", async () => {
  const store = openStore();
  let asked = 0;
  const first = await signedIn(
    app,
    { store },
    {
      async onStepUp() {
        asked++;
        const { challengeId } = await first.atrium.stepUp.createChallenge({ method: "password" });
        return first.atrium.stepUp.verifyChallenge({ challengeId, password: app.owner.password });
      },
    },
  );
  // A rotation that is under way refuses the next one, after the step-up.
  const rotate = () => first.atrium.signingKeys.rotateSigningKey({ orgUuid }).catch((error: unknown) => error);
  await rotate();
  await rotate();
  expect(asked).toBe(1);
  await signedIn(app, { store });
  await rotate();
  expect(asked).toBe(2);
});
