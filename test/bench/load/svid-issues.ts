/**
 * Issues SVIDs over gRPC. Asked `{seconds}`, keeps IN_FLIGHT calls going and reports how many SVIDs were issued.
 * Not our own generator: the length of what is issued varies.
 */
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { SpiffeService } from "../../../gen/atrium/spiffe/v1/spiffe_pb.ts";

const headers = { authorization: `Bearer ${process.env["TOKEN"]}` };
const serviceIdentityId = process.env["IDENTITY"] ?? "";
const inFlight = Number(process.env["IN_FLIGHT"]);
const client = createClient(SpiffeService, createGrpcTransport({ baseUrl: `http://127.0.0.1:${process.env["PORT"]}` }));

async function run(seconds: number): Promise<void> {
  const started = performance.now();
  const end = started + seconds * 1000;
  let completed = 0;
  const worker = async (): Promise<void> => {
    for (; performance.now() < end; completed++) await client.issueSvid({ serviceIdentityId }, { headers });
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  process.send?.({ result: { value: completed / ((performance.now() - started) / 1000) } });
}

process.on("disconnect", () => process.exit(0));
process.on("message", ({ seconds }: { seconds: number }) => void run(seconds));
process.send?.({ ready: {} });
