import { expect, it } from "vitest";
import { describeInBrowser, surroundings } from "./browser.ts";

describeInBrowser("a browser that stores nothing", () => {
  const here = surroundings({ SERVICE_RATE_LIMITS: "off" }, "serve");

  it("one whose storage is full is one device, whose accounts are read once", async () => {
    const page = await here.open();
    const devices = new Set<string>();
    let reads = 0;
    page.on("request", (request) => {
      const device = request.headers()["x-device-uuid"];
      if (device !== undefined) devices.add(device);
      reads += Number(/ListDeviceAccounts$/u.test(request.url()));
    });
    await page.addInitScript(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException("full", "QuotaExceededError");
      };
    });
    await here.signIn(page);
    const accounts = page.getByRole("region", { name: "Accounts on this device" });
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await accounts.getByRole("cell", { name: here.app.owner.email }).waitFor();
    expect(reads).toBe(1);
    expect(devices.size).toBe(1);
  });

  it("one that blocks cookies, and so locks and storage, signs in, and says that no session will last", async () => {
    const page = await here.open();
    await page.addInitScript(() => {
      const denied = (): never => {
        throw new DOMException("denied", "SecurityError");
      };
      Object.defineProperty(globalThis, "localStorage", { get: denied });
      Object.defineProperty(globalThis, "sessionStorage", { get: denied });
      Object.defineProperty(navigator, "cookieEnabled", { get: () => false });
      navigator.locks.request = async () => denied();
    });
    await page.goto(`${here.url}/sign-in`);
    await page.getByText("This browser blocks the cookies of this site", { exact: false }).waitFor();
    await here.signIn(page);
    await page.getByRole("link", { name: "Members", exact: true }).click();
    await page.getByRole("cell", { name: here.app.owner.email }).first().waitFor();
  });
});
