import type { Answer, TestApp } from "../support/app.ts";
import { elevated } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

/** Calls on the secrets of one organization. */
export function secretsOf(app: TestApp, { org, token }: Pick<Somebody, "org" | "token">) {
  const path = (rest: string): string => `/api/admin/organizations/${org}/secrets${rest}`;
  return {
    put: (name: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
      app.call("PUT", path(`/${name}`), { token, body: typeof body === "string" ? { value: body } : body, headers }),
    get: (name: string, version?: number): Promise<Answer> =>
      app.call("GET", path(`/${name}${version === undefined ? "" : `/versions/${version}`}`), { token }),
    versions: (name: string): Promise<Answer> => app.call("GET", path(`/${name}/versions`), { token }),
    remove: (name: string, headers: Record<string, string> = {}): Promise<Answer> =>
      app.call("DELETE", path(`/${name}`), { token, headers }),
    restore: (name: string): Promise<Answer> => app.call("POST", path(`/${name}/restore`), { token }),
    list: (query = ""): Promise<Answer> => app.call("GET", path(query), { token }),
    async rotate(): Promise<Answer> {
      return app.call("POST", `/api/admin/organizations/${org}/kms-keys/rotate`, { token: await elevated(app, token) });
    },
  };
}

/** Calls on the seal, as the operator. */
export async function sealOf(app: TestApp) {
  const token = await app.login();
  return {
    status: (): Promise<Answer> => app.call("GET", "/api/operator/vault/status", { token }),
    seal: (): Promise<Answer> => app.call("POST", "/api/operator/vault/seal", { token }),
    unseal: (body: unknown): Promise<Answer> => app.call("POST", "/api/operator/vault/unseal", { token, body }),
  };
}
