import { RestExchange } from "./exchange.ts";
import { bindingsOf } from "./bindings.ts";
import { Writers } from "./json/write.ts";
import { Matcher } from "./matcher.ts";
import type { Match } from "./matcher.ts";
import { Refusal } from "./refusal.ts";
import { targetOf } from "./route.ts";
import type { Target } from "./route.ts";
import type { Limits, Route, Transcoder, TranscoderOptions } from "./types.ts";
import { DRAIN_BYTES, releaseBody } from "./unread.ts";

const defaultLimits: Limits = {
  bodyBytes: 1024 * 1024,
  jsonDepth: 32,
  compressMinBytes: 1024,
  drainBytes: DRAIN_BYTES,
  violations: 20,
};

const everyMethod = ["GET", "PUT", "POST", "DELETE", "PATCH"];

/**
 * Reads the bindings of all services and compiles them.
 * @throws Error naming the rpcs for bindings that overlap or cannot be served
 */
export function createTranscoder(options: TranscoderOptions): Transcoder {
  const limits: Limits = { ...defaultLimits, ...options.limits };
  const writers = new Writers({
    nullable: (field) => options.nullable?.(field) ?? false,
    omitEmpty: (field) => options.omitEmpty?.(field) ?? false,
    registry: options.registry,
  });
  const matcher = new Matcher<Target>();
  const routes: Route[] = [];
  for (const entry of options.services) {
    for (const method of entry.service.methods) {
      for (const binding of bindingsOf(method, options.rest?.(method) ?? {})) {
        const target = targetOf(entry, binding, writers, limits, options);
        const other = matcher.add(binding.route.httpMethod, binding.template, target);
        if (other !== undefined)
          throw new Error(`two bindings overlap: ${nameOf(other.route)} and ${nameOf(binding.route)}`);
        routes.push(binding.route);
      }
    }
  }
  matcher.seal(routes.map((route) => route.template).filter((template) => !/[{*%]/.test(template)));

  return {
    routes,
    allowed(path) {
      const matches = matcher.find(path);
      return matches.length === 0 ? undefined : allowedBy(matches);
    },
    handle(request, response) {
      const url = request.url ?? "";
      const mark = url.indexOf("?");
      const matches = matcher.find(mark < 0 ? url : url.slice(0, mark));
      if (matches.length === 0) return false;
      releaseBody(request, response, limits.drainBytes);
      const method = request.method ?? "";
      const found = pick(matches, method);
      if (found !== undefined) {
        const exchange = new RestExchange(request, response, options, limits);
        void exchange.serve(found.target, found.segments, mark < 0 ? undefined : url.slice(mark + 1));
        return true;
      }
      const allow = allowedBy(matches).join(", ");
      const exchange = new RestExchange(request, response, options, limits);
      if (method === "OPTIONS") exchange.answer({ status: 204, headers: ["allow", allow], body: undefined });
      else
        exchange.fail(
          new Refusal("method_not_allowed", `the method ${method} is not allowed here`, { headers: { allow } }),
        );
      return true;
    },
  };
}

function nameOf(route: Route): string {
  return `${route.method.parent.typeName}.${route.method.name} (${route.httpMethod} ${route.template})`;
}

/** The best match that has the method; HEAD is served by GET. */
function pick(
  matches: readonly Match<Target>[],
  method: string,
): { target: Target; segments: readonly string[] } | undefined {
  for (const { targets, segments } of matches) {
    const entry = targets.get(method) ?? (method === "HEAD" ? targets.get("GET") : undefined);
    if (entry !== undefined) return { target: entry.target, segments };
  }
  if (method === "OPTIONS") return undefined;
  for (const { targets, segments } of matches) {
    const entry = targets.get("*");
    if (entry !== undefined) return { target: entry.target, segments };
  }
  return undefined;
}

function allowedBy(matches: readonly Match<Target>[]): string[] {
  const methods = new Set<string>();
  for (const { targets } of matches) {
    for (const method of targets.keys()) {
      if (method === "*") for (const every of everyMethod) methods.add(every);
      else methods.add(method);
    }
  }
  if (methods.has("GET")) methods.add("HEAD");
  methods.add("OPTIONS");
  return [...methods];
}
