import type { Http2ServerResponse } from "node:http2";
import type { NodeRequest, NodeResponse } from "../transcoding/index.ts";

/**
 * Sends `100 Continue` when the body of a request is first read, whoever reads it: a caller who is refused by the head
 * alone (401, 413, 415) never sends the body. A connection whose body was not asked for is closed after the answer: the
 * next bytes on it may be that body or another request.
 */
export function continueWhenRead<T extends NodeRequest>(request: T, response: NodeResponse): T {
  const { _read: read } = request;
  const http1 = "shouldKeepAlive" in response ? response : undefined;
  const keepAlive = http1?.shouldKeepAlive ?? false;
  if (http1 !== undefined) http1.shouldKeepAlive = false;
  request._read = (size) => {
    request._read = read;
    if (!response.headersSent) {
      if (http1 !== undefined) http1.shouldKeepAlive = keepAlive;
      (response as Http2ServerResponse).writeContinue();
    }
    read.call(request, size);
  };
  return request;
}
