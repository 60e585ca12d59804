"""
Calls GetMe from this process: for each line `{"seconds": n}` of its input it keeps IN_FLIGHT calls going and prints
`{"value": calls a second}`. BY says what calls: `Atrium` or raw stubs of grpcio, each with threads or with asyncio.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import grpc.aio
from atrium.access.v1.access_pb2 import GetMeRequest, GetMeResponse
from atrium_client import AsyncAtrium, Atrium, bearer

PORT = os.environ["PORT"]
TOKEN = os.environ["TOKEN"]
IN_FLIGHT = int(os.environ["IN_FLIGHT"])
METHOD = "/atrium.access.v1.AccessService/GetMe"
METADATA = (("authorization", f"Bearer {TOKEN}"),)
REQUEST = GetMeRequest()


def atrium_sync() -> Callable[[], object]:
    atrium = Atrium(f"http://127.0.0.1:{PORT}", bearer(TOKEN))
    return lambda: atrium.access.get_me(REQUEST)


def grpc_sync() -> Callable[[], object]:
    channel = grpc.insecure_channel(f"127.0.0.1:{PORT}")
    stub = channel.unary_unary(METHOD, GetMeRequest.SerializeToString, GetMeResponse.FromString)
    return lambda: stub(REQUEST, metadata=METADATA, timeout=10)


def atrium_async() -> Callable[[], Awaitable[object]]:
    atrium = AsyncAtrium(f"http://127.0.0.1:{PORT}", bearer(TOKEN))
    return lambda: atrium.access.get_me(REQUEST)


def grpc_async() -> Callable[[], Awaitable[object]]:
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{PORT}")
    stub = channel.unary_unary(METHOD, GetMeRequest.SerializeToString, GetMeResponse.FromString)
    return lambda: stub(REQUEST, metadata=METADATA, timeout=10)


def run_sync(make: Callable[[], Callable[[], object]]) -> None:
    call = make()
    call()
    with ThreadPoolExecutor(IN_FLIGHT) as threads:

        def work(end: float) -> int:
            completed = 0
            while time.monotonic() < end:
                call()
                completed += 1
            return completed

        print(json.dumps({"ready": True}), flush=True)
        for line in sys.stdin:
            seconds = float(json.loads(line)["seconds"])
            end = time.monotonic() + seconds
            completed = sum(threads.map(work, [end] * IN_FLIGHT))
            print(json.dumps({"value": completed / seconds}), flush=True)


async def run_async(make: Callable[[], Callable[[], Awaitable[object]]]) -> None:
    call = make()
    await call()

    async def work(end: float) -> int:
        completed = 0
        while time.monotonic() < end:
            await call()
            completed += 1
        return completed

    print(json.dumps({"ready": True}), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        seconds = float(json.loads(line)["seconds"])
        end = time.monotonic() + seconds
        completed = sum(await asyncio.gather(*[work(end) for _ in range(IN_FLIGHT)]))
        print(json.dumps({"value": completed / seconds}), flush=True)


def main() -> None:
    match os.environ["BY"]:
        case "Atrium":
            run_sync(atrium_sync)
        case "grpc":
            run_sync(grpc_sync)
        case "AsyncAtrium":
            asyncio.run(run_async(atrium_async))
        case "grpc.aio":
            asyncio.run(run_async(grpc_async))
        case other:
            raise SystemExit(f"BY is {other}")


main()
