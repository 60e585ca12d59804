import type { TestApp } from "./app.ts";

/** An elevated token for a person's session, by their password. */
export async function elevate(app: TestApp, token: string, password: string = app.owner.password): Promise<string> {
  const challenge = await app.call("POST", "/api/auth/step-up/challenge", { token, body: { method: "password" } });
  const verified = await app.call("POST", "/api/auth/step-up/verify", {
    token,
    body: { challenge_id: challenge.body.challenge_id, password },
  });
  if (verified.status !== 200) throw new Error(`step-up answered ${verified.status}: ${verified.text}`);
  return verified.body.elevated_token as string;
}
