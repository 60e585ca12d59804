"""
Calls PATH CALLS times with a message of BYTES, LANES at a time, on one channel to PORT; then opens STREAMS health
watches at once. Prints `{"codes": calls by status, "streams": watches that got a message}`.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import grpc

PORT, PATH = sys.argv[1:3]
CALLS, BYTES, LANES, STREAMS, SECONDS = (int(text) for text in sys.argv[3:])


def main() -> None:
    channel = grpc.insecure_channel(f"127.0.0.1:{PORT}", [("grpc.max_send_message_length", -1)])
    unary = channel.unary_unary(PATH)
    body = b"x" * BYTES

    def call(_: int) -> str:
        try:
            unary(body, timeout=SECONDS)
            return "OK"
        except grpc.RpcError as error:
            return str(error.code().name)

    with ThreadPoolExecutor(LANES) as threads:
        codes = Counter(threads.map(call, range(CALLS)))
    watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
    watches = [watch(b"", timeout=SECONDS) for _ in range(STREAMS)]

    def is_open(stream: grpc.Future) -> bool:
        try:
            next(stream)
            return True
        except grpc.RpcError:
            return False

    with ThreadPoolExecutor(STREAMS) as threads:
        streams = sum(threads.map(is_open, watches))
    for stream in watches:
        stream.cancel()
    channel.close()
    print(json.dumps({"codes": codes, "streams": streams}))


main()
