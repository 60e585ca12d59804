export type {
  Encoder,
  ErrorRequest,
  Limits,
  NodeRequest,
  RequestHead,
  NodeResponse,
  Outcome,
  PresentList,
  PrintedError,
  RefusalFacts,
  RefusalKind,
  RestRule,
  Route,
  ServiceEntry,
  Transcoder,
  TranscoderOptions,
  Violation,
} from "./types.ts";
export { describeViolations, Refusal } from "./refusal.ts";
export { formatPath, JsonError } from "./json/parse.ts";
export { isHttpBody } from "./bindings.ts";
export { checkJson, parseJson } from "./json/plain.ts";
export { readMessage } from "./json/message.ts";
export { isoText } from "./json/times.ts";
export { printedName } from "./json/names.ts";
export type { MessageLimits } from "./json/message.ts";
export type { PlainJson } from "./json/plain.ts";
export { isKnown } from "./conditional.ts";
export { isAccepted, negotiate, negotiateCoding } from "./media.ts";
export { mediaTypeKey, RestContext, sendHeadKey } from "./context.ts";
export { hasBody } from "./body.ts";
export { varying } from "./send.ts";
export { createTranscoder } from "./transcoder.ts";
export { bodyArrived, isAnsweredEarly, releaseBody } from "./unread.ts";
export { endInPieces, heldBackBytes, PIECE_BYTES, piecesOf } from "./pieces.ts";
