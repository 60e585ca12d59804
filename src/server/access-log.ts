import type { Log } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Call } from "./call.ts";

/** Creates the function that records how a call ended: a log line at level info, and the metrics of its rpc. */
export function createCallRecorder(log: Log, metrics: Metrics): (call: Call, status: number) => void {
  return (call, status) => {
    const ms = performance.now() - call.started;
    const rpc = call.policy?.rpc ?? "none";
    metrics.observe(rpc, call.protocol, ms / 1000, call.errorCode);
    call.span?.end(rpc, call.errorCode, {
      "rpc.service": rpc,
      "network.protocol.name": call.protocol,
      "http.response.status_code": status,
      "atrium.request_id": call.info.requestId,
    });
    if (!log.isLevelEnabled("info")) return;
    log.info(
      {
        request_id: call.info.requestId,
        method: call.request.method,
        rpc,
        protocol: call.protocol,
        status,
        ...(call.errorCode === "" ? {} : { error: call.errorCode }),
        ms: Math.round(ms * 1000) / 1000,
        address: call.info.address,
        ...factsOfCaller(call),
        ...(call.span === undefined ? {} : { trace_id: call.span.traceId }),
      },
      "request",
    );
  };
}

/** Who called and for which organization; nothing for an anonymous call. */
function factsOfCaller({ caller }: Call): Record<string, string> | undefined {
  if (caller === undefined) return undefined;
  const { principal, orgUuid } = caller;
  return {
    principal_type: principal.type,
    principal_id: principal.id,
    ...(orgUuid === null ? {} : { org_uuid: orgUuid }),
  };
}
