import { create } from "@bufbuild/protobuf";
import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { getOption } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Transport } from "@connectrpc/connect";
import { useRef, useState } from "react";
import { access } from "../../../gen/atrium/options/v1/options_pb.ts";
import { failureOf } from "../session/failures.ts";
import type { Failure } from "../session/failures.ts";
import { noteUnreached, queries, transport as ownTransport } from "../session/session.ts";
import { toast } from "./toasts.ts";

/** A call that writes, and how it stands. */
export interface Call<I extends DescMessage, O extends DescMessage> {
  /** Resolves to the answer; to undefined when it failed, or when the person cancelled the step-up. */
  run(input: MessageInitShape<I>): Promise<MessageShape<O> | undefined>;
  readonly busy: boolean;
  readonly failure: Failure | undefined;
  /** Greater than that of each call that was made before; 0 before the first. */
  readonly nth: number;
  clear(): void;
}

interface CallOptions<I, O> {
  /** Shown when it is done. */
  done?: string | ((answer: O) => string);
  /** Takes back what was done: offered as "Undo" for a few seconds. */
  undo?: (input: I) => void;
  /**
   * Called with a failure, besides `failure`: for calls that are made one after another, and for those of a row, of
   * which the top of the page is too far away (`alertToast`).
   */
  onFailure?: (failure: Failure) => unknown;
  transport?: Transport;
}

/** Calls of this page so far. */
let calls = 0;

/**
 * Calls an rpc that writes. Afterwards every list on the page is read again. One `Idempotency-Key` is sent until a call
 * succeeds, so that a repetition after a lost answer creates nothing twice.
 */
export function useCall<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  { done, undo, onFailure, transport = ownTransport }: CallOptions<MessageInitShape<I>, MessageShape<O>> = {},
): Call<I, O> {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const [nth, setNth] = useState(0);
  const key = useRef({ value: "", body: "" });
  return {
    busy,
    failure,
    nth,
    clear: () => setFailure(undefined),
    async run(input) {
      setBusy(true);
      setNth(++calls);
      setFailure(undefined);
      try {
        const message = create(method.input, input);
        const headers = getOption(method, access).idempotent ? { "idempotency-key": keyFor(key.current, input) } : {};
        const answer = await transport.unary(method, undefined, undefined, headers, message);
        key.current = { value: "", body: "" };
        void queries.invalidateQueries();
        if (done !== undefined)
          toast(typeof done === "string" ? done : done(answer.message), undo && (() => undo(input)));
        return answer.message;
      } catch (error) {
        // The person closed the step-up: the form stays as it was.
        if (ConnectError.from(error).code === Code.Canceled) return undefined;
        noteUnreached(error);
        const failed = failureOf(error);
        setFailure(failed);
        onFailure?.(failed);
        return undefined;
      } finally {
        setBusy(false);
      }
    },
  };
}

/** Why the last of several calls failed that show it in one place: one that succeeded later has made up for it. */
export const lastFailure = (...made: readonly Pick<Call<DescMessage, DescMessage>, "failure" | "nth">[]) =>
  made.reduce((last, call) => (call.nth > last.nth ? call : last)).failure;

/** The same key while the same input is sent again; another input is another intent. */
function keyFor(key: { value: string; body: string }, input: unknown): string {
  const body = JSON.stringify(input, (_name, value: unknown) => (typeof value === "bigint" ? String(value) : value));
  if (key.body !== body) Object.assign(key, { value: crypto.randomUUID(), body });
  return key.value;
}
