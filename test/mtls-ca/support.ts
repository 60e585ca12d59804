import type { Answer, TestApp } from "../support/app.ts";
import type { Somebody } from "../support/people.ts";

/** Calls of the certificate authority of an organization, as somebody in it. */
export function authorityOf(app: TestApp, by: Pick<Somebody, "token" | "org">) {
  const path = `/api/admin/organizations/${by.org}/mtls-ca`;
  const call = (method: string, rest: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    app.call(method, `${path}${rest}`, { token: by.token, headers, ...(body === undefined ? {} : { body }) });
  return {
    create: (body: object = {}) => call("POST", "", { common_name: "Test CA", key_algorithm: "ecdsa-p256", ...body }),
    read: () => call("GET", ""),
    remove: () => call("DELETE", ""),
    issue: (body: object = {}, headers?: Record<string, string>) =>
      call("POST", "/certificates", { common_name: "client", ...body }, headers),
    list: (query = "") => call("GET", `/certificates${query}`),
    get: (id: string) => call("GET", `/certificates/${id}`),
    revoke: (id: string) => call("DELETE", `/certificates/${id}`),
  };
}

/** Fields of a 400, or the status otherwise. */
export function fieldsOf({ status, body }: Answer): unknown {
  if (status !== 400 || body.code !== "validation_error") return status;
  return (body.errors as { field: string }[]).map(({ field }) => field);
}
