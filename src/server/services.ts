import type { DescMethod, Message } from "@bufbuild/protobuf";
import { errors } from "../platform/errors.ts";
import type { Precondition, ServiceRegistration } from "../platform/rpc.ts";
import type { CompiledRpc } from "./connect.ts";
import { takesCredential } from "./gate/index.ts";
import type { Preconditions } from "./gate/index.ts";
import type { Pipeline, Share, StreamCall, UnaryCall } from "./pipeline.ts";
import type { Policy } from "./policy.ts";

/** Runs the handler of an authenticated call under a name, such as a check of what the handler does. */
export type HandlerWrapper = (name: string, work: () => Promise<Message>) => Promise<Message>;

/** Compiles the rpcs of a service: each implementation behind the pipeline. */
export function compileService(
  { service, implementation }: ServiceRegistration,
  policies: ReadonlyMap<DescMethod, Policy>,
  pipeline: Pipeline,
  wrap: HandlerWrapper | undefined,
): CompiledRpc[] {
  return service.methods.map((method) => {
    const policy = policies.get(method) as Policy;
    const found = (implementation as Record<string, ((...args: never[]) => unknown) | undefined>)[
      method.localName
    ]?.bind(implementation);
    if (method.methodKind === "unary")
      return {
        policy,
        run: pipeline.unary(policy, wrapped(policy, (found as UnaryCall | undefined) ?? unimplemented, wrap)),
      };
    if (method.methodKind !== "server_streaming") throw new Error(`${policy.path}: client streams are not served`);
    return { policy, run: pipeline.stream(policy, (found as StreamCall | undefined) ?? unimplemented) };
  });
}

function wrapped(policy: Policy, run: UnaryCall, wrap: HandlerWrapper | undefined): UnaryCall {
  if (wrap === undefined || !takesCredential(policy)) return run;
  return (message, context) => wrap(policy.path, async () => run(message, context));
}

/** Returns the preconditions of the domains, each evaluated within the share of its caller. */
export function preconditionsOf(services: readonly ServiceRegistration[], share: Share | undefined): Preconditions {
  return new Map(
    services.flatMap(({ service, preconditions = {} }) =>
      service.methods.flatMap((method) => {
        const evaluate = (preconditions as Readonly<Record<string, Precondition | undefined>>)[method.localName];
        if (evaluate === undefined) return [];
        const inShare: Precondition = (caller) =>
          caller === undefined || share === undefined ? evaluate(caller) : share(caller, () => evaluate(caller));
        return [[method, inShare] as const];
      }),
    ),
  );
}

function unimplemented(): never {
  throw errors.unimplemented();
}
