import { Health, HealthCheckResponse_ServingStatus as Status } from "../../gen/health/v1/health_pb.ts";
import { errors } from "../platform/errors.ts";
import { registration } from "../platform/rpc.ts";
import type { ServiceRegistration } from "../platform/rpc.ts";

/** Interval at which the status of a watch is read. */
const WATCH_INTERVAL_MS = 1_000;

/**
 * Creates the gRPC health service v1. The server (`""`) and every service are SERVING while `ready` returns true and
 * the server is not draining.
 */
export function healthService(
  services: readonly string[],
  ready: () => boolean | Promise<boolean>,
  draining: AbortSignal,
): ServiceRegistration {
  const known = new Set(["", "grpc.health.v1.Health", ...services]);
  const status = async (): Promise<Status> =>
    !draining.aborted && (await ready()) ? Status.SERVING : Status.NOT_SERVING;
  return registration(Health, {
    async check({ service }) {
      if (!known.has(service)) throw errors.notFound({ message: "unknown service" });
      return { status: await status() };
    },
    async list() {
      const now = await status();
      return { statuses: Object.fromEntries([...known].map((service) => [service, { status: now }])) };
    },
    async *watch({ service }, context) {
      let last: Status | undefined;
      while (!context.signal.aborted) {
        const now = known.has(service) ? await status() : Status.SERVICE_UNKNOWN;
        if (now !== last) yield { status: now };
        last = now;
        await pause(WATCH_INTERVAL_MS, draining.aborted ? context.signal : AbortSignal.any([context.signal, draining]));
      }
    },
  });
}

/** Waits for `ms`, or until the signal is aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, ms);
    function done(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    }
    signal.addEventListener("abort", done, { once: true });
  });
}
