import { decodeJwt } from "jose";
import { expect, it } from "vitest";
import { startApp } from "../support/app.ts";
import { tickingClock } from "../support/clock.ts";
import { post } from "./cookie-support.ts";

it("the access token of a magic link lasts 24 hours in cookie mode too", async () => {
  const app = await startApp({ env: { SERVICE_MAGIC_LINK_DEV_ECHO: "1" }, clock: tickingClock() });
  try {
    const sent = await app.call("POST", "/api/auth/magic-link/send", { body: { email: "linked@cookie.test" } });
    const { status, body } = await post(app, "/api/auth/magic-link/verify", { token: sent.body.dev_token });
    expect({ status, body }).toMatchObject({ status: 200, body: { expires_in: 86_400 } });
    const { exp = 0, iat = 0 } = decodeJwt(body.access_token as string);
    expect(exp - iat).toBe(86_400);
  } finally {
    await app.close();
  }
});
