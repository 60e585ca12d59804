import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { memoryStore } from "../../src/clients/typescript/index.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { clientOf, expire, openStore, ownerOf, signedIn } from "./support.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_RATE_LIMITS: "off" } });
});
afterAll(() => app.close());

describe("a session", () => {
  it("a session authenticates the calls of its client", async () => {
    const { atrium } = await signedIn(app);
    expect((await atrium.access.getMe({})).email).toBe(app.owner.email);
  });

  it("fifty parallel calls with an expired token send one refresh", async () => {
    const store = openStore();
    const { atrium, network } = await signedIn(app, { store });
    expire(store);
    const answers = await Promise.all(Array.from({ length: 50 }, () => atrium.access.getMe({})));
    expect(new Set(answers.map(({ email }) => email))).toEqual(new Set([app.owner.email]));
    expect(network.count("Refresh")).toBe(1);
  });

  it("fifty parallel calls whose token the service refuses send one refresh", async () => {
    const { atrium, network } = await signedIn(app);
    app.clock.advance(16 * 60_000);
    await Promise.all(Array.from({ length: 50 }, () => atrium.access.getMe({})));
    expect(network.count("Refresh")).toBe(1);
  });

  it("two clients that refresh on one store at once both stay signed in", async () => {
    const store = openStore();
    const first = await signedIn(app, { store });
    const second = await signedIn(app, { store });
    for (let round = 0; round < 5; round++) {
      expire(store);
      await Promise.all([first.atrium.access.getMe({}), second.atrium.access.getMe({})]);
      app.clock.advance(11_000);
    }
    expire(store);
    await expect(first.atrium.access.getMe({})).resolves.toBeDefined();
    await expect(second.atrium.access.getMe({})).resolves.toBeDefined();
  });

  it("a late 401 of an older token clears nothing", async () => {
    const store = openStore();
    const onSignedOut = vi.fn();
    const { atrium, network } = await signedIn(app, { store, onSignedOut });
    // The call is on its way with the first token while another one is renewed and the first expires.
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    network.before = async (rpc) => {
      if (rpc === "GetMe" && network.count("GetMe") === 1) await held;
      return undefined;
    };
    const late = atrium.access.getMe({});
    app.clock.advance(16 * 60_000);
    expire(store);
    await atrium.users.listUsers({});
    release();
    await expect(late).resolves.toMatchObject({ email: app.owner.email });
    expect(network.count("Refresh")).toBe(1);
    expect(onSignedOut).not.toHaveBeenCalled();
    expect(store.tokens).toBeDefined();
  });

  it("the lost answer of a refresh is asked for again", async () => {
    const store = openStore();
    const { atrium, network } = await signedIn(app, { store });
    expire(store);
    network.after = (rpc, response) => {
      if (rpc === "Refresh" && network.count("Refresh") === 1) throw new TypeError("fetch failed");
      return response;
    };
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
    expect(network.count("Refresh")).toBe(2);
    app.clock.advance(11_000);
    expire(store);
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
  });

  it("a refused refresh signs out once and keeps nothing", async () => {
    const store = openStore();
    const onSignedOut = vi.fn();
    const { atrium, network } = await signedIn(app, { store, onSignedOut });
    await atrium.login.logout({});
    expire(store);
    const answers = await Promise.allSettled(Array.from({ length: 10 }, () => atrium.access.getMe({})));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => "rejected"));
    expect(onSignedOut).toHaveBeenCalledTimes(1);
    expect(network.count("Refresh")).toBe(1);
    expect(store.tokens).toBeUndefined();
  });

  it("a 401 that is not the service's own leaves the session", async () => {
    const store = openStore();
    const onSignedOut = vi.fn();
    const { atrium, network } = await signedIn(app, { store, onSignedOut });
    expire(store);
    network.before = () => new Response("<h1>Sign in at the proxy.</h1>", { status: 401 });
    await expect(atrium.access.getMe({})).rejects.toMatchObject({ errorCode: "unauthorized", status: 0 });
    network.before = () => undefined;
    await expect(atrium.access.getMe({})).resolves.toMatchObject({ email: app.owner.email });
    expect(onSignedOut).not.toHaveBeenCalled();
  });

  it("a store that throws does not end the session", async () => {
    const store = memoryStore();
    const onStoreError = vi.fn();
    const broken = { set: () => Promise.reject(new Error("The disk is full.")), get: store.get };
    const { atrium } = await signedIn(app, { store: broken, onStoreError });
    app.clock.advance(16 * 60_000);
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
    expect(onStoreError).toHaveBeenCalled();
  });

  it("a store that cannot be read goes on with what was read last, and says so", async () => {
    const store = memoryStore();
    const onStoreError = vi.fn();
    let broken = false;
    const { get, set } = store;
    const flaky = { set, get: () => (broken ? Promise.reject(new Error("The disk is away.")) : get()) };
    const { atrium } = await signedIn(app, { store: flaky, onStoreError });
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
    broken = true;
    app.clock.advance(16 * 60_000);
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
    expect(onStoreError).toHaveBeenCalled();
  });

  it("a store whose lock throws fails the call that needs it, and no later one", async () => {
    const store = openStore();
    let locked = true;
    const lock = <T>(work: () => Promise<T>): Promise<T> =>
      locked ? Promise.reject(new Error("The lock is away.")) : work();
    const { atrium, network } = await signedIn(app, { store: Object.assign(store, { lock }) });
    expire(store);
    await expect(atrium.access.getMe({})).rejects.toThrow("The lock is away.");
    locked = false;
    await expect(atrium.access.getMe({})).resolves.toBeDefined();
    expect(network.count("Refresh")).toBe(1);
  });

  it("a wrong code at a factor is sent once and does not refresh the session", async () => {
    const { atrium, network } = await signedIn(app);
    const { data: factor } = await atrium.mfa.createFactor({ factorType: "totp" });
    await expect(atrium.mfa.verifyFactor({ id: factor?.id ?? 0, code: "000000" })).rejects.toMatchObject({
      errorCode: "unauthorized",
    });
    expect(network.count("VerifyFactor")).toBe(1);
    expect(network.count("Refresh")).toBe(0);
  });

  it("sign-in of somebody with a second factor is refused as incomplete", async () => {
    const { credential, atrium } = await signedIn(app);
    const login = await atrium.login.login(ownerOf(app));
    await expect(credential.signIn({ ...login, accessToken: undefined })).rejects.toThrow("challengeTotp");
  });

  it("public calls carry no credential", async () => {
    const { atrium, network } = await signedIn(app);
    const sent: (string | null)[] = [];
    network.before = (_rpc, request) => {
      sent.push(request.headers.get("authorization"));
      return undefined;
    };
    await atrium.login.checkOrganizationName({ name: "Free" });
    expect(sent).toEqual([null]);
    const anonymous = clientOf(app);
    await expect(anonymous.atrium.access.getMe({})).rejects.toMatchObject({ errorCode: "unauthorized", status: 401 });
    expect(anonymous.network.count("GetMe")).toBe(1);
  });
});
