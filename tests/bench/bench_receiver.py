"""The receiver under load: rates to durable and to queryable, memory, and nothing lost after a kill.

Usage: ``python -m tests.bench.bench_receiver [SECONDS] [EXPORTERS] [SPANS]``, from the repository's root. Exporters
send the generated spans over HTTP, 100 a request, for so many seconds; then the receiver is killed in the middle and
started again, and every acknowledged span has to be in the library. Before that one exporter sends so many spans, and
it is asked when a reader sees the last of them: what peers were measured by, with 10,000.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO

from debugger.store import Library

from .generate import SPANS_PER_TRACE
from .protobuf import requests

_KEPT = 40
"""Prepared requests; their trace ids are written anew for each sending."""


def start(library: Path, *more: str) -> tuple[subprocess.Popen[str], dict[str, object]]:
    """A receiver and its first status, with its addresses."""
    words = ["listen", "--library", str(library), "--http-port", "0", "--json", *more]
    process = subprocess.Popen([sys.executable, "-m", "debugger.cli", *words], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for line in process.stdout:
        status = json.loads(line)
        if status["state"] == "listening":
            return process, status
    raise SystemExit("the receiver did not start")


def drain(stream: IO[str], last: list[dict[str, object]]) -> None:
    """Read the status lines on, keeping the newest."""
    for line in stream:
        last[:] = [json.loads(line)]


def memory_mb(pid: int) -> float:
    """The peak of a process' memory."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


def cpu_s(pid: int) -> float:
    """The CPU time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """The processes that a process has started: for a receiver, those that fill the library."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def burst(spans: int) -> None:
    """One exporter sends so many spans: when all are acknowledged, and when a reader of the library sees all."""
    bodies = list(requests(spans))
    with tempfile.TemporaryDirectory() as folder:
        process, status = start(Path(folder, "library"), "--no-grpc")
        connection = http.client.HTTPConnection(str(status["http"]))
        with Library.open(Path(folder, "library")) as opened:
            reader = opened.reader()
            began = time.perf_counter()
            for body in bodies:
                connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
                connection.getresponse().read()
            accepted = time.perf_counter() - began
            while sum(row.spans for row in reader.traces()) < spans:
                time.sleep(0.02)
            seen = time.perf_counter() - began
        cpu = cpu_s(process.pid)
        filling = sum(map(cpu_s, children(process.pid)))
        process.send_signal(2)
        process.communicate()
    print(f"burst:     {spans:>9,} spans of one exporter accepted after {accepted:.2f} s, queryable after {seen:.2f} s")
    each = f"{cpu / spans * 1e6:.0f} us to receive it, {filling / spans * 1e6:.0f} us to fill the library"
    print(f"           {spans / seen:,.0f} a second; CPU for a span, with the start: {each}")


def main(seconds: float, exporters: int) -> None:
    """Run it and print the figures."""
    bodies = list(requests(_KEPT * SPANS_PER_TRACE))
    places = [body[body.index(b"\x0a\x10") + 2 :][:16] for body in bodies]
    acknowledged: set[bytes] = set()
    ending = threading.Event()

    def export(number: int, address: str) -> None:
        connection = http.client.HTTPConnection(address)
        at = 0
        while not ending.is_set():
            at += 1
            trace = number.to_bytes(4, "big") + at.to_bytes(12, "big")
            body = bodies[at % _KEPT].replace(places[at % _KEPT], trace)
            try:
                connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return
            if answer.status == 200:
                acknowledged.add(trace)

    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library"
        process, status = start(library, "--no-grpc")
        assert process.stdout is not None
        last: list[dict[str, object]] = []
        threading.Thread(target=drain, args=(process.stdout, last), daemon=True).start()
        threads = [threading.Thread(target=export, args=(n, str(status["http"]))) for n in range(exporters)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        time.sleep(seconds)
        took = time.perf_counter() - began
        spans = len(acknowledged) * SPANS_PER_TRACE
        seen = int(str(last[0]["in_library"])) if last else 0
        peak = memory_mb(process.pid)
        workers = children(process.pid)
        filling = [f"{memory_mb(pid):.0f} MB, {cpu_s(pid):.1f} s of CPU" for pid in workers]
        cpu = cpu_s(process.pid)
        process.kill()
        ending.set()
        for thread in threads:
            thread.join()
        print(f"durable:   {spans:>9,} spans in {took:.1f} s, {spans / took:,.0f} a second")
        print(f"queryable: {seen:>9,} at the same moment, {seen / took:,.0f} a second")
        print(f"receiver:  peak {peak:.0f} MB, {cpu:.1f} s of CPU; filling the library: {'; '.join(filling)}")
        began = time.perf_counter()
        process, _ = start(library, "--no-grpc")
        process.send_signal(2)
        process.communicate()
        print(f"the rest is in the library {time.perf_counter() - began:.1f} s after the restart")
        with Library.open(library) as opened:
            traces = {row.trace_id: row.spans for row in opened.reader().traces()}
        lost = [trace for trace in acknowledged if traces.get(trace.hex()) != SPANS_PER_TRACE]
        print(f"{len(acknowledged):,} requests acknowledged, {len(lost)} of them not whole in the library")
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        if lost:
            raise SystemExit(1)


if __name__ == "__main__":
    burst(int(sys.argv[3]) if len(sys.argv) > 3 else 10_000)
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60, int(sys.argv[2]) if len(sys.argv) > 2 else 20)
