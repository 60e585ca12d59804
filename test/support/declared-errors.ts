import { services } from "../../gen/services.ts";
import { compilePolicies } from "../../src/server/policy.ts";
import { errorCodesOf, PROTOCOL_CODES } from "../../src/server/rpc-errors.ts";

/** In the metrics, a request whose framing a protocol refuses by itself; its answer has no code of ours. */
const BY_PROTOCOL = "protocol";

/** The codes of each rpc, by its name in the metrics. */
const declared = new Map(
  [...compilePolicies(services).values()].map((policy) => [
    policy.rpc,
    new Set<string>([...errorCodesOf(policy), ...PROTOCOL_CODES, BY_PROTOCOL]),
  ]),
);

/** A count of refusals in the metrics, such as `…errors_total{rpc="…",protocol="rest",code="not_found"} 3`. */
const REFUSALS = /rpc="([^"]+)",protocol="[^"]*",code="([^"]+)"/gu;

/** Pairs of rpc and code in the metrics of a service that the contract does not name. */
export function undeclaredErrors(metrics: string): string[] {
  const found = [...metrics.matchAll(REFUSALS)].flatMap(([, rpc = "", code = ""]) =>
    declared.get(rpc)?.has(code) === false ? [`${rpc} refused with ${code}`] : [],
  );
  return [...new Set(found)].sort();
}
