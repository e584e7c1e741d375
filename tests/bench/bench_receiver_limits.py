"""The receiver at its ends: how soon one request is seen, and the memory that many large gRPC messages at once take.

Usage: ``python -m tests.bench.bench_receiver_limits [MESSAGES] [MEBIBYTES]``, from the repository's root.
"""

from __future__ import annotations

import http.client
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median

import grpc
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from debugger.store import Library

from .bench_receiver import drain, memory_mb, start
from .protobuf import requests

_REQUESTS = 15
_EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def visible() -> None:
    """One request of 100 spans at a time: until it is acknowledged, and until a reader of the library sees it."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "library")
        process, address = start(library, "--no-grpc")
        told, seen = [], []
        with Library.open(library) as opened:
            reader = opened.reader()
            connection = http.client.HTTPConnection(str(address["http"]))
            for number, body in enumerate(requests(_REQUESTS * 100)):
                began = time.perf_counter()
                connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
                connection.getresponse().read()
                told.append(time.perf_counter() - began)
                while len(reader.traces()) <= number:
                    time.sleep(0.005)
                seen.append(time.perf_counter() - began)
        process.send_signal(2)
        process.communicate()
    print(f"acknowledged after {median(told):.3f} s, visible after {median(seen):.2f} s (longest {max(seen):.2f} s)")


def large(number: int, mebibytes: int) -> bytes:
    """A request with one attribute of a mebibyte on each span."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for index in range(mebibytes):
        span = spans.add(trace_id=number.to_bytes(16, "big"), span_id=(index + 1).to_bytes(8, "big"), name="large")
        pair = span.attributes.add(key="gen_ai.input.messages")
        pair.value.string_value = "t" * (1 << 20)
    return request.SerializeToString()


def memory(messages: int, mebibytes: int) -> None:
    """So many large messages at the same moment."""
    with tempfile.TemporaryDirectory() as folder:
        process, address = start(Path(folder, "library"), "--grpc-port", "0")
        assert process.stdout is not None
        threading.Thread(target=drain, args=(process.stdout, []), daemon=True).start()
        answers: Counter[str] = Counter()
        gate = threading.Barrier(messages)

        def export(number: int) -> None:
            body = large(number + 1, mebibytes)
            with grpc.insecure_channel(str(address["grpc"])) as channel:
                call = channel.unary_unary(_EXPORT)
                gate.wait()
                try:
                    call(body, timeout=60)
                    answers["OK"] += 1
                except grpc.RpcError as refused:
                    answers[refused.code().name] += 1

        idle = memory_mb(process.pid)
        threads = [threading.Thread(target=export, args=(number,)) for number in range(messages)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(
            f"{messages} gRPC messages of {mebibytes} MiB at once: {dict(answers)}; "
            f"peak {memory_mb(process.pid):.0f} MB, idle {idle:.0f} MB"
        )
        process.send_signal(2)
        process.wait()


if __name__ == "__main__":
    visible()
    memory(int(sys.argv[1]) if len(sys.argv) > 1 else 30, int(sys.argv[2]) if len(sys.argv) > 2 else 7)
