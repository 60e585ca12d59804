import { callRest } from "../support/app.ts";
import { SCIM_JSON, scimUser, scimUserName } from "./scim-users.ts";
import { organizationOf } from "./seeded-people.ts";
import type { Service } from "./service.ts";

/** A directory of an organization. */
export interface Directory {
  /** In the names of its users. */
  id: string;
  base: string;
  token: string;
}

const made = new WeakMap<Service, Promise<Directory[]>>();

/** Paths and tokens of directories, one for each organization of the bench: 5 tokens at most may live in one. */
export function directories(service: Service): Promise<Directory[]> {
  const known = made.get(service) ?? make(service);
  made.set(service, known);
  return known;
}

async function make(service: Service): Promise<Directory[]> {
  return Promise.all(
    service.people.map(async (_, session) => {
      const org = organizationOf(service, session);
      const path = `/api/admin/organizations/${org}/scim-tokens`;
      const { status, body } = await callRest(`http://127.0.0.1:${service.port}`, "POST", path, {
        token: service.tokens[session],
        body: { name: "bench" },
      });
      if (status !== 201) throw new Error(`POST ${path} answered ${status}`);
      return { id: org, base: `/scim/v2/organizations/${org}`, token: body.token as string };
    }),
  );
}

/** Creates users of each directory, with the names of {@link scimUserName}. */
export async function fill(service: Service, users: number): Promise<void> {
  for (const { id, base, token } of await directories(service)) {
    const { status, body } = await callRest(`http://127.0.0.1:${service.port}`, "POST", `${base}/Bulk`, {
      token,
      headers: SCIM_JSON,
      body: {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:BulkRequest"],
        Operations: Array.from({ length: users }, (_, n) => ({
          method: "POST",
          path: "/Users",
          bulkId: String(n),
          data: scimUser(scimUserName(id, n)),
        })),
      },
    });
    const refused = (body.Operations as { status: string }[]).find((operation) => operation.status !== "201");
    if (status !== 200 || refused !== undefined) throw new Error(`Bulk answered ${status} ${JSON.stringify(refused)}`);
  }
}
