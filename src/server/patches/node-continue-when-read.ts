/**
 * Sends `100 Continue` when the body of a request is first read. Node sends it before the handler runs, or leaves it to a
 * `checkContinue` listener, which does not know when the body is read: `_read` of the request is the only such moment.
 *
 * @patches node 24.21.0
 * @upstream none: node calls `_read` of a request when its body is first read
 */
import type { Http2ServerResponse } from "node:http2";
import type { NodeRequest, NodeResponse } from "../../transcoding/index.ts";

/**
 * Defers `100 Continue` until the body is read: a caller who is refused by the head alone (401, 413, 415) never sends the
 * body. A connection whose body was not read is closed after the response: the next bytes on it may be that body or
 * another request.
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
