/**
 * The plain way to build the same route: Connect's own handler, the token verified with jose,
 * one read through MikroORM per request to see that the session still stands.
 */
import { createServer } from "node:http";
import { fromJsonString } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { MikroORM, defineEntity, p } from "@mikro-orm/postgresql";
import { createLocalJWKSet, exportJWK, generateKeyPair, jwtVerify, SignJWT } from "jose";
import { AccessService, GetMeResponseSchema } from "../../../gen/atrium/access/v1/access_pb.ts";
import { serve } from "./serve.ts";

const issuer = "http://localhost";
const sessions = 64;
const answer = fromJsonString(GetMeResponseSchema, process.env["ANSWER"] ?? "{}");

const SessionSchema = defineEntity({
  name: "PlainSession",
  tableName: "plain_sessions",
  properties: { sid: p.uuid().primary(), userUuid: p.uuid(), revokedAt: p.datetime(3).nullable() },
});
class PlainSession extends SessionSchema.class {}
SessionSchema.setClass(PlainSession);

const orm = await MikroORM.init({
  clientUrl: process.env["DATABASE"] ?? "",
  entities: [PlainSession],
  pool: { min: 10, max: 10 },
});
await orm.schema.drop();
await orm.schema.create();

const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
const keys = createLocalJWKSet({ keys: [{ ...(await exportJWK(publicKey)), kid: "plain", alg: "EdDSA" }] });

const em = orm.em.fork();
const tokens = await Promise.all(
  Array.from({ length: sessions }, async () => {
    const sid = crypto.randomUUID();
    em.persist(em.create(PlainSession, { sid, userUuid: crypto.randomUUID(), revokedAt: null }));
    return new SignJWT({ sid, roles: answer.roles, entitlements: answer.entitlements })
      .setProtectedHeader({ alg: "EdDSA", kid: "plain", typ: "at+jwt" })
      .setIssuer(issuer)
      .setJti(crypto.randomUUID())
      .setIssuedAt()
      .setExpirationTime("1h")
      .sign(privateKey);
  }),
);
await em.flush();

const handler = connectNodeAdapter({
  routes: (router) =>
    router.service(
      AccessService,
      {
        async getMe(_request, context) {
          const token = context.requestHeader.get("authorization")?.replace(/^Bearer /, "") ?? "";
          const { payload } = await jwtVerify(token, keys, { issuer, typ: "at+jwt" });
          const session = await orm.em.fork().findOne(PlainSession, { sid: payload["sid"] as string });
          if (session === null || session.revokedAt !== null) throw new ConnectError("revoked", Code.Unauthenticated);
          return answer;
        },
      },
      { jsonOptions: { useProtoFieldName: true, alwaysEmitImplicit: true } },
    ),
});

serve(createServer(handler), { tokens });
