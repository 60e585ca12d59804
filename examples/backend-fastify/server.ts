/**
 * A backend whose users sign in at Atrium. It checks their tokens itself, with the published keys.
 *
 * ATRIUM_ISSUER  SERVICE_BASE_URL of the service
 * ATRIUM_URL     where the service is reached from here; default: at its issuer
 * PORT           default: a free port
 */
import type { AddressInfo } from "node:net";
import Fastify from "fastify";
import { createVerifier, guard } from "@atrium/client/verify";
import type { Caller } from "@atrium/client/verify";

declare module "fastify" {
  interface FastifyRequest {
    caller?: Caller;
  }
}

const issuer = process.env["ATRIUM_ISSUER"] ?? "http://localhost:8080";
const verifier = createVerifier({ issuer, baseUrl: process.env["ATRIUM_URL"] ?? issuer });
const signedIn = guard(verifier);
const mayManage = guard(verifier, { roles: ["admin", "manager"], entitlements: ["marketplace"] });
const afterStepUp = guard(verifier, { elevated: true });

const server = Fastify();
server.get("/projects", { preHandler: signedIn.fastify }, ({ caller }) => ({ organization: caller?.orgName }));
server.post("/projects", { preHandler: mayManage.fastify }, ({ caller }) => ({ createdBy: caller?.userUuid }));
server.delete("/projects", { preHandler: afterStepUp.fastify }, () => ({ deleted: true }));

await server.listen({ port: Number(process.env["PORT"] ?? 0), host: "127.0.0.1" });
console.log(`Listening on ${(server.server.address() as AddressInfo).port}`);
