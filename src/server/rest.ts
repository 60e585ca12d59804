import { getOption, hasOption } from "@bufbuild/protobuf";
import type { DescField, DescMethod, DescService } from "@bufbuild/protobuf";
import { omit_empty as omitEmpty, omit_empty_beside as omitBeside } from "../../gen/atrium/options/v1/options_pb.ts";
import { mustBeFilled, presentLists } from "../platform/validation.ts";
import { createTranscoder } from "../transcoding/index.ts";
import type { Encoder, ServiceEntry, Transcoder } from "../transcoding/index.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";
import type { CompiledRpc } from "./connect.ts";
import { takesCredential } from "./gate/index.ts";
import type { Gate } from "./gate/index.ts";
import type { Policy } from "./policy.ts";
import { NOSNIFF, printError } from "./print.ts";
import { fieldBeside, printsNull } from "./printed-members.ts";
import type { Fail } from "./reporter.ts";

const nosniff = Object.entries(NOSNIFF).flat();

/** Dependencies of {@link restTranscoder}. */
export interface RestOptions {
  rpcs: readonly CompiledRpc[];
  policies: ReadonlyMap<DescMethod, Policy>;
  gate: Gate;
  fail: Fail;
  shutdownSignal: AbortSignal;
  encoders: Readonly<Record<string, Encoder>>;
  /** Whether responses differ by `Origin`. */
  variesByOrigin: boolean;
  /** The call that is being handed to the transcoder. */
  currentCall: () => Call;
  done: (call: Call, status: number) => void;
}

/** REST for the rpcs: the same policies and the same pipeline as every other protocol. */
export function restTranscoder(options: RestOptions): Transcoder {
  const { gate, fail, policies } = options;
  return createTranscoder({
    services: entries(options.rpcs),
    rest: (method) => policies.get(method)?.rest,
    nullable: printsNull,
    present: presentLists,
    filled: mustBeFilled,
    omitEmpty: omitsEmpty,
    encoders: options.encoders,
    shutdownSignal: options.shutdownSignal,
    contextValues: options.currentCall,
    answerHeaders(values) {
      const { info, policy } = callOf(values);
      const headers = ["x-request-id", info.requestId, ...nosniff];
      // No shared cache keeps responses to requests with a credential.
      if (options.variesByOrigin && policy?.safe === true && !takesCredential(policy)) headers.push("vary", "Origin");
      return headers;
    },
    gate(context, params, route) {
      const call = callOf(context.values);
      const policy = (call.policy = policies.get(route.method) as Policy);
      return gate.beforeBody(policy, call, params);
    },
    printError(reason, about) {
      const call = callOf(about.values);
      const error = fail(reason, call);
      const url = about.request.url ?? "";
      return printError(error, {
        requestId: call.info.requestId,
        url,
        accept: about.request.headers.accept,
        scim: url.startsWith("/scim/v2/"),
        pageTitle: about.route === undefined ? undefined : policies.get(about.route.method)?.rest?.errorTitle,
      });
    },
    finished(outcome) {
      const call = callOf(outcome.values);
      if (outcome.error !== undefined && call.errorCode === "") fail(outcome.error, call);
      const declared = call.policy?.rest?.status ?? 0;
      const success = outcome.status ?? (declared === 0 ? 200 : declared);
      options.done(call, call.errorCode === "" ? success : call.status);
    },
  });
}

function entries(rpcs: readonly CompiledRpc[]): ServiceEntry[] {
  const services = new Map<DescService, Record<string, unknown>>();
  for (const { policy, run } of rpcs) {
    const { parent, localName } = policy.method;
    const implementation = services.get(parent) ?? {};
    implementation[localName] = run;
    services.set(parent, implementation);
  }
  return [...services].map(([service, implementation]) => ({ service, implementation }) as ServiceEntry);
}

/** Whether an empty field is left out, or the field beside which it is. */
function omitsEmpty(field: DescField): boolean | DescField {
  if (!hasOption(field, omitBeside)) return hasOption(field, omitEmpty) && getOption(field, omitEmpty);
  return fieldBeside(field, getOption(field, omitBeside));
}
