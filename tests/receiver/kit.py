"""What the receiver's tests share: requests by hand, a server in this process, receivers in processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from debugger.receiver.guard import Guard
from debugger.receiver.http import HttpApp
from debugger.receiver.http_server import HttpServer, bind
from debugger.receiver.intake import Intake
from debugger.receiver.otlp import Encoding
from debugger.receiver.status import Status

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
WAIT_S = 60
"""Far beyond what anything here takes; a test that waits so long has failed."""


def span(number: int, trace: int = 1) -> Span:
    return Span(
        trace_id=trace.to_bytes(16, "big"),
        span_id=number.to_bytes(8, "big"),
        name=f"span {number}",
        start_time_unix_nano=1_760_000_000_000_000_000 + number,
        end_time_unix_nano=1_760_000_000_000_000_500 + number,
    )


def request(*spans: Span) -> bytes:
    made = ExportTraceServiceRequest()
    made.resource_spans.add().scope_spans.add().spans.extend(spans)
    return made.SerializeToString()


def json_request(*names: str) -> bytes:
    spans = [{"traceId": "0" * 31 + "1", "spanId": f"{n:016x}", "name": name} for n, name in enumerate(names, 1)]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, indent=1).encode()


class Memory:
    """A sink that keeps what it is given; or, where it is told so, fails or waits."""

    def __init__(self) -> None:
        self.kept: list[tuple[Encoding, bytes]] = []
        self.fault: OSError | None = None
        self.held: list[Future[None]] | None = None

    def put(self, encoding: Encoding, data: bytes) -> Future[None]:
        done: Future[None] = Future()
        if self.fault is not None:
            done.set_exception(self.fault)
            return done
        self.kept.append((encoding, data))
        if self.held is None:
            done.set_result(None)
        else:
            self.held.append(done)
        return done


@contextmanager
def server(intake: Intake, guard: Guard | None = None) -> Iterator[int]:
    """An HTTP server in a thread; gives its port."""
    sockets = bind("127.0.0.1", 0)
    port: int = sockets[0].getsockname()[1]
    running = HttpServer(HttpApp(intake, guard or Guard()), sockets)
    thread = threading.Thread(target=lambda: asyncio.run(running.run()), daemon=True)
    thread.start()
    try:
        yield port
    finally:
        running.stop()
        thread.join(WAIT_S)


class Receiver:
    """``retrospan listen`` as a process."""

    def __init__(self, library: Path, *more: str, environment: dict[str, str] | None = None) -> None:
        words = ["--library", str(library), "--http-port", "0", "--json", *more]
        self.library = library
        self.process = subprocess.Popen(
            [sys.executable, "-m", "debugger.cli", "listen", *words],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=os.environ | (environment or {}),
        )  # fmt: skip
        self.seen: list[Status] = []

    def __enter__(self) -> Receiver:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def until(self, state: str) -> Status:
        """Wait for a state. The lines that come before it are in ``seen``."""
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            self.seen.append(Status.from_json(line))
            if self.seen[-1].state == state:
                return self.seen[-1]
        raise AssertionError(f"ended before {state}: {self.process.stderr and self.process.stderr.read()}")

    def stop(self, number: signal.Signals = signal.SIGINT) -> Status:
        """Stop it, as Ctrl-C does."""
        self.process.send_signal(number)
        last = self.until("stopped")
        assert self.process.wait(WAIT_S) == 0
        return last


def shown(library: Path) -> list[dict[str, Any]]:
    """The spans of a library, by id."""
    from debugger.store import Library

    with Library.open(library) as opened:
        reader = opened.reader()
        rows = [row for trace in reader.traces() for row in reader.spans(trace.trace_id)]
    return [{"span_id": row.span_id, "name": row.name} for row in rows]
