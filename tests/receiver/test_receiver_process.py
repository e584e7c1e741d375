"""``retrospan listen`` as a process, with OpenTelemetry's own exporters, deaths and neighbours."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from .kit import JSON, PROTOBUF, WAIT_S, Receiver, json_request, request, shown, span

EXPORTERS = 20


def send(address: str | None, body: bytes, **headers: str) -> int:
    assert address is not None
    connection = http.client.HTTPConnection(address, timeout=WAIT_S)
    connection.request("POST", "/v1/traces", body, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def finished(names: list[str]) -> Sequence[ReadableSpan]:
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    for name in names:
        provider.get_tracer("test").start_span(name).end()
    return memory.get_finished_spans()


def test_the_sdks_exporters_and_json_end_up_in_the_library(tmp_path: Path) -> None:
    with Receiver(tmp_path, "--grpc-port", "0") as receiver:
        at = receiver.until("listening")
        exporters: dict[str, SpanExporter] = {
            "http": HttpExporter(endpoint=f"http://{at.http}/v1/traces"),
            "gzip": HttpExporter(endpoint=f"http://{at.http}/v1/traces", compression=Compression.Gzip),
            "grpc": GrpcExporter(endpoint=f"http://{at.grpc}", insecure=True),
        }
        for name, exporter in exporters.items():
            assert exporter.export(finished([name])) is SpanExportResult.SUCCESS
            exporter.shutdown()
        assert send(at.http, json_request("json\nwith a line"), **JSON) == 200
        last = receiver.stop()
    assert (last.spans, last.in_library, last.requests, last.problem) == (4, 4, 4, "")
    assert sorted(row["name"] for row in shown(tmp_path)) == ["grpc", "gzip", "http", "json\nwith a line"]


def test_grpc_wants_the_token_and_refuses_what_is_no_request(tmp_path: Path) -> None:
    import grpc
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    secret = "a secret of some length"
    with Receiver(tmp_path, "--grpc-port", "0", environment={"RETROSPAN_TOKEN": secret}) as receiver:
        at = receiver.until("listening")
        with grpc.insecure_channel(str(at.grpc)) as channel:
            call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            with pytest.raises(grpc.RpcError) as refused:
                call(request(span(1)), timeout=WAIT_S)
            assert refused.value.code() is grpc.StatusCode.UNAUTHENTICATED
            known = [("authorization", f"Bearer {secret}")]
            bad = span(2)
            bad.trace_id = b""
            said = ExportTraceServiceResponse.FromString(call(request(span(1), bad), metadata=known, timeout=WAIT_S))
            assert said.partial_success.rejected_spans == 1
            with pytest.raises(grpc.RpcError) as refused:
                call(b"\xff\xff", metadata=known, timeout=WAIT_S)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            # A message of a gigabyte in a megabyte.
            with pytest.raises(grpc.RpcError) as refused:
                call(bytes(1 << 26), metadata=known, timeout=WAIT_S, compression=grpc.Compression.Gzip)
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        receiver.stop()
    assert [row["name"] for row in shown(tmp_path)] == ["span 1"]


def test_whatever_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    enough, lock = threading.Event(), threading.Lock()

    def export(number: int, address: str | None) -> None:
        at = 0
        try:
            while True:
                at += 1
                spans = [span(number * 100_000 + at * 10 + i, trace=number + 1) for i in range(10)]
                if send(address, request(*spans), **PROTOBUF) == 200:
                    with lock:
                        acknowledged.update(made.span_id.hex() for made in spans)
                        if len(acknowledged) >= 1500:
                            enough.set()
        except OSError:
            return  # it was killed
        except http.client.HTTPException:
            return

    with Receiver(tmp_path, "--no-grpc") as receiver:
        at = receiver.until("listening")
        threads = [threading.Thread(target=export, args=(n, at.http)) for n in range(EXPORTERS)]
        for thread in threads:
            thread.start()
        assert enough.wait(WAIT_S)
        receiver.process.kill()
        for thread in threads:
            thread.join(WAIT_S)
    with Receiver(tmp_path, "--no-grpc") as receiver:
        receiver.until("listening")
        receiver.stop()
    rows = [row["span_id"] for row in shown(tmp_path)]
    assert acknowledged <= set(rows)
    assert len(rows) == len(set(rows))


def test_several_receivers_share_a_library(tmp_path: Path) -> None:
    with Receiver(tmp_path, "--no-grpc") as first, Receiver(tmp_path, "--no-grpc") as second:
        places = [receiver.until("listening").http for receiver in (first, second)]
        for number in range(1, 7):
            assert send(places[number % 2], request(span(number)), **PROTOBUF) == 200
        for receiver in (first, second):
            receiver.stop()
    assert sorted(row["name"] for row in shown(tmp_path)) == [f"span {n}" for n in range(1, 7)]


def listen(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "debugger.cli", "listen", *words],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=WAIT_S, env=os.environ | environment,
    )  # fmt: skip


def test_a_port_in_use_is_one_clear_line(tmp_path: Path) -> None:
    with Receiver(tmp_path, "--grpc-port", "0") as receiver:
        at = receiver.until("listening")
        assert at.http is not None
        assert at.grpc is not None
        http_port, grpc_port = at.http.split(":")[1], at.grpc.split(":")[1]
        for words in (
            ["--http-port", http_port, "--no-grpc"],
            ["--http-port", "0", "--grpc-port", grpc_port],
        ):
            done = listen("--library", str(tmp_path), *words)
            assert done.returncode == 2
            assert done.stderr.count("\n") == 1
            assert "is in use" in done.stderr
            assert "or take another port with `--" in done.stderr
        receiver.stop()


def test_beyond_loopback_only_with_a_secret(tmp_path: Path) -> None:
    words = ("--library", str(tmp_path), "--host", "0.0.0.0", "--http-port", "0", "--no-grpc")
    for secret in ("", "too short"):
        done = listen(*words, RETROSPAN_TOKEN=secret)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "RETROSPAN_TOKEN" in done.stderr
        assert secret == "" or secret not in done.stderr.replace("is too short", "")


def test_it_ends_with_its_input_and_says_so_in_plain_lines(tmp_path: Path) -> None:
    done = listen("--library", str(tmp_path), "--http-port", "0", "--no-grpc", "--until-eof")
    assert done.returncode == 0
    assert done.stdout == ""
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("retrospan: listening on HTTP 127.0.0.1:")
    assert last == "retrospan: stopped: 0 spans"


def test_what_a_killed_receiver_left_open_is_taken_over(tmp_path: Path) -> None:
    with Receiver(tmp_path, "--no-grpc") as receiver:
        at = receiver.until("listening")
        assert send(at.http, request(span(1)), **PROTOBUF) == 200
        receiver.process.send_signal(signal.SIGKILL)
        receiver.process.wait(WAIT_S)
    body = request(span(2))
    (tmp_path / "spool" / "00000000000000000001-1.otlp.pb.open").write_bytes(
        len(body).to_bytes(4, "big") + body + b"torn"
    )
    with Receiver(tmp_path, "--no-grpc") as receiver:
        assert "without 4 bytes" in receiver.until("listening").note
        receiver.stop()
    assert sorted(row["name"] for row in shown(tmp_path)) == ["span 1", "span 2"]
