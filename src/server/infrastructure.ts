import type { DescService, Message } from "@bufbuild/protobuf";
import { createConnectRouter } from "@connectrpc/connect";
import type { UniversalHandler } from "@connectrpc/connect/protocol";
import { ServiceError } from "../platform/errors.ts";
import type { ServiceRegistration } from "../platform/rpc.ts";
import { callOf } from "./call.ts";
import { connectError } from "./codes.ts";
import { mapSentErrors, unary } from "./connect.ts";
import { whileValid } from "./credential-watch.ts";
import { endWhenDraining } from "./draining.ts";
import { gzipMessages } from "./gzip.ts";
import { healthService } from "./health.ts";
import type { StreamCall, UnaryCall } from "./pipeline.ts";
import { reflectionServices } from "./reflection.ts";
import type { Fail } from "./reporter.ts";
import type { StreamSlots } from "./streams.ts";

/** What the infrastructure services need of the server. */
export interface InfrastructureOptions {
  services: readonly ServiceRegistration[];
  reflection: boolean;
  ready: () => boolean | Promise<boolean>;
}

/**
 * Creates the handlers of health and reflection, by path: without policies and REST. Their streams count as others do.
 */
export function infrastructureHandlers(
  options: InfrastructureOptions,
  slots: StreamSlots,
  fail: Fail,
  draining: AbortSignal,
  shutdownSignal: AbortSignal,
): (readonly [path: string, UniversalHandler])[] {
  const contract = options.services.map(({ service }) => service);
  const health = healthService(
    contract.map((service) => service.typeName),
    options.ready,
    draining,
  );
  const router = createConnectRouter({
    acceptCompression: [gzipMessages],
    readMaxBytes: 64 * 1024,
    shutdownSignal,
    requestGate: (context) => mapSentErrors(context, callOf(context.values), fail),
  });
  // A watch of health reports that the server drains, and goes on.
  const untilDraining = (service: DescService, stream: AsyncIterable<Message>) =>
    service === health.service ? stream : whileValid(stream, (end) => endWhenDraining(draining, end));
  const services = [health, ...(options.reflection ? reflectionServices([...contract, health.service]) : [])];
  for (const { service, implementation } of services) {
    const found = { ...implementation } as unknown as Record<string, StreamCall | UnaryCall | undefined>;
    for (const { localName, methodKind } of service.methods) {
      const run = found[localName];
      if (run === undefined) continue;
      found[localName] =
        methodKind === "unary"
          ? unary(run as UnaryCall, fail)
          : withConnectErrors(
              (message, context) =>
                slots.hold(context, () => untilDraining(service, (run as StreamCall)(message, context))),
              fail,
            );
    }
    router.service(service, found as Record<string, never>);
  }
  return router.handlers.map((handler) => [handler.requestPath, handler] as const);
}

/** Maps service errors of a stream to Connect errors. */
function withConnectErrors(run: StreamCall, fail: Fail): StreamCall {
  return async function* (message, context) {
    try {
      yield* run(message, context);
    } catch (reason) {
      if (!(reason instanceof ServiceError)) throw reason;
      throw connectError(fail(reason, callOf(context.values)));
    }
  };
}
