/**
 * Calls GetMe from this process: asked `{seconds}`, keeps IN_FLIGHT calls going and reports how many a second. BY says
 * what calls: `@atrium/client` or the bare generated client, over Connect or gRPC, or `@grpc/grpc-js`.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { credentials, makeGenericClientConstructor, Metadata } from "@grpc/grpc-js";
import { AccessService, GetMeRequestSchema, GetMeResponseSchema } from "../../../gen/atrium/access/v1/access_pb.ts";
import type { GetMeRequest, GetMeResponse } from "../../../gen/atrium/access/v1/access_pb.ts";
import { bearer, createAtrium } from "../../../src/clients/typescript/index.ts";
import { createGrpcTransport } from "../../../src/clients/typescript/node/index.ts";

const { BY: by = "", PORT: port = "", TOKEN: token = "" } = process.env;
const inFlight = Number(process.env["IN_FLIGHT"]);
const baseUrl = `http://127.0.0.1:${port}`;

function atrium(transport: Transport): () => Promise<unknown> {
  const client = createAtrium({ baseUrl, transport, credential: bearer(token) });
  return () => client.access.getMe({});
}

function bare(transport: Transport): () => Promise<unknown> {
  const client = createClient(AccessService, transport);
  const headers = { authorization: `Bearer ${token}` };
  return () => client.getMe({}, { headers });
}

/** A client of `@grpc/grpc-js` with the same messages. */
function grpcJs(): () => Promise<unknown> {
  const Client = makeGenericClientConstructor(
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
    "AccessService",
  );
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", `Bearer ${token}`);
  type Call = (
    request: GetMeRequest,
    metadata: Metadata,
    done: (error: Error | null, answer: GetMeResponse) => void,
  ) => void;
  const getMe = (client["getMe"] as Call).bind(client);
  return () =>
    new Promise((resolve, reject) => {
      getMe(create(GetMeRequestSchema), metadata, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      );
    });
}

const connect = (): Transport => createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true });
const grpc = (): Transport => createGrpcTransport({ baseUrl });
const callers: Readonly<Record<string, () => () => Promise<unknown>>> = {
  "atrium-connect": () => atrium(connect()),
  "bare-connect": () => bare(connect()),
  "atrium-grpc": () => atrium(grpc()),
  "grpc-js": grpcJs,
};
const call = callers[by]?.();
if (call === undefined) throw new Error(`BY must be one of ${Object.keys(callers).join(", ")}`);
await call();

async function run(call: () => Promise<unknown>, seconds: number): Promise<void> {
  const started = performance.now();
  const end = started + seconds * 1_000;
  let completed = 0;
  const worker = async (): Promise<void> => {
    for (; performance.now() < end; completed++) await call();
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  process.send?.({ result: { value: completed / ((performance.now() - started) / 1_000) } });
}

process.on("disconnect", () => process.exit(0));
process.on("message", ({ seconds }: { seconds: number }) => void run(call, seconds));
process.send?.({ ready: {} });
