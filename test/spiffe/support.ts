import { spawnSync } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { elevate } from "../support/elevate.ts";
import type { Answer, TestApp } from "../support/app.ts";
import { founder, password } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

/** An owner with an elevated token and a service identity. */
export interface Workloads extends Somebody {
  elevated: string;
  identityId: string;
  /** SPIFFE id of the trust domain. */
  domain: string;
}

let made = 0;

/** Creates a service identity; resolves to its id. */
export async function identity(app: TestApp, owner: Pick<Somebody, "org" | "token">, roleId = 3): Promise<string> {
  const answer = await app.call("POST", `/api/organizations/${owner.org}/service-identities`, {
    token: owner.token,
    body: { name: `workload ${++made}`, role_id: roleId },
  });
  if (answer.status !== 201) throw new Error(`identity answered ${answer.status}: ${answer.text}`);
  return answer.body.identity_id as string;
}

/** A new organization with an identity. */
export async function workloads(app: TestApp): Promise<Workloads> {
  const owner = await founder(app);
  const [elevated, identityId] = [await elevate(app, owner.token, password), await identity(app, owner)];
  return { ...owner, elevated, identityId, domain: `spiffe://${owner.org}.atrium.local` };
}

/** Requests an SVID. */
export function issue(
  app: TestApp,
  { elevated, identityId }: Pick<Workloads, "elevated" | "identityId">,
  body: Record<string, unknown> = {},
): Promise<Answer> {
  return app.call("POST", "/api/auth/spiffe/svid", {
    token: elevated,
    body: { service_identity_id: identityId, ...body },
  });
}

/** The root certificate of an organization. */
export const rootOf = async (app: TestApp, org: string): Promise<X509Certificate> =>
  new X509Certificate((await app.call("GET", `/orgs/${org}/.well-known/ca.pem`)).text);

/** Runs openssl on files in a folder of its own. */
export class OpenSsl {
  readonly #folder = mkdtempSync(join(tmpdir(), "atrium-openssl-"));

  /** Writes a file; returns its path. */
  file(name: string, content: string | Uint8Array): string {
    const path = join(this.#folder, name);
    writeFileSync(path, content);
    return path;
  }

  /** Returns what it prints, diagnostics included. */
  run(...args: string[]): string {
    const { stdout, stderr } = spawnSync("openssl", args, { encoding: "utf8" });
    return `${stdout}${stderr}`;
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
