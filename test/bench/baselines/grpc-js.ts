/** `@grpc/grpc-js` with a handler that answers the message in ANSWER to every `GetMe`. */
import { fromBinary, fromJsonString, toBinary } from "@bufbuild/protobuf";
import type { sendUnaryData } from "@grpc/grpc-js";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import type { GetMeRequest, GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { GetMeRequestSchema, GetMeResponseSchema } from "../../../gen/atrium/access/v1/access_pb.ts";

const answer = fromJsonString(GetMeResponseSchema, process.env["ANSWER"] ?? "{}");
const server = new Server();
server.addService(
  {
    getMe: {
      path: "/atrium.access.v1.AccessService/GetMe",
      requestStream: false,
      responseStream: false,
      requestSerialize: (message: GetMeRequest) => Buffer.from(toBinary(GetMeRequestSchema, message)),
      requestDeserialize: (bytes: Buffer) => fromBinary(GetMeRequestSchema, bytes),
      responseSerialize: (message: GetMeResponse) => Buffer.from(toBinary(GetMeResponseSchema, message)),
      responseDeserialize: (bytes: Buffer) => fromBinary(GetMeResponseSchema, bytes),
    },
  },
  { getMe: (_call: unknown, done: sendUnaryData<GetMeResponse>) => done(null, answer) },
);

process.on("disconnect", () => process.exit(0));
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (cause, port) => {
  if (cause !== null) throw cause;
  process.send?.({ ready: { port } });
});
