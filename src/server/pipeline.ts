import { create } from "@bufbuild/protobuf";
import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { OnBehalf } from "../platform/db/types.ts";
import { errors, ServiceError } from "../platform/errors.ts";
import type { IdempotencyStore } from "../platform/idempotency.ts";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { RateClass } from "../../gen/atrium/options/v1/options_pb.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";
import type { Gate, Params } from "./gate.ts";
import { fingerprint, idempotencyScope, packAnswer, unpackAnswer } from "./idempotency.ts";
import { textOf } from "./policy.ts";
import type { Policy } from "./policy.ts";
import type { Rates } from "./rates.ts";
import type { StreamSlots } from "./streams.ts";
import { createVigil, whileValid } from "./vigil.ts";

/** A unary rpc as connect and the transcoder call it. */
export type UnaryCall = (message: Message, context: HandlerContext) => Promise<Message> | Message;
/** A server-streaming rpc. */
export type StreamCall = (message: Message, context: HandlerContext) => AsyncIterable<Message>;

/** Runs something for somebody, out of their share. */
export type Share = <T>(who: OnBehalf, work: () => T) => T;

/** Puts in front of an implementation what needs the request message: the same code for every protocol. */
export interface Pipeline {
  unary(policy: Policy, implementation: UnaryCall): UnaryCall;
  stream(policy: Policy, implementation: StreamCall): StreamCall;
}

/** What the pipeline is made of. */
export interface PipelineDeps {
  gate: Gate;
  rates: Rates;
  store: Pick<IdempotencyStore, "begin">;
  slots: StreamSlots;
  /** Without it nobody's share of anything is looked at. */
  share: Share | undefined;
}

/**
 * Builds the pipeline: what is left of the gate, idempotency, field rules, budgets of valid tries, then the handler.
 */
export function createPipeline({ gate, rates, store, slots, share = alone }: PipelineDeps): Pipeline {
  const vigil = createVigil();

  /** Undefined when everything was settled at once. */
  function admit(policy: Policy, call: Call, message: Message): void | Promise<void> {
    call.decoded = true;
    const renewed = gate.renew(policy, call);
    return renewed === undefined
      ? admitMessage(policy, call, message)
      : renewed.then(() => admitMessage(policy, call, message));
  }

  function admitMessage(policy: Policy, call: Call, message: Message): void | Promise<void> {
    if (!call.admitted) return gate.admit(policy, call, paramsOf(policy, message));
    return call.tenantPending ? gate.admitTenant(policy, call, paramsOf(policy, message)) : undefined;
  }

  async function slowly(
    policy: Policy,
    call: Call,
    admitted: void | Promise<void>,
    implementation: UnaryCall,
    message: Message,
    context: HandlerContext,
  ) {
    if (admitted !== undefined) await admitted;
    const scope = idempotencyScope(policy, call);
    if (scope === undefined) return valid(policy, call, implementation, message, context);
    const begun = await store.begin(scope, fingerprint(policy.method.input, message));
    if (begun.replay !== undefined) return unpackAnswer(policy.method.output, begun.replay, context.responseHeader);
    const { claim } = begun;
    // The use case hands its caller to the transaction of the effect, which spends the key.
    if (call.caller !== undefined) call.caller = { ...call.caller, effect: claim.effect };
    let answer: Message;
    try {
      answer = create(policy.method.output, await valid(policy, call, implementation, message, context));
      await claim.finish(packAnswer(policy.method.output, answer, context.responseHeader));
    } catch (error) {
      await claim.abandon();
      throw error;
    }
    return answer;
  }

  // Functions of their own: a closure in the path of every call would cost those that ask nothing an allocation.
  function slowlyShared(...[policy, call, ...more]: Parameters<typeof slowly>): Promise<Message> {
    return share(whoOf(call), () => slowly(policy, call, ...more));
  }

  function handled(
    call: Call,
    implementation: UnaryCall,
    message: Message,
    context: HandlerContext,
  ): Promise<Message> | Message {
    return share(whoOf(call), () => implementation(message, context));
  }

  async function valid(
    policy: Policy,
    call: Call,
    implementation: UnaryCall,
    message: Message,
    context: HandlerContext,
  ): Promise<Message> {
    validate(policy, message);
    const counted = rates.valid(policy, call, message);
    if (counted !== undefined) await counted;
    if (context.timeoutMs() !== undefined) call.limit(context.signal);
    return rates.attempt(policy, call, message, () => implementation(message, context));
  }

  return {
    unary(policy, implementation) {
      const plain = !policy.idempotent && !countsValid.has(policy.rate);
      const asks = !asksNothing.has(policy.method);
      return (message, context) => {
        const call = callOf(context.values);
        if (policy.noStore) context.responseHeader.set("cache-control", "no-store");
        const admitted = admit(policy, call, message);
        if (!plain || admitted !== undefined)
          return slowlyShared(policy, call, admitted, implementation, message, context);
        validate(policy, message);
        if (context.timeoutMs() !== undefined) call.limit(context.signal);
        return asks ? handled(call, implementation, message, context) : implementation(message, context);
      };
    },
    stream(policy, implementation) {
      return async function* (message, context) {
        const call = callOf(context.values);
        if (policy.noStore) context.responseHeader.set("cache-control", "no-store");
        await admit(policy, call, message);
        validate(policy, message);
        await rates.valid(policy, call, message);
        const credential = `${policy.credential} ${call.request.headers.authorization ?? ""}`;
        const watch = (end: (reason: unknown) => void) =>
          vigil.watch(credential, () => gate.recheck(policy, call), end);
        yield* slots.hold(context, () =>
          whileValid(shared(share, whoOf(call), implementation(message, context)), watch),
        );
      };
    },
  };
}

/** Handlers that answer from the caller alone: the context of a share would cost more than they do. */
const asksNothing: ReadonlySet<DescMethod> = new Set([AccessService.method.getMe]);

const countsValid: ReadonlySet<RateClass> = new Set([
  RateClass.LOGIN,
  RateClass.CODE,
  RateClass.MAIL,
  RateClass.SIGNUP,
  RateClass.INVITE,
]);

function validate(policy: Policy, message: Message): void {
  const fault = policy.form?.(message);
  if (fault !== undefined) throw errors.badRequest({ message: fault });
  const fields = policy.validate?.(message);
  if (fields !== undefined) throw new ServiceError(policy.invalidRow, { fields });
}

/** The fields the gate looks at, where the message is known. */
function paramsOf(policy: Policy, message: Message): Params {
  const params: Record<string, string> = {};
  for (const { name, localName } of policy.pathFields) params[name] = textOf(message, localName);
  if (policy.tenant !== undefined) params[policy.tenant.name] = textOf(message, policy.tenant.localName);
  if (policy.app !== undefined) params[policy.app.name] = textOf(message, policy.app.localName);
  return params;
}

const alone: Share = (_who, work) => work();

/** Whoever a call is for. */
const whoOf = ({ caller, info }: Call): OnBehalf => caller ?? info;

/** A stream of which each step runs out of the share of whoever reads it. */
function shared<T>(share: Share, who: OnBehalf, stream: AsyncIterable<T>): AsyncIterable<T> {
  return {
    [Symbol.asyncIterator]() {
      const steps = share(who, () => stream[Symbol.asyncIterator]());
      return {
        next: () => share(who, () => steps.next()),
        return: async (value?: unknown) => (await share(who, () => steps.return?.(value))) ?? { done: true, value },
      };
    },
  };
}
