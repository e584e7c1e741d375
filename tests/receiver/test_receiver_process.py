"""``retrospan listen`` as a process, with OpenTelemetry's own exporters, deaths and neighbours."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
import socket
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

from debugger.cli import main
from debugger.receiver.ingest import Ingest

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
            nothing = channel.stream_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            with pytest.raises(grpc.RpcError) as refused:
                nothing(iter(()), metadata=known, timeout=WAIT_S)
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            # A message of a gigabyte in a megabyte.
            with pytest.raises(grpc.RpcError) as refused:
                call(bytes(1 << 26), metadata=known, timeout=WAIT_S, compression=grpc.Compression.Gzip)
            assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        receiver.stop()
    assert [row["name"] for row in shown(tmp_path)] == ["span 1"]


def test_whatever_was_acknowledged_survives_a_kill_and_what_was_left_open_is_taken_over(tmp_path: Path) -> None:
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
    body = request(span(2_500_000))
    torn = tmp_path / "spool" / "00000000000000000001-1.otlp.pb.open"
    torn.write_bytes(len(body).to_bytes(4, "big") + body + b"torn")
    acknowledged.add(f"{2_500_000:016x}")
    with Receiver(tmp_path, "--no-grpc") as receiver:
        assert "taken over" in receiver.until("listening").note
        assert "bytes that were not whole" in receiver.seen[-1].note
        receiver.stop()
    assert not list(tmp_path.glob("spool/*.open"))
    rows = [row["span_id"] for row in shown(tmp_path)]
    assert acknowledged <= set(rows)
    assert len(rows) == len(set(rows))


def test_several_receivers_share_a_library(tmp_path: Path) -> None:
    with Receiver(tmp_path, "--no-grpc") as first, Receiver(tmp_path, "--no-grpc") as second:
        places = [receiver.until("listening").http for receiver in (first, second)]
        for number in range(1, 7):
            assert send(places[number % 2], request(span(number)), **PROTOBUF) == 200
        first.stop(signal.SIGTERM)
        second.stop()
    assert sorted(row["name"] for row in shown(tmp_path)) == [f"span {n}" for n in range(1, 7)]


@pytest.mark.parametrize("door", ["--http-port", "--grpc-port"])
def test_a_port_in_use_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], door: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        words = {"--http-port": "0", "--grpc-port": "0"} | {door: str(other.getsockname()[1])}
        assert main(["listen", "--library", str(tmp_path), *(word for pair in words.items() for word in pair)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "is in use" in said
    assert "or take another port with `--" in said


@pytest.mark.parametrize("secret", ["", "too short"])
def test_beyond_loopback_only_with_a_secret(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, secret: str
) -> None:
    monkeypatch.setenv("RETROSPAN_TOKEN", secret)
    assert main(["listen", "--library", str(tmp_path), "--host", "0.0.0.0", "--http-port", "0", "--no-grpc"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "RETROSPAN_TOKEN" in said
    assert secret == "" or secret not in said.replace("is too short", "")


def test_a_second_interrupt_ends_it_at_once(tmp_path: Path) -> None:
    with Receiver(tmp_path, "--no-grpc") as receiver:
        host, port = str(receiver.until("listening").http).split(":")
        with socket.create_connection((host, int(port)), timeout=WAIT_S) as slow:
            # A request that never ends: the receiver would wait for it for a while.
            slow.sendall(
                b"POST /v1/traces HTTP/1.1\r\nhost: 127.0.0.1\r\nexpect: 100-continue\r\ncontent-length: 9\r\n"
            )
            slow.sendall(b"content-type: application/x-protobuf\r\n\r\n")
            assert slow.recv(100).startswith(b"HTTP/1.1 100")
            receiver.process.send_signal(signal.SIGINT)
            receiver.until("stopping")
            receiver.process.send_signal(signal.SIGINT)
            assert receiver.process.wait(WAIT_S) == 130


def test_a_worker_that_dies_is_noticed_and_started_again(tmp_path: Path) -> None:
    said: list[str] = []

    async def nothing() -> int:
        return 0

    async def scene() -> None:
        ingest = Ingest(tmp_path, nothing, said.append)
        worker = await ingest.start()
        worker.kill()
        await worker.wait()
        ingest._workers[0]._process = worker
        assert await ingest.take()  # known to be dead: another one is started
        (tmp_path / "spool" / "1-1.otlp.jsonl").write_bytes(json_request("a").replace(b"\n", b"") + b"\n")
        started = ingest._workers[0]._process
        assert started is not None
        os.kill(started.pid, signal.SIGSTOP)  # so that it cannot answer before it dies
        taking = asyncio.create_task(ingest.take())
        await asyncio.sleep(0)
        ingest.kill()
        assert not await taking
        assert "started again" in said[-1]
        assert await ingest.take()
        assert said[-1] == ""
        await ingest.end()

    asyncio.run(scene())
    assert [row["name"] for row in shown(tmp_path)] == ["a"]


def test_two_workers_take_what_one_trace_sent_in_pieces(tmp_path: Path) -> None:
    said: list[str] = []

    async def nothing() -> int:
        return 0

    async def scene() -> None:
        ingest = Ingest(tmp_path, nothing, said.append)
        await ingest.start()
        assert await ingest.take()
        for number in range(1, 6):
            body = request(span(number))
            (tmp_path / "spool" / f"{number}-1.otlp.pb").write_bytes(len(body).to_bytes(4, "big") + body)
        ingest._at_work = 2
        ingest.finish()
        await ingest.run()
        assert ingest.taken == 5
        assert ingest._at_work == 1

    asyncio.run(scene())
    assert not any(said)
    assert sorted(row["name"] for row in shown(tmp_path)) == [f"span {number}" for number in range(1, 6)]


def test_it_ends_with_its_input_and_says_so_in_plain_lines(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "debugger.cli", "listen", "--library", tmp_path,
         "--http-port", "0", "--no-grpc", "--until-eof"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=WAIT_S,
    )  # fmt: skip
    assert done.returncode == 0
    assert done.stdout == ""
    first, *_, last = done.stderr.splitlines()
    assert first.startswith("retrospan: listening on HTTP 127.0.0.1:")
    assert last == "retrospan: stopped: 0 spans received"
