export type {
  Encoder,
  ErrorRequest,
  Limits,
  NodeRequest,
  NodeResponse,
  Outcome,
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
export { Refusal } from "./refusal.ts";
