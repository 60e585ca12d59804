/**
 * Changes the errors that connect makes itself, before it sends them: undecodable messages, broken framing, deadlines.
 * They pass no interceptor, but every protocol handler passes the very error it is about to serialize to `abort` of the
 * handler context, which is not part of the public `HandlerContext`.
 *
 * @patches @connectrpc/connect 2.2.0
 * @upstream https://github.com/connectrpc/connect-go/issues/584 (connect-es has the same limit and no issue for it)
 */
import { ConnectError } from "@connectrpc/connect";
import type { HandlerContext } from "@connectrpc/connect";

/** Signal reason of a call that ended well. Without one, connect would create an error with a stack for every call. */
const CALL_ENDED = new DOMException("the call is over", "AbortError");

/** Calls `change` with each error that connect is about to send for the call of `context`; it may modify the error. */
export function onSentError(context: HandlerContext, change: (error: ConnectError) => void): void {
  const controller = context as HandlerContext & { abort(reason?: unknown): void };
  const { abort } = controller;
  controller.abort = (reason) => {
    if (reason instanceof ConnectError) change(reason);
    abort(reason ?? CALL_ENDED);
  };
}
