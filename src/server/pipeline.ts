import type { DescMethod, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import type { Caller } from "../platform/caller.ts";
import type { Requester } from "../platform/db/types.ts";
import { errors, ServiceError } from "../platform/errors.ts";
import type { IdempotencyStore } from "../platform/idempotency.ts";
import { AccessService } from "../../gen/atrium/access/v1/access_pb.ts";
import { BillingService } from "../../gen/atrium/billing/v1/billing_pb.ts";
import { RateClass } from "../../gen/atrium/options/v1/options_pb.ts";
import { isHttpBody } from "../transcoding/index.ts";
import { callOf } from "./call.ts";
import type { Call } from "./call.ts";
import { credentialName } from "./gate/index.ts";
import type { Gate } from "./gate/index.ts";
import { idempotencyScope, runOnce } from "./idempotency.ts";
import type { Policy } from "./policy.ts";
import type { Rates } from "./rates.ts";
import type { SessionCookies } from "./session-cookie.ts";
import type { StreamSlots } from "./streams.ts";
import { createCredentialWatch, whileValid } from "./credential-watch.ts";
import { endWhenDraining } from "./draining.ts";

/** A unary rpc as connect and the transcoder call it. */
export type UnaryCall = (message: Message, context: HandlerContext) => Promise<Message> | Message;
/** A server-streaming rpc. */
export type StreamCall = (message: Message, context: HandlerContext) => AsyncIterable<Message>;

/** Runs work on behalf of a caller, within the caller's share of the database connections. */
export type Share = <T>(who: Requester, work: () => T) => T;

/** Wraps implementations in the steps that need the request message, for every protocol alike. */
export interface Pipeline {
  unary(policy: Policy, implementation: UnaryCall): UnaryCall;
  stream(policy: Policy, implementation: StreamCall): StreamCall;
}

/** What the pipeline needs. */
export interface PipelineDeps {
  gate: Gate;
  rates: Rates;
  store: Pick<IdempotencyStore, "begin">;
  slots: StreamSlots;
  /** Undefined: no cookie mode. */
  cookies?: SessionCookies | undefined;
  /** Undefined: shares are not limited. */
  share: Share | undefined;
  /** Ends the streams that would go on without end. */
  draining: AbortSignal;
}

/**
 * Creates the pipeline: the gate's steps after the body, idempotency, field validation, budgets of valid attempts, then
 * the handler.
 */
export function createPipeline(deps: PipelineDeps): Pipeline {
  const { gate, rates, store, slots, cookies, share = withoutShare, draining } = deps;
  const credentials = createCredentialWatch<Caller | undefined>();

  /** Runs the gate's steps after the body; undefined when none of them had to wait. */
  function admit(policy: Policy, call: Call, message: Message): void | Promise<void> {
    call.message = message;
    return gate.afterBody(policy, call, message);
  }

  async function complete(
    policy: Policy,
    call: Call,
    admitted: void | Promise<void>,
    implementation: UnaryCall,
    message: Message,
    context: HandlerContext,
  ): Promise<Message> {
    if (admitted !== undefined) await admitted;
    const scope = idempotencyScope(policy, call);
    if (scope === undefined) return execute(policy, call, implementation, message, context);
    return runOnce(store, scope, policy, call, message, context.responseHeader, () =>
      execute(policy, call, implementation, message, context),
    );
  }

  // Separate functions: a closure in the path of every call would cost an allocation where no share is needed.
  function completeInShare(...[policy, call, ...more]: Parameters<typeof complete>): Promise<Message> {
    return share(beneficiaryOf(call), () => complete(policy, call, ...more));
  }

  function handleInShare(
    call: Call,
    implementation: UnaryCall,
    message: Message,
    context: HandlerContext,
  ): Promise<Message> | Message {
    return share(beneficiaryOf(call), () => implementation(message, context));
  }

  async function execute(
    policy: Policy,
    call: Call,
    implementation: UnaryCall,
    message: Message,
    context: HandlerContext,
  ): Promise<Message> {
    validate(policy, call, message);
    const counted = rates.valid(policy, call, message);
    if (counted !== undefined) await counted;
    if (context.timeoutMs() !== undefined) call.limit(context.signal);
    return rates.attempt(policy, call, message, () => implementation(message, context));
  }

  return {
    unary(policy, implementation) {
      const canBeSynchronous = !policy.idempotent && !countsValidAttempts.has(policy.rate);
      const needsShare = !withoutOwnQueries.has(policy.method);
      const run: UnaryCall = (message, context) => {
        const call = callOf(context.values);
        if (policy.noStore) context.responseHeader.set("cache-control", "no-store");
        const admitted = admit(policy, call, message);
        if (!canBeSynchronous || admitted !== undefined)
          return completeInShare(policy, call, admitted, implementation, message, context);
        validate(policy, call, message);
        if (context.timeoutMs() !== undefined) call.limit(context.signal);
        return needsShare ? handleInShare(call, implementation, message, context) : implementation(message, context);
      };
      return cookies === undefined ? run : cookies.moving(policy, run);
    },
    stream(policy, implementation) {
      // A stream of messages follows changes; one of bytes is a document.
      const isEndless = !isHttpBody(policy.method.output);
      return async function* (message, context) {
        const call = callOf(context.values);
        if (policy.noStore) context.responseHeader.set("cache-control", "no-store");
        await admit(policy, call, message);
        validate(policy, call, message);
        await rates.valid(policy, call, message);
        const credential = credentialName(policy, call);
        const watch = (end: (reason: unknown) => void) => {
          const stopWatching = credentials.watch(credential, () => gate.recheck(policy, call), {
            accept: (caller) => gate.readmit(policy, call, caller),
            end,
          });
          if (!isEndless) return stopWatching;
          const stopWaiting = endWhenDraining(draining, end);
          return () => {
            stopWaiting();
            stopWatching();
          };
        };
        yield* slots.hold(context, () =>
          whileValid(streamInShare(share, beneficiaryOf(call), implementation(message, context)), watch),
        );
      };
    },
  };
}

/**
 * Handlers that need nothing but the caller, or that read only together with other requests, which no share counts.
 * Entering a share would cost more than they do.
 */
const withoutOwnQueries: ReadonlySet<DescMethod> = new Set([
  AccessService.method.getMe,
  BillingService.method.previewPrice,
]);

const countsValidAttempts: ReadonlySet<RateClass> = new Set([
  RateClass.LOGIN,
  RateClass.CODE,
  RateClass.MAIL,
  RateClass.SIGNUP,
  RateClass.INVITE,
]);

/** Refuses a message that breaks the rules of the contract, and writes its UUIDs in lower case. */
function validate(policy: Policy, call: Call, message: Message): void {
  // The reader of a REST body has counted its levels, whether the body is the message or a field of it.
  const fault = policy.form?.(message, call.protocol === "rest" ? 0 : 1);
  if (fault !== undefined) throw errors.badRequest({ message: fault });
  // Before the rules, by which one id in two spellings is a repeated item.
  policy.uuidCase?.(message);
  const fields = (isJson(policy, call) ? undefined : policy.presence?.(message)) ?? policy.validate?.(message);
  if (fields !== undefined) throw new ServiceError(policy.invalidRow, { fields });
}

/** Whether the message was JSON, whose reader checks what must be there; asked only where something must. */
function isJson({ presence }: Policy, call: Call): boolean {
  return presence === undefined || /json/i.test(call.header("content-type") ?? "");
}

const withoutShare: Share = (_who, work) => work();

/** Returns whose share a call uses: the caller's, or that of an anonymous address. */
const beneficiaryOf = ({ caller, info }: Call): Requester => caller ?? info;

/** A stream whose every step runs within the share of its reader. */
function streamInShare<T>(share: Share, who: Requester, stream: AsyncIterable<T>): AsyncIterable<T> {
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
