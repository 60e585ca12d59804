/**
 * connect-node as its documentation has it, the handler empty: answers the message in ANSWER.
 * PROTOCOL is `http1` (Connect) or `h2c` (gRPC).
 */
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import { fromJsonString } from "@bufbuild/protobuf";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { AccessService, GetMeResponseSchema } from "../../../gen/atrium/access/v1/access_pb.ts";
import { serve } from "./serve.ts";

const answer = fromJsonString(GetMeResponseSchema, process.env["ANSWER"] ?? "{}");
const handler = connectNodeAdapter({
  routes: (router) =>
    router.service(
      AccessService,
      { getMe: () => answer },
      { jsonOptions: { useProtoFieldName: true, alwaysEmitImplicit: true } },
    ),
});

serve(process.env["PROTOCOL"] === "h2c" ? createHttp2Server(handler) : createServer(handler));
