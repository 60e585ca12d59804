/** One run of the load generator. */
export interface LoadJob {
  protocol: "http1" | "grpc";
  port: number;
  connections: number;
  seconds: number;
  /** HTTP/1.1: file of prebuilt requests (see requests.ts), sent in turn. */
  file?: string;
  /** Never send a request of the file twice; the run ends early when none is left. */
  once?: boolean;
  /** gRPC: what to call. */
  grpc?: GrpcCall;
  /** Requests a second, sent on time whatever comes back; without it each answer is followed by the next request. */
  rate?: number;
  /** Status of a good response. Default 200. */
  status?: number;
  /** Another status that is counted apart instead of failing the run. */
  refusal?: number;
  /** Use wrk or h2load where installed and able. Default true. */
  tools?: boolean;
}

/** A unary gRPC call, the same each time, over prior-knowledge HTTP/2. */
export interface GrpcCall {
  /** `/package.Service/Method` */
  path: string;
  /** Metadata of each request; sessions are spread over the list. */
  metadata: Record<string, string>[];
  /** The request message in binary, base64. */
  message: string;
  /** Bytes of the DATA frames of a good response, frame prefix included. */
  answerBytes: number;
  /** Calls in flight on each connection. */
  streams: number;
}

/** The result of a run of the load generator. */
export interface LoadResult {
  /** Which generator ran: `atrium`, `wrk` or `h2load`. */
  tool: string;
  /** Good responses. */
  completed: number;
  /** Responses with the status `refusal`. */
  refused: number;
  /** Other responses and broken connections. */
  failed: number;
  /** The statuses of failed responses, where the tool reports them. */
  statuses?: number[];
  seconds: number;
  perSecond: number;
  /** Milliseconds; undefined where the tool does not tell. */
  p50?: number;
  p99?: number;
  /** Share of one core the generator used, where it was measured. */
  cpu?: number;
}
