/**
 * A backend whose users sign in at Atrium. Reports are checked by the keys alone; payments ask the service, so that a
 * session that has ended pays nothing.
 *
 * ATRIUM_ISSUER  SERVICE_BASE_URL of the service
 * ATRIUM_URL     where the service is reached from here; default: at its issuer
 * PORT           default: a free port
 */
import type { AddressInfo } from "node:net";
import express from "express";
import { createVerifier, guard } from "@atrium/client/verify";
import type { Caller } from "@atrium/client/verify";

const issuer = process.env["ATRIUM_ISSUER"] ?? "http://localhost:8080";
const baseUrl = process.env["ATRIUM_URL"] ?? issuer;
const offline = createVerifier({ issuer, baseUrl });
const online = createVerifier({ issuer, baseUrl, introspect: true });

const callerOf = (request: object): Caller | undefined => (request as { caller?: Caller }).caller;

const app = express();
app.get("/reports", guard(offline, { entitlements: ["marketplace"] }).express, (request, response) => {
  response.json({ organization: callerOf(request)?.orgName });
});
app.post("/payments", guard(online).express, (request, response) => {
  response.json({ paidBy: callerOf(request)?.userUuid });
});

const server = app.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", () => {
  console.log(`Listening on ${(server.address() as AddressInfo).port}`);
});
